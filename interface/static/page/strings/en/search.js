/** What the Search panel says. */

import { count } from './count.js';

export const searchStrings = {
  title: 'Search',
  close: 'Close',
  label: 'Search everything',
  placeholder: 'Words, "a phrase", -without, sender:user …',
  kinds: 'What to find',
  kind: { all: 'Everything', message: 'Messages', file: 'Files', document: 'Documents', conversation: 'Conversations', memory: 'Memories' },
  help: 'How to narrow it down',
  operators: [
    ['sourdough starter', 'both words, in any order; the last may be the beginning of a word'],
    ['"rye flour"', 'these words side by side'],
    ['-yeast', 'without this word'],
    ['sender:user', 'what you said; sender:model is what was answered'],
    ['in:bread_starter_k3f9', 'in the conversation of this name'],
    ['after:2026-02-08', 'on that day or later; a month (2026-02) or a year will do'],
    ['before:2026-03', 'before it'],
  ],
  keys: '↑ ↓ to choose, Enter to open, Esc to go back',
  start: 'Type what you remember of it. Messages, files, documents, conversations and memories are searched.',
  searching: 'Searching…',
  none: (q) => `Nothing was found for “${q}”.`,
  found: (n, more) => (more ? `${count(n, 'result', 'results')}, and more` : count(n, 'result', 'results')),
  failed: (message) => `The search failed. ${message}`,
  again: 'Try again',
  more: 'Show more',
  moreFailed: (message) => `No more could be loaded. ${message}`,
  all: { file: 'More files', document: 'More documents', conversation: 'More conversations', memory: 'More memories' },
  page: (number) => `page ${number}`,
  copy: 'Copy reference',
  copyOf: (title) => `Copy reference to “${title}”`,
  copied: 'Copied!',
};
