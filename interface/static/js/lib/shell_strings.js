/** What the sidebar, the dialogs and the account page say; `strings.js` has what the conversation itself says. */

const count = (n, one, many) => `${n} ${n === 1 ? one : many}`;

export const shellStrings = {
  dialog: { cancel: 'Cancel', save: 'Save', confirm: 'Continue' },

  toast: { dismiss: 'Dismiss', undo: 'Undo' },

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
  },

  filter: {
    searching: 'Searching…',
    matches: (n) => (n ? count(n, 'match', 'matches') : 'Nothing matches.'),
    failed: 'The search failed.',
    workspace: 'Workspace',
  },

  conversationMenu: {
    copyReference: 'Copy Conversation Reference',
    copyFullReference: 'Copy Full Reference',
    openWindow: 'Open in New Window',
    rename: 'Rename',
    clone: 'Clone',
    moveTo: 'Move to…',
    delete: 'Delete',
    deleteMany: (n) => `Delete ${n} conversations`,
    moveMany: (n) => `Move ${n} conversations to…`,
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
    deleted: (title) => `Deleted “${title}”`,
    deletedMany: (n) => `Deleted ${count(n, 'conversation', 'conversations')}`,
    restored: 'Restored',
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

  account: {
    saved: 'Saved',
    revoke: 'Revoke',
    current: 'this device',
    lastSeen: (time) => `last seen ${time}`,
    lastUsed: (time) => (time ? `last used ${time}` : 'never used'),
    created: (time) => `created ${time}`,
    unknownDevice: 'Unknown device',
    noTokens: 'No tokens yet.',
    readOnly: 'read-only',
    tokenTitle: 'Your new token',
    tokenText: 'Copy it now: it is shown this once.',
    copy: 'Copy',
    copied: 'Copied',
    close: 'Close',
    revokeSession: 'Log out this device?',
    revokeSessionText: 'It has to log in again.',
    revokeToken: (name) => `Revoke “${name}”?`,
    revokeTokenText: 'Programs that use it stop working at once.',
    failed: (message) => `That did not work. ${message}`,
  },
};
