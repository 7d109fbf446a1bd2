/** What the sidebar and the dialogs say; `conversation.js` has what the conversation itself says. */

import { count, number } from './count.js';

export const shellStrings = {
  dialog: { cancel: 'Cancel', save: 'Save', confirm: 'Continue' },

  session: {
    ended: 'You are logged out. What you typed is kept in this browser.',
    signIn: 'Log in',
    other: (email) => `Another account is logged in in this browser now. This page belongs to ${email}: nothing you do here is done. What you typed is kept for ${email}.`,
    reload: 'Reload',
    logOutTitle: 'Log out, and remove what is not sent?',
    logOutText: 'There are drafts or messages that are not sent. They are kept in this browser alone, and are removed when you log out.',
    logOut: 'Remove and log out',
  },

  defaultWorkspace: 'General',
  globalAssistant: 'Global Assistant',
  toast: { dismiss: 'Dismiss', undo: 'Undo' },

  version: { newer: 'Anaphora was updated on the server.', reload: 'Reload' },
  keepsNothing: 'The browser can’t keep what you type at the moment: it is gone when this page is left.',

  attention: {
    done: 'The answer is done.',
    untitled: 'Anaphora',
    offer: 'An answer was done while you were elsewhere. Shall your browser notify you next time?',
    accept: 'Notify me',
  },

  proposals: {
    open: (n) => count(n, 'proposal', 'proposals'),
    failed: (message) => `The proposals could not be loaded. ${message}`,
  },

  sidebar: {
    label: 'Conversations',
    loading: 'Loading conversations…',
    failed: (message) => `Your conversations could not be loaded. ${message}`,
    again: 'Try again',
    empty: 'No conversations yet.',
    open: 'Show the sidebar',
    close: 'Hide the sidebar',
    actionFailed: (message) => `That did not work. ${message}`,
    rowActions: 'Actions',
    actionsOf: (title) => `Actions for “${title}”`,
    selected: (n) => `${number(n)} conversations selected`,
    dragged: 'selected',
    newTemporary: 'Temporary conversation',
    more: 'Show more',
    moreOf: (n) => `Show more (${number(n)})`,
    moreConversations: 'Show more conversations',
  },

  shelves: {
    loading: 'Loading…',
    failed: (message) => `This could not be loaded. ${message}`,
    archiveEmpty: 'Nothing is archived.',
    binEmpty: 'The bin is empty.',
    daysLeft: (n) => `${count(n, 'day', 'days')} left`,
    restore: (title) => `Restore “${title}”`,
    erase: (title) => `Erase “${title}” for good`,
    eraseTitle: (title) => `Erase “${title}”?`,
    eraseText: 'It cannot be brought back, and references to it will say that it was deleted.',
    eraseConfirm: 'Erase for good',
    empty: 'Empty the bin',
    emptyTitle: (n) => `Erase ${count(n, 'conversation', 'conversations')}?`,
    emptied: (n) => `Erased ${count(n, 'conversation', 'conversations')}`,
    emptying: 'Emptying the bin…',
  },

  flags: { none: 'No flag', red: 'Red', orange: 'Orange', yellow: 'Yellow', green: 'Green', blue: 'Blue', purple: 'Purple' },
  flagged: (title, color) => `${title}, ${color.toLowerCase()} flag`,
  answering: 'being answered',
  unread: 'unread answer',
  unkept: (title) => `${title}, not kept`,

  filter: {
    searching: 'Searching…',
    matches: (n) => (n ? count(n, 'match', 'matches') : 'Nothing matches.'),
    more: (n) => `The first ${number(n)} matches. Type more to narrow them down.`,
    failed: (message) => `The search failed. ${message}`,
    workspace: 'Workspace',
    tag: (n) => count(n, 'conversation', 'conversations'),
  },

  conversationMenu: {
    copyReference: 'Copy Conversation Reference',
    copyFullReference: 'Copy Full Reference',
    openWindow: 'Open in New Window',
    openBeside: 'Open Beside',
    rename: 'Rename',
    clone: 'Clone',
    pin: 'Pin',
    unpin: 'Unpin',
    pinMany: (n) => `Pin ${number(n)} conversations`,
    unpinMany: (n) => `Unpin ${number(n)} conversations`,
    flag: 'Set Flag',
    flagMany: (n) => `Flag ${number(n)} conversations`,
    tags: 'Tags…',
    archive: 'Archive',
    archiveMany: (n) => `Archive ${number(n)} conversations`,
    unarchive: 'Take out of the Archive',
    moveTo: 'Move to…',
    delete: 'Delete',
    deleteMany: (n) => `Delete ${number(n)} conversations`,
    moveMany: (n) => `Move ${number(n)} conversations to…`,
  },

  workspaceMenu: {
    newConversation: 'New Conversation',
    newWorkspace: 'New Sub-Workspace',
    rename: 'Rename',
    color: 'Change Color',
    moveTo: 'Move to…',
    topLevel: 'Top level',
    delete: 'Delete',
    colors: {
      primary: 'Blue',
      success: 'Green',
      danger: 'Red',
      warning: 'Amber',
      info: 'Teal',
      secondary: 'Grey',
    },
  },

  conversation: {
    referenceCopied: (reference) => `Copied ${reference}`,
    renameTitle: 'Rename conversation',
    renameLabel: 'Title',
    tagsTitle: (title) => `Tags of “${title}”`,
    tagsLabel: 'Tags, with commas between',
    deleted: (title) => `Deleted “${title}”`,
    deletedMany: (n) => `Deleted ${count(n, 'conversation', 'conversations')}`,
    deletedElsewhere: 'This conversation was deleted in another window. The bin keeps it for 30 days.',
    restored: 'Restored',
    archived: (title) => `Archived “${title}”`,
    archivedMany: (n) => `Archived ${count(n, 'conversation', 'conversations')}`,
    unarchived: (title) => `Took “${title}” out of the archive`,
    cloned: (title) => `Cloned “${title}”`,
  },

  workspace: {
    newTitle: 'New workspace',
    label: 'Name',
    create: 'Create',
    renameTitle: 'Rename workspace',
    deleteTitle: (name) => `Delete “${name}”?`,
    deleteText: 'Its conversations and workspaces are kept: they move to the workspace above it.',
    deleteConfirm: 'Delete workspace',
  },
};
