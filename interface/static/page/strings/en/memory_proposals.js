/** What the composer and the cards say that keep memories, in one place. What depends on a value is a function. */

import { count } from './count.js';

const memories = (n) => count(n, 'memory', 'memories');

export const memoryStrings = {
  command: {
    listTitle: 'Commands',
    close: 'Close',
    text: 'text',
    unknown: (name) => `There is no command /${name}. /help lists those that there are.`,
    asText: 'Send it as text',
    nothingSaid: 'Nothing has been said here yet. Write what to remember after /memory.',
    usage: 'Write what to remember after /memory.',
  },

  confirm: {
    title: 'New memory',
    statement: 'Statement',
    type: 'Type',
    domain: 'Domain',
    discard: 'Discard what you typed?',
    discardConfirm: 'Discard',
    tags: 'Tags',
    tagsHint: 'with commas between',
    about: (names) => `About: ${names}`,
    thinking: 'Looking at it for suggestions…',
    modelLooks: (seconds) => (seconds >= 2 ? `The model is looking at it too: about ${Math.ceil(seconds)} s. You can add it now.` : 'The model is looking at it too. You can add it now.'),
    noSuggestions: 'No suggestions now. You can add it as it is.',
    add: 'Remember',
    adding: 'Remembering…',
    cancel: 'Cancel',
    failed: (message) => `It was not remembered. ${message}`,
    done: (friendlyId) => `Remembered as @${friendlyId}`,
    undo: 'Undo',
    undone: 'It is forgotten again.',
    undoFailed: (message) => `That could not be undone. ${message}`,
    similar: {
      duplicate: (friendlyId) => `You have this already: @${friendlyId}`,
      contradiction: (friendlyId) => `It says otherwise than @${friendlyId}`,
    },
    replace: 'Replace that one',
    conflict: 'Otherwise both are kept, and the conflict waits for you under Memories, Conflicts.',
  },

  proposals: {
    title: 'Remember this?',
    looking: 'Looking for what is worth remembering…',
    modelLooks: (seconds) => (seconds >= 2 ? `The model is looking too: about ${Math.ceil(seconds)} s.` : 'The model is looking too…'),
    modelFailed: (message) => `The model found nothing more. ${message}`,
    none: 'There is nothing new to remember in it.',
    failed: (message) => `That did not work. ${message}`,
    again: 'Try again',
    accept: (n) => (n === 0 ? 'Remember' : `Remember ${memories(n)}`),
    accepting: 'Remembering…',
    dismiss: 'Dismiss',
    close: 'Close',
    gone: 'That message is not shown any more.',
    expired: 'These proposals have expired.',
    action: {
      add: '',
      update: (friendlyId) => `Replaces @${friendlyId}`,
      skip: (friendlyId) => `You have this already: @${friendlyId}`,
      conflict: (friendlyId) => `It says otherwise than @${friendlyId}`,
    },
    result: { add: 'Remembered', update: 'Replaced', skip: 'Left as it was', conflict: 'Kept, with a conflict to settle' },
    show: 'Show',
    undo: 'Undo',
    undone: 'It is as it was before.',
    done: (n) => (n === 0 ? 'Nothing was remembered.' : `Remembered ${memories(n)}.`),
  },
};
