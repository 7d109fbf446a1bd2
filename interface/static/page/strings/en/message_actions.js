/** What the page says of what is done with messages, one or several. */

import { count } from './count.js';

export const messageActionStrings = {
  remove: {
    done: (n) => `${count(n, 'message', 'messages')} deleted.`,
    failed: (message) => `The message could not be deleted. ${message}`,
    restoreFailed: (message) => `The message could not be brought back. ${message}`,
  },

  fork: {
    running: 'Copying the conversation…',
    done: 'This is a copy up to that message: go on from here another way.',
    failed: (message) => `The conversation could not be forked. ${message}`,
  },

  selection: {
    label: 'Selected messages',
    count: (n) => count(n, 'message selected', 'messages selected'),
    copyReferences: 'Copy references',
    clear: 'Clear selection',
  },

  compare: {
    title: (n) => `${count(n, 'answer', 'answers')} to the same question`,
    list: 'The answers',
    place: (number, total) => `${number} of ${total}`,
    shown: 'shown in the conversation',
    use: 'Use this one',
    empty: 'It says nothing.',
    close: 'Close',
  },
};
