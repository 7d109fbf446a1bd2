/** What is said of keys. */

export const shortcutStrings = {
  title: 'Keyboard shortcuts',
  close: 'Close',
  failed: (message) => `The shortcuts could not be loaded. ${message}`,
  nothingToCopy: 'This conversation has no name yet: it gets one with its first answer.',
  copied: (reference) => `Copied ${reference}`,
  keys: { Mod: 'Ctrl', Alt: 'Alt', Shift: 'Shift' },
  macKeys: { Mod: '⌘', Alt: '⌥', Shift: '⇧' },
  of: {
    search: 'Search everything',
    newConversation: 'New conversation',
    previous: 'Previous conversation of the sidebar',
    next: 'Next conversation of the sidebar',
    sidebar: 'Show or hide the sidebar',
    copyReference: 'Copy the reference of this conversation',
    settings: 'Settings',
    compose: 'Go to the message box',
    help: 'Show this list',
    send: 'Send the message',
    newLine: 'New line in the message',
    mention: 'In a message: refer to a conversation, a message, a memory',
    command: 'At the beginning of a message: a command',
    close: 'Close what is open',
  },
};
