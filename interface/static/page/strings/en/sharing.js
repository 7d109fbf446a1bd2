/** What is said about sharing: the dialog, the list in the settings, the page behind a link. */

import { count, number } from './count.js';
const messages = (n) => count(n, 'message', 'messages');
const size = (bytes) => (bytes >= 1e6 ? `${number(Math.round(bytes / 1e5) / 10)} MB` : `${number(Math.ceil(bytes / 1024))} KB`);

export const shareStrings = {
  again: 'Try again',
  messages,
  size,

  dialog: {
    title: (title) => `Share “${title}”`,
    looking: 'Looking what can be shared…',
    lookFailed: (message) => `It could not be looked up whether this is shared. ${message}`,
    shows: (n) => `Anyone with the link can read ${messages(n)} as they are now, without an account. What is said later stays here.`,
    nothing: 'There is nothing to share yet: no message is finished.',
    stays: 'Not in it: hidden messages, memories, settings, other conversations and your e-mail address.',
    hidden: (n) => `${messages(n)} ${n === 1 ? 'is' : 'are'} hidden and left out.`,
    quotes: 'References stay as the words you typed, and answers may quote what they were given, memories and other messages included. Read it over before you share.',
    files: {
      which: 'Files that the link shows',
      note: 'Only the ones you tick. Of a picture, its metadata (such as where it was taken) is left out.',
    },
    create: 'Create link',
    creating: 'Making the snapshot…',
    createFailed: (message) => `It could not be shared. ${message}`,
    link: 'Link',
    copy: 'Copy',
    copied: 'Copied',
    made: 'The link was made and copied.',
    notCopied: 'The link was made. This browser did not let it be copied by itself: it is selected above, copy it from there.',
    open: 'Open',
    since: (moment, n) => `It shows ${messages(n)}, as they were on ${moment}.`,
    unknown: 'The link works, but this server can’t show it again, since its secret key was changed. “Update snapshot” makes a new one.',
    update: 'Update snapshot',
    updated: 'The link shows the conversation as it is now.',
    withdraw: 'Withdraw link',
    close: 'Close',
  },

  withdraw: {
    title: 'Withdraw the link?',
    text: 'Whoever has it sees nothing any more. It can’t be brought back; sharing again makes another link.',
    confirm: 'Withdraw',
    running: 'Withdrawing…',
    done: 'The link was withdrawn.',
    failed: (message) => `The link could not be withdrawn. ${message}`,
  },

  list: {
    looking: 'Loading the links…',
    none: 'Nothing is shared.',
    failed: (message) => `The links could not be loaded. ${message}`,
    about: (n, moment) => `${messages(n)} as of ${moment}`,
    inBin: 'in the bin, leads nowhere now',
    copy: (title) => `Copy the link to “${title}”`,
    open: (title) => `Open the link to “${title}”`,
    withdraw: (title) => `Withdraw the link to “${title}”`,
  },

  page: {
    sender: { user: 'Person', assistant: 'Assistant' },
    about: (n, moment) => `${messages(n)} · a read-only copy, as of ${moment}`,
    loading: 'Loading…',
    more: 'Show more',
    failed: (message) => `No more could be loaded. ${message}`,
    save: (name) => `Save ${name}`,
    gone: (name) => `“${name}” is not there any more. Reload the page to see what the link shows now.`,
  },
};
