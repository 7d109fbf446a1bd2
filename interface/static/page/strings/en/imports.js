/** What importing history says. */

import { count, number } from './count.js';

const conversations = (n) => count(n, 'conversation', 'conversations');
const messages = (n) => count(n, 'message', 'messages');

function timeLeft(seconds) {
  if (seconds === null) return '';
  return seconds < 60 ? ` · about ${number(Math.ceil(seconds))} s left` : ` · about ${number(Math.ceil(seconds / 60))} min left`;
}

function outcome({ imported, updated, skipped, failed }) {
  const parts = [`${number(imported)} imported`, updated && `${number(updated)} brought up to date`, skipped && `${number(skipped)} skipped`, failed && `${number(failed)} with problems`];
  return parts.filter(Boolean).join(' · ');
}

export const importStrings = {
  title: 'Bring your history',
  drop: 'Drop the file of an export here',
  choose: 'Choose a file…',
  cancel: 'Cancel',
  close: 'Close',
  goesOn: 'The conversations appear in the sidebar as they are stored. You can close this at any time: it goes on.',
  list: 'Imports',
  whereFrom: 'Where do I get the file?',
  products: [
    ['ChatGPT', 'Settings › Data controls › Export data. A link to a ZIP file comes by e-mail.'],
    ['Claude', 'Settings › Privacy › Export data. A link to a ZIP file comes by e-mail.'],
    ['Open WebUI', 'Settings › Data Controls › Export Chats gives a JSON file.'],
    ['LibreChat', 'Share › Export conversation as JSON, with all branches. Many of them fit into one ZIP file.'],
    ['zk-chat', 'The file .zk_chat_db/chat_sessions.json in the vault.'],
    ['Anaphora', 'Download everything: the ZIP file. Or Export in the menu of a conversation, as JSON.'],
    ['First implementation', 'A ZIP file of its folders of conversations, its pkb.sqlite with the memories, or both in one ZIP file.'],
    ['Notes', 'Markdown files, such as an Obsidian vault as a ZIP file: Documents › Import.'],
    ['Anything else', 'JSON Lines: the user guide says which.'],
  ],
  sources: {
    chatgpt: 'ChatGPT', claude: 'Claude', open_webui: 'Open WebUI', librechat: 'LibreChat', zk_chat: 'zk-chat', first_implementation: 'First implementation',
    json_lines: 'JSON Lines', anaphora: 'Anaphora', account: 'Anaphora, everything',
  },
  sending: (name) => `Sending ${name}…`,
  notTaken: (message) => `The file was not taken. ${message}`,
  notKnown: (name) => `${name} is not a file that can be imported. Choose one of these:`,
  failed: (message) => `That did not work. ${message}`,
  progress: (name) => `Progress of ${name}`,
  messages,
  vectors: (n) => `Messages that are found by their words, and soon by their meaning: ${number(n)}`,
  lesson: (name) => `“${name}” says what another program remembered of you. Memories can be taken from it; nothing is kept before you agree.`,
  learn: 'Find memories in it',
  problems: (n) => `${count(n, 'problem', 'problems')}`,
  stays: (n) => `${number(n)} ${n === 1 ? 'stays' : 'stay'}`,
  workspace: 'Workspace',
  usualWorkspace: 'As in the file',
  which: 'Choose conversations',
  all: 'All',
  none: 'None',
  questions: {
    undo: { title: 'Take the import back?', text: 'What it brought is deleted, but for conversations that you went on with.' },
    stop: { title: 'Stop the import?', text: 'What was stored stays. It can be taken back afterwards.' },
  },
  actions: {
    start: 'Import', cancel: 'Discard', pause: 'Pause', resume: 'Go on', stop: 'Stop', undo: 'Undo the import', report: 'Download report', forget: 'Remove from this list',
  },
  states: {
    counting: (given) => `Looking at the file: ${conversations(given.conversations)}, ${messages(given.messages)} so far…`,
    ready: (given) => (given.conversations ? `${conversations(given.conversations)} with ${messages(given.messages)}.` : 'Memories, documents or settings, and no conversations.'),
    running: (given) => `${given.counted ? `${number(given.done)} of ${messages(given.messages)}` : messages(given.done)} · ${number(Math.round(given.messages_per_second ?? 0))} a second${timeLeft(given.seconds_left)}`,
    waiting: (given) => `It could not be stored, and is tried again at ${given.time}. ${given.error}`,
    paused: (given) => `Paused after ${messages(given.done)}.`,
    done: (given) => `Done: ${outcome(given)}.`,
    failed: (given) => `It could not go on. ${given.error}`,
    cancelled: (given) => `Stopped: ${outcome(given)}.`,
    undoing: () => 'Being taken back…',
    undone: () => 'Taken back.',
  },
};
