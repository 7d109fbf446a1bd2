/** What the page says about conversations and messages, in one place. What depends on a value is a function. */

import { count, money, number } from './count.js';

export const strings = {
  product: 'Anaphora',
  unreachable: 'The server cannot be reached.',
  outdated: 'Anaphora was updated on the server. Reload the page; what you typed is kept.',
  timedOut: 'The server did not answer in time.',
  busy: 'Working…',

  attempt: {
    again: 'Try again',
    perhapsDone: 'It may have been done all the same: trying again can do it twice.',
  },

  sender: { user: 'You', assistant: 'Assistant' },

  badge: {
    title: 'Click to copy message reference',
    described: (index, hash) => (hash ? `Message ${index}, hash ${hash}. Copy its reference` : `Message ${index}. Copy its reference`),
    copied: 'Copied!',
    tooEarly: 'This message gets its reference when the first answer of the conversation is complete.',
  },

  copy: {
    text: 'Copy text',
    code: 'Copy code',
    copied: 'Copied',
    done: (what) => `Copied ${what}`,
    permalink: 'Permalink copied',
    manualTitle: 'Copy by hand',
    manualHelp: 'This browser does not let the page use the clipboard. The text below is selected: press Ctrl+C (⌘C).',
    close: 'Close',
  },

  code: {
    download: 'Download',
    wrap: 'Wrap lines',
    preview: 'Preview',
    previewTitle: 'Preview of the code',
    csv: 'Copy as CSV',
    latex: 'Copy LaTeX',
  },

  usage: {
    tokens: (asked, answered) => `${number(asked)} → ${number(answered)} tokens`,
    speed: (tokens) => `${number(tokens < 10 ? tokens : Math.round(tokens))} tokens/s`,
    title: 'Tokens that the model read → tokens that it wrote',
    cost: (amount, currency) => money(amount, currency),
  },

  actions: {
    open: 'Message actions',
    copyId: (shortId) => `Copy message ID #${shortId}`,
    aboutId: 'For programs, and as “Replying to” shows it. To refer to the message, copy its reference from the badge.',
    copyPermalink: 'Copy permalink',
    reply: 'Reply',
    readAloud: 'Read aloud, or stop reading',
    remember: 'Remember as memory',
    edit: 'Edit',
    fork: 'Fork from here',
    pin: 'Pin',
    unpin: 'Unpin',
    hide: 'Hide from the model',
    show: 'Show to the model',
    moveUp: 'Move up',
    moveDown: 'Move down',
    delete: 'Delete',
    selectThis: 'Select',
    select: (index) => `Select message ${index}`,
  },

  edit: {
    label: 'Text of the message',
    save: 'Save',
    saving: 'Saving…',
    saveAndAsk: 'Save and answer again',
    unsaved: 'Your changes are not saved. Press Escape again to discard them.',
    discard: 'Discard changes',
    cancel: 'Cancel',
    edited: 'edited',
    changed: 'This message was changed elsewhere meanwhile.',
    gone: 'This message was deleted elsewhere meanwhile.',
    saveAnyway: 'Save anyway',
    restore: 'Restore and save',
    copy: 'Copy what you wrote',
    showOther: 'Show the other text',
    hideOther: 'Hide the other text',
    elsewhere: 'The message was changed or deleted meanwhile. What you wrote waits in it.',
    failed: (message) => `The message could not be changed. ${message}`,
  },

  history: {
    open: 'Edited. Show what it said before',
    title: 'Earlier texts',
    until: 'Until',
    none: 'No earlier text is kept.',
    failed: (message) => `The earlier texts could not be loaded. ${message}`,
  },

  unkept: {
    label: 'not kept',
    title: 'Gone when you leave or reload the page',
    cancelled: 'Stopped.',
    interrupted: 'Interrupted.',
  },

  hidden: {
    note: 'Hidden from the model.',
    show: 'Show',
    failed: (message) => `The message could not be hidden or shown. ${message}`,
  },

  pins: {
    label: 'Pinned messages',
    pinned: 'Pinned',
    open: 'Go to this message',
    remove: (index) => `Unpin message ${index}`,
    failed: (message) => `The pin could not be changed. ${message}`,
    loadFailed: (message) => `The pinned messages could not be loaded. ${message}`,
  },

  fold: {
    all: (lines) => `Show all ${number(lines)} lines`,
    less: 'Show less',
  },

  variants: {
    label: 'Variants of this answer',
    place: (number, total) => `${number}/${total}`,
    previous: 'Previous variant',
    next: 'Next variant',
    compare: 'Compare side by side',
    compareFailed: (message) => `The answers could not be loaded. ${message}`,
    failed: (message) => `The variant could not be chosen. ${message}`,
    regenerateFailed: (message) => `The answer could not be made again. ${message}`,
  },

  branches: {
    label: 'Versions of this question',
    place: (number, total) => `${number}/${total}`,
    previous: 'Previous version of the question',
    next: 'Next version of the question',
    tree: 'Show all branches',
    title: 'Branches of this conversation',
    failed: (message) => `The branch could not be chosen. ${message}`,
    treeFailed: (message) => `The branches could not be loaded. ${message}`,
  },

  find: {
    label: 'Find in this conversation',
    placeholder: 'Find in this conversation',
    count: (place, total) => (total === 0 ? 'Not found' : `${place} of ${count(total, 'message', 'messages')}`),
    previous: 'Previous (Shift+Enter)',
    next: 'Next (Enter)',
    close: 'Close (Esc)',
    failed: (message) => `The conversation could not be searched. ${message}`,
  },

  beside: { isOpen: 'This conversation is open already.' },

  rail: { failed: (message) => `This could not be loaded. ${message}` },

  move: {
    failed: (message) => `The messages could not be moved. ${message}`,
    stays: 'Nothing was moved: the ends of a conversation, and questions that were asked in several ways, stay where they are.',
  },

  reply: {
    to: (name, shortId) => (shortId ? `Replying to ${name} (#${shortId})` : `Replying to ${name}`),
    unknown: 'a message',
    deleted: '(deleted)',
    cancel: 'Do not reply to this message',
  },

  answer: {
    waiting: 'Waiting for the model…',
    reconnecting: 'The connection broke. Reconnecting…',
    cancelled: 'Stopped. What had been said is kept.',
    interrupted: 'Interrupted. What had been said is kept.',
    failed: 'The answer failed.',
    again: 'Answer again',
    goOn: 'Continue',
    empty: 'The answer is empty.',
    finished: 'The answer is complete.',
  },

  parts: {
    openFile: (name) => `Show ${name}`,
    thinking: 'Thinking',
    notice: (sentence) => `Note: ${sentence}`,
    other: (kind, name) => `${{ tool_call: 'Tool', file: 'File', image: 'Picture' }[kind] ?? kind}: ${name}`,
    tool: (name, state, seconds) => `Tool ${name}: ${state}${seconds ? ` (${seconds} s)` : ''}`,
    toolStates: { running: 'running…', complete: 'done', failed: 'failed', cancelled: 'stopped', waiting: 'waits for your consent', interrupted: 'broken off' },
    toolData: (given, result) => `Given: ${given}\n\nFound: ${result}`,
  },

  proposal: {
    memory: (statement) => `To remember: ${statement}`,
    documents: {
      write: (path) => `To write: ${path}`, append: (path) => `To add to the end of ${path}`,
      replace_lines: (path) => `To change in ${path}`, rename: (path, newPath) => `To rename: ${path} → ${newPath}`, delete: (path) => `To move into the bin: ${path}`,
    },
    other: (kind) => `A change is proposed (${kind}).`,
    call: (tool) => `The model wants to call ${tool}, with:`, allowOnce: 'Allow once', allowHere: 'Allow in this conversation', refuse: 'Refuse',
    callStates: { accepted: 'Allowed.', declined: 'Refused.', expired: 'The answer does not wait for this any more.' },
    accept: 'Accept', decline: 'Decline', states: { accepted: 'Accepted.', declined: 'Declined.', expired: 'Too old: this proposal has expired.' },
    failed: (message) => `That did not work. ${message}`,
  },

  answerSettings: {
    saved: 'The settings of this conversation are saved.',
    failed: (message) => `That did not work. ${message}`,
  },

  send: {
    uploading: 'A file is on its way. The message is sent once it is there.',
    notUploaded: 'A file is not uploaded. Try it again, or take it out.',
    send: 'Send message',
    stop: 'Stop answering',
    sendLater: 'Send when the answer is done',
    failedPart: (message) => `A part of the page could not be loaded. ${message}`,
    again: 'Try again',
    tooLong: (limit) => `A message holds at most ${number(limit)} characters.`,
    stopFailed: (message) => `The answer could not be stopped. ${message}`,
  },

  outbox: {
    label: 'Messages that are not sent yet',
    sending: () => 'Sending…',
    queued: () => 'Is sent when the answer is done.',
    delayed: (message) => `Not sent yet. ${message} It is kept here, and sent as soon as that works.`,
    retrying: (message) => `Not sent yet. ${message} It is being tried again…`,
    refused: (message) => `Not sent. ${message}`,
    cut: 'It was just being sent when you took it back. If the server has it already, it will show among the messages.',
    elsewhere: (message) => `A message is not sent yet, and waits where you wrote it. ${message}`,
    goThere: 'Go there',
    now: 'Send now',
    edit: 'Take back and edit',
    remove: 'Remove',
  },

  composer: {
    label: 'Message',
    placeholder: 'Write a message. Type @ for conversations and memories.',
    references: 'References in your message',
    useMemories: { on: 'Memories are used. Switch them off', off: 'Memories are not used. Switch them on', name: 'Use memories' },
    attached: 'Memories that go with your message',
    attachedAlready: (friendlyId) => `@${friendlyId} goes with your next message already.`,
    attachedNow: (friendlyId) => `@${friendlyId} goes with your next message.`,
    attachedDeleted: 'deleted',
    detach: (friendlyId) => `Do not attach @${friendlyId}`,
    tooManyAttached: (most) => `At most ${most} memories go with a message.`,
  },

  transcript: {
    label: 'Messages',
    loading: 'Loading messages…',
    earlier: 'Loading earlier messages…',
    later: 'Loading later messages…',
    toNewest: 'To the newest message',
    sideFailed: { earlier: 'Earlier messages could not be loaded.', later: 'Later messages could not be loaded.' },
    failed: (message) => `The messages could not be loaded. ${message}`,
    stale: (message) => `What is shown may be out of date: it could not be loaded again. ${message}`,
    again: 'Try again',
    gone: 'This conversation does not exist, or was deleted.',
    messageGone: 'That message is not there any more.',
    untitled: '(untitled)',
    none: 'New conversation',
  },

  empty: {
    title: 'What would you like to talk about?',
    importOffer: 'Drop an export of ChatGPT, Claude or others here, or choose it…',
    importFailed: (message) => `Importing could not be opened. ${message}`,
    intro: 'Write below. Whatever was said in one conversation can be asked about in another:',
    temporary: 'This conversation is temporary: it is gone when you leave it, or after a day.',
    steps: [
      ['Type @', 'and a few words to find a conversation and one of its messages, or something that you had remembered.'],
      ['Press Ctrl+K', '(⌘K on a Mac) for all commands and conversations, Ctrl+Shift+F to search everything that was said; ? shows all keys.', 'keyboard'],
      ['Write /help', 'to see the commands that a message can begin with.'],
    ],
    models: {
      ready: 'The model is ready.',
      prepared: 'The model is being made ready. You can write already: it answers when it is.',
      failed: 'The model is not available now. Everything else works.',
      none: 'No model is set up, so nobody answers. Everything else works: references, memories, search.',
    },
  },

  used: {
    begin: 'Used:',
    memories: (n) => count(n, 'memory', 'memories'),
    source: {
      referenced: 'named in your message',
      attached: 'attached to your message',
      pinned: 'pinned',
      conv_pinned: 'pinned to this conversation',
      auto: 'found because it fits',
    },
  },

  models: {
    fetching: (name, percent) => (percent === null ? `Fetching ${name}…` : `Fetching ${name}: ${percent}\u00a0%`),
    loading: (name) => `Loading ${name}…`,
    failed: (name) => `${name} is not available.`,
    none: 'No model is configured. Everything else works; set ANAPHORA_MAIN_MODEL and restart to get answers.',
    progress: 'Progress of the model',
  },

  mermaid: { alt: 'Diagram', source: 'Source', failed: 'This diagram could not be drawn.' },
};
