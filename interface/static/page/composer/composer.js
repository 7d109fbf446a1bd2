import { bring } from '../core/api.js';
import { sendsWithEnter } from '../core/browser_storage/storage.js';
import { composes } from '../core/typing.js';
import { strings } from '../strings/en/conversation.js';
import { createDrafts } from '../core/browser_storage/drafts.js';
import { createMemories } from './memories.js';
import { createOutboxList } from './outbox.js';
import { createAnswerChoice } from './answer_choice.js';
import { createAttachments } from './attachments/attachments.js';
import { createReplyChip } from './reply_chip.js';
import { isChangeable } from '../conversation/message_model.js';
import { isSomethingOver } from '../ui/controls/popup.js';
import { element, setHidden, uniqueId } from '../ui/dom.js';

const SIGNS = /[@#]|\[\[/;
const COMMAND = /^\s*\/(?:\p{L}[\p{L}\p{N}_-]*)?(?:\s|$)/u;
const TALLEST_PART_OF_WINDOW = 0.4;
const words = strings.send;
/** Fingers have no Shift+Enter, and a keyboard that covers what one came to read. */
const byTouch = matchMedia('(pointer: coarse)');

function growWith(input) {
  const tallest = Math.round(innerHeight * TALLEST_PART_OF_WINDOW);
  // A long text, which fills it and more, is laid out once with each key, and not twice more to be measured.
  const isFull = input.style.overflowY === 'auto' && input.style.height === `${tallest}px`;
  if (isFull && input.scrollHeight > tallest) return;
  input.style.height = 'auto';
  input.style.height = `${Math.min(input.scrollHeight, tallest)}px`;
  input.style.overflowY = input.scrollHeight > tallest ? 'auto' : 'hidden';
}

/** What stands beside the conversation, and the sidebar, make the box narrower and wider. */
function followWidth(input) {
  let width = input.clientWidth;
  new ResizeObserver(() => {
    if (input.clientWidth === width) return;
    width = input.clientWidth;
    growWith(input);
  }).observe(input);
}

const isPlain = ({ ctrlKey, metaKey, altKey, shiftKey }) => !(ctrlKey || metaKey || altKey || shiftKey);

/**
 * Where a message is written: grows with its text, completes references and shows them, attaches memories and files, runs
 * commands, keeps drafts.
 *
 * @param {HTMLFormElement} form
 * @param {object} page beside what views share: `dropArea` where files may be dropped for it, `domain`, `limits: {message}`, `kept`, `outbox`
 * @param {{place: () => {conversationId: string|null, beginning: string|null}, onStop: () => Promise<void>}} options `place` names
 *   where a message goes that is sent now
 */
export function mountComposer(form, page, { place, onStop }) {
  const input = form.querySelector('textarea');
  const sendButton = form.querySelector('.send-button');
  const stopButton = form.querySelector('.stop-button');
  const problem = element('p', { id: uniqueId('composer-problem'), class: 'composer-problem', role: 'alert', hidden: true });
  form.prepend(problem);
  const chips = form.querySelector('.composer-chips');
  const memories = createMemories({
    place: chips.appendChild(element('div')), buttons: sendButton.parentElement, input, page, onChange: keepDraft,
  });
  const reply = createReplyChip(chips.appendChild(element('div')), keepDraft);
  const files = createAttachments({
    form, input, page, place: chips.appendChild(element('div')), most: page.limits.message, onChange: keepFiles,
    shownId: () => conversationId, onProblem: tellFileProblem, onFailed: tellFilesNotLoaded, onChosen: sendNoMore,
    onArrived: () => sendsOnceFilesAreThere && send(),
  });
  const choice = createAnswerChoice(form, page, { onFailed: tellNotLoaded });
  const drafts = createDrafts(page.kept);
  const showWaiting = createOutboxList({ form, outbox: page.outbox, place, shownId: page.conversationId, onEdit: write, onCut: () => tellProblem(strings.outbox.cut) });
  let references = null;
  let commands = null;
  let conversationId = null;
  let isOpened = false;
  let running = false;
  /** Whether Enter was pressed while files were arriving, and nothing was changed since. */
  let sendsOnceFilesAreThere = false;
  /** Whether the problem that is shown is that the part which knows references doesn't come. */
  let lacksReferences = false;

  const mayHoldReference = () => SIGNS.test(input.value) || COMMAND.test(input.value);

  function changed() {
    keepDraft();
    shown();
  }

  function shown() {
    growWith(input);
    references?.showLater(input.value);
    tellButtons();
    // The part that knows references comes with the first text that may hold one.
    if (!references && mayHoldReference()) bringReferences();
  }

  const said = () => [conversationId, input.value, memories.attached(), reply.target];

  function keepDraft() {
    drafts.set(...said());
  }

  function keepFiles(wanted, uploaded) {
    tellButtons();
    return drafts.setFiles(conversationId, wanted, uploaded);
  }

  async function loadReferences() {
    const { mountReferences } = await bring(() => import('./references.js'));
    references ??= mountReferences({ form, input, page, onComplete: changed });
    references.show(input.value);
  }

  async function bringReferences() {
    try {
      await loadReferences();
      if (lacksReferences) tellProblem('');
      references.follow();
    } catch (error) {
      // Said once: with each letter it is tried again.
      if (lacksReferences) return;
      tellNotLoaded(error, bringReferences);
      lacksReferences = true;
    }
  }

  /** Shows the draft of the conversation, as it is kept. */
  function showDraft() {
    sendNoMore();
    files.set(drafts.files(conversationId));
    memories.set(drafts.attached(conversationId));
    reply.set(drafts.replyTo(conversationId));
    const text = drafts.get(conversationId);
    if (text !== input.value) input.value = text;
    shown();
  }

  /** What was typed before the page was ready stays, behind the draft. */
  function showDraftWithEarly(early) {
    showDraft();
    if (early.trim() !== '' && !input.value.includes(early)) setText([input.value, early].filter(Boolean).join('\n'));
  }

  const isEmpty = () => input.value.trim() === '' && files.all().length === 0 && !files.areArriving();

  function tellButtons() {
    sendButton.disabled = isEmpty();
    const losesFocus = !running && stopButton === document.activeElement;
    setHidden(stopButton, !running);
    if (losesFocus && !byTouch.matches) input.focus();
    // What is written during an answer is sent after it.
    setHidden(sendButton, running && isEmpty());
    sendButton.title = running ? words.sendLater : words.send;
  }

  /** @param {{label: string, onAct: () => void}|null} [remedy] what can be done about it */
  function tellProblem(text, remedy = null) {
    lacksReferences = false;
    setHidden(problem, !text);
    problem.replaceChildren(text);
    if (remedy) problem.append(element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: remedy.label, onclick: remedy.onAct }));
  }

  function sendNoMore() {
    sendsOnceFilesAreThere = false;
  }

  /** What is wrong with the files keeps the message back; where nothing is, it may be waiting for others. */
  function tellFileProblem(text) {
    if (text) sendNoMore();
    tellProblem(text || (sendsOnceFilesAreThere ? words.uploading : ''));
  }

  function tellFilesNotLoaded(error, again) {
    sendNoMore();
    tellNotLoaded(error, again);
  }

  function tellNotLoaded(error, again) {
    const onAct = () => {
      tellProblem('');
      input.focus();
      again();
    };
    tellProblem(words.failedPart(error.message), { label: words.again, onAct });
  }

  function setText(text) {
    input.value = text;
    changed();
  }

  /** Enter: a command is carried out, everything else is sent. */
  function submit() {
    if (!COMMAND.test(input.value)) return send();
    const [typed, written] = [input.value, conversationId];
    return runCommand(typed, () => served(typed, written));
  }

  async function runCommand(text, onDone = () => {}) {
    references?.close();
    try {
      const { createCommands } = commands ? {} : await bring(() => import('./commands/commands.js'));
      commands ??= createCommands(form, page, { onSend: send, tellProblem, choice, setText });
    } catch (error) {
      return tellNotLoaded(error, () => runCommand(text, onDone));
    }
    return commands.run(text, { onDone });
  }

  /** A command that was carried out has no more to do where it was written. */
  function served(typed, written) {
    const isShown = written === conversationId;
    if (isShown && input.value === typed) setText('');
    else if (!isShown && drafts.get(written) === typed) drafts.set(written, '', drafts.attached(written), drafts.replyTo(written));
  }

  async function send() {
    sendsOnceFilesAreThere = files.areArriving() && !files.isOneMissing();
    if (files.areArriving() || files.isOneMissing()) {
      tellProblem(sendsOnceFilesAreThere ? words.uploading : words.notUploaded);
      return;
    }
    if (isEmpty()) return;
    const text = input.value;
    const kept = files.all();
    if (text.length + files.length() > page.limits.message) {
      tellProblem(await files.tooLong(page.limits.message));
      return;
    }
    const target = reply.target;
    const sent = { text, files: kept, attached: memories.attached(), replyTo: target };
    const message = {
      ...place(), ...sent, id: drafts.resendId(conversationId, sent),
      fields: { ...memories.payload(), ...choice.payload(), ...(target ? { reply_to: target.message_id } : {}) },
    };
    tellProblem('');
    references?.close();
    page.outbox.add(message, drafts.removal(conversationId));
    page.events.emit('message:written', { conversationId, text });
    show({ text: '', attached: [], files: [], target: null });
  }

  /** Shows what is written, which is kept already. */
  function show({ text, attached, files: wanted, target }) {
    memories.set(attached);
    files.set(wanted);
    reply.set(target);
    input.value = text;
    shown();
  }

  /** A message that was taken back comes before what has been written since. */
  function write({ id, text, attached, files: wanted, replyTo, problem, insteadOf }) {
    if (insteadOf && page.find(insteadOf)) {
      page.edit(insteadOf, text);
      return;
    }
    const ids = new Set(attached.map(({ claim_id: claimId }) => claimId));
    const since = input.value;
    show({
      text: [text, since].filter(Boolean).join('\n'), files: [...wanted, ...files.all()], target: replyTo ?? reply.target,
      attached: [...attached, ...memories.attached().filter(({ claim_id: claimId }) => !ids.has(claimId))],
    });
    drafts.setNow(...said());
    keepFiles(files.all());
    // The server may have it, and nobody heard.
    if (problem && !problem.isRefused) drafts.setResend(conversationId, { id, text, files: wanted, attached, replyTo });
    input.focus();
  }

  /** Escape: what it is a reply to, else the answer that is being written. What is over the page is closed by it first. */
  function takeBack(event) {
    if (event.defaultPrevented || isSomethingOver()) return;
    if (reply.target) reply.choose(null);
    else if (running && !event.repeat) onStop();
  }

  /** The arrow up in an empty box: the last question can be changed, where it is among the messages that are shown. */
  function editLast(event) {
    if (running || input.value !== '' || !isPlain(event)) return;
    const { messages, atEnd } = page.transcript();
    const last = atEnd ? messages.findLast(isChangeable) : null;
    if (!last) return;
    event.preventDefault();
    page.onAction('edit', last);
  }

  const KEYS = { Escape: takeBack, ArrowUp: editLast };
  input.addEventListener('input', () => {
    sendNoMore();
    if (!lacksReferences || !mayHoldReference()) tellProblem('');
    changed();
    references?.follow();
  });
  input.enterKeyHint = byTouch.matches || !sendsWithEnter.get() ? 'enter' : 'send';
  input.addEventListener('keydown', (event) => {
    if (composes(event) || references?.handleKey(event)) return;
    const sends = event.ctrlKey || event.metaKey || (sendsWithEnter.get() && !event.shiftKey && !byTouch.matches);
    if (event.key === 'Enter' && sends) {
      event.preventDefault();
      submit();
    } else KEYS[event.key]?.(event);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  stopButton.addEventListener('click', onStop);
  page.events.on('command:run', ({ text }) => runCommand(text));
  addEventListener('resize', () => growWith(input));
  followWidth(input);
  // What is written, or sent, in another window is not written here a second time.
  drafts.followElsewhere((id) => id === conversationId && showDraft());
  tellButtons();
  // From now on Enter sends; what was typed before is kept.
  form.removeAttribute('aria-busy');

  return {
    /** Turns to another conversation: its draft comes. */
    open(id) {
      const early = isOpened ? '' : input.value;
      isOpened = true;
      conversationId = id;
      choice.open(id);
      tellProblem('');
      references?.close();
      files.turnTo(drafts.files(id), drafts.uploads(id));
      showDraftWithEarly(early);
      showWaiting();
    },
    /** A conversation was made for what is being written. */
    rename(id) {
      const before = conversationId;
      conversationId = id;
      choice.rename(id);
      drafts.move(before, ...said());
      keepFiles(files.all());
      files.keepUploads();
      showWaiting();
    },
    setRunning(now) {
      running = now;
      tellButtons();
      showWaiting();
    },
    replyTo(message) {
      reply.choose(message);
      input.focus();
    },
    focus: () => input.focus(),
    /** Puts a text behind what is written. */
    add(text) {
      // The space ends a reference, so that Enter sends and completes nothing.
      setText([input.value.trimEnd(), `${text} `].filter(Boolean).join('\n'));
      references?.follow();
      input.focus();
      input.setSelectionRange(input.value.length, input.value.length);
    },
    /** The focus of a conversation that was opened. */
    welcome: () => byTouch.matches || input.focus(),
    answering: () => choice.answering(),
  };
}
