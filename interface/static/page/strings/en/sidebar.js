/** What the sidebar's actions on many conversations, its forking and its lesser menu items say; loaded with the menus. */

import { count, number } from './count.js';
const conversations = (n) => count(n, 'conversation', 'conversations');

export const sidebarStrings = {
  menu: {
    fork: 'Fork…',
    share: 'Share…',
    export: 'Export',
    stopKeeping: 'Toggle Stateless',
    keep: 'Toggle Stateless (on)',
    tagsMany: (n) => `Tags of ${number(n)} conversations…`,
  },

  tags: {
    title: (n) => `Tags of ${conversations(n)}`,
    list: 'Tags',
    some: (n, total) => `${number(n)} of ${number(total)}`,
    label: 'More tags',
    hint: 'Enter adds what is written; of several, with commas between.',
    add: 'Add',
    added: (tags) => `Added: ${tags}`,
    tooLong: (most) => `A tag has ${number(most)} characters at most.`,
    done: (n) => `Changed the tags of ${conversations(n)}`,
    full: 'They may be gone, or have as many tags as a conversation can have.',
  },

  many: {
    running: (n) => `Changing ${conversations(n)}…`,
    left: (n, total) => `${count(n, 'conversation', 'conversations')} of ${number(total)} could not be changed.`,
    gone: 'They may be gone, or belong elsewhere.',
    goneOne: 'That did not work. The conversation may be gone.',
    moved: (n, name) => `Moved ${conversations(n)} to “${name}”`,
  },

  stateless: {
    on: 'From now on, what is said here is not kept.',
    off: 'What is said here is kept again.',
  },

  workspace: {
    deleted: (name) => `Deleted the workspace “${name}”`,
    restored: (name) => `Brought the workspace “${name}” back`,
  },

  fork: {
    title: (title) => `Fork “${title}”`,
    text: 'A copy that goes on from the message you choose. This conversation stays as it is.',
    find: 'Find a message',
    whole: 'The whole conversation',
    messages: 'Messages',
    loading: 'Loading messages…',
    none: 'Nothing matches.',
    empty: 'There are no messages yet.',
    failed: (message) => `The messages could not be loaded. ${message}`,
    cancel: 'Cancel',
    done: (title) => `Forked “${title}”`,
    from: (index) => `#${index}`,
  },
};
