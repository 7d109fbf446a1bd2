import { bring, mayPass } from '../core/api.js';
import { sendsWithEnter } from '../core/remembered_switch.js';
import { strings } from '../strings/en/conversation.js';
import { browserStorage, createDrafts } from '../core/drafts.js';
import { createMemories } from './memories.js';
import { createAttachments, createReplyChip, mountTools } from './tools.js';
import { element, setHidden } from '../ui/dom.js';

const SIGNS = /[@#]/;
const COMMAND = /^\s*\/[a-z]*(?:\s|$)/i;
const TALLEST_PART_OF_WINDOW = 0.4;
const words = strings.send;

function growWith(input) {
  input.style.height = 'auto';
  const tallest = Math.round(innerHeight * TALLEST_PART_OF_WINDOW);
  input.style.height = `${Math.min(input.scrollHeight, tallest)}px`;
  input.style.overflowY = input.scrollHeight > tallest ? 'auto' : 'hidden';
}

/**
 * Where a message is written: grows with its text, completes references and shows them, attaches memories and files, runs
 * commands, keeps drafts.
 *
 * @param {object} page beside what views share: `domain`, `limits: {message}`, `userEmail`
 * @param {{onSend: (payload: object) => Promise<void>, onStop: () => Promise<void>}} options `onSend` throws when the message
 *   was not accepted; the text then is still there, in the conversation that the error names by `conversationId`, else here
 */
export function mountComposer(page, { onSend, onStop }) {
  const form = document.getElementById('composer');
  const input = document.getElementById('composer-input');
  const sendButton = document.getElementById('send-button');
  const stopButton = document.getElementById('stop-button');
  const problem = element('p', { id: 'composer-problem', role: 'alert', hidden: true });
  form.prepend(problem);
  const chips = document.getElementById('composer-chips');
  const memories = createMemories({
    place: chips.appendChild(element('div')), buttons: sendButton.parentElement, input, page, onChange: keepDraft,
  });
  const reply = createReplyChip(chips.appendChild(element('div')));
  const files = createAttachments({
    form, input, page, place: chips.appendChild(element('div')), most: page.limits.message, onChange: keepFiles, onProblem: tellProblem, onFailed: tellNotLoaded,
  });
  const tools = mountTools(page, { onFailed: tellNotLoaded });
  const drafts = createDrafts(browserStorage(), page.userEmail);
  let references = null;
  let commands = null;
  let conversationId = null;
  /** Where what is being sent was written. */
  let from = null;
  let sending = false;
  let running = false;
  /** Whether the problem that is shown is that the part which knows references doesn't come. */
  let lacksReferences = false;

  const mayHoldReference = () => SIGNS.test(input.value) || COMMAND.test(input.value);

  function changed() {
    growWith(input);
    keepDraft();
    references?.show(input.value);
    tellButtons();
    // The part that knows references comes with the first text that may hold one.
    if (!references && mayHoldReference()) bringReferences();
  }

  function keepDraft() {
    drafts.set(conversationId, input.value, memories.attached());
  }

  function keepFiles(wanted) {
    tellButtons();
    return drafts.setFiles(conversationId, wanted);
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

  function tellButtons() {
    sendButton.disabled = sending || running || (input.value.trim() === '' && files.all().length === 0);
    setHidden(stopButton, !running);
    setHidden(sendButton, running);
  }

  /** @param {{label: string, onAct: () => void}|null} [remedy] what can be done about it */
  function tellProblem(text, remedy = null) {
    lacksReferences = false;
    setHidden(problem, !text);
    problem.replaceChildren(text);
    if (remedy) problem.append(element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: remedy.label, onclick: remedy.onAct }));
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

  /** The server finds the references in the text too, so that a part that can't be loaded loses nothing. */
  async function referencesIn(text) {
    if (!SIGNS.test(text)) return {};
    if (!references) await loadReferences().catch(() => {});
    const { claimIds = [], friendlyIds = [] } = references?.parse(text) ?? {};
    return { referenced_friendly_ids: friendlyIds, referenced_claim_ids: claimIds };
  }

  /** Enter: a command is carried out, everything else is sent. */
  async function submit() {
    if (!COMMAND.test(input.value)) return send();
    if (sending) return undefined;
    references?.close();
    try {
      commands ??= (await bring(() => import('./commands/commands.js'))).createCommands(form, page, { onSend: send, tellProblem, tools, setText });
    } catch (error) {
      return tellNotLoaded(error, submit);
    }
    const [typed, place] = [input.value, conversationId];
    return commands.run(typed, { onDone: () => served(typed, place) });
  }

  /** A command that was carried out has no more to do where it was written. */
  function served(typed, place) {
    const isShown = place === conversationId;
    if (isShown && input.value === typed) setText('');
    else if (!isShown && drafts.get(place) === typed) drafts.set(place, '', drafts.attached(place));
  }

  async function send() {
    if (sendButton.disabled) return;
    if (input.value.length + files.length() > page.limits.message) {
      tellProblem(await files.tooLong(page.limits.message));
      return;
    }
    const text = input.value;
    const target = reply.target;
    const attached = memories.attached();
    const kept = files.all();
    const along = { ...memories.payload(), ...tools.payload(), ...(target ? { reply_to: target.message_id } : {}) };
    from = conversationId;
    sending = true;
    tellProblem('');
    references?.close();
    memories.set([]);
    files.set([]);
    drafts.setFiles(conversationId, []);
    setText('');
    reply.set(null);
    try {
      const named = await referencesIn(text);
      await onSend({ messageText: await files.inText(text, kept), ...named, ...along });
    } catch (error) {
      giveBack({ place: error.conversationId ?? from, text, target, attached, kept }, error);
    } finally {
      sending = false;
      tellButtons();
    }
  }

  function giveBack({ place, text, target, attached, kept }, error) {
    if (error.name === 'AbortError' || conversationId !== place) {
      // What has been written there since stays below it.
      const ids = new Set(attached.map(({ claim_id: id }) => id));
      const since = drafts.attached(place).filter(({ claim_id: id }) => !ids.has(id));
      drafts.set(place, [text, drafts.get(place)].filter(Boolean).join('\n'), [...attached, ...since]);
      drafts.setFiles(place, [...kept, ...drafts.files(place)]);
      return;
    }
    memories.giveBack(attached);
    files.set([...kept, ...files.all()]);
    drafts.setFiles(from, files.all());
    setText(input.value ? `${text}\n${input.value}` : text);
    reply.set(target);
    const busy = error.code === 'turn_in_progress';
    const remedy = busy || mayPass(error) ? { label: words.again, onAct: send } : null;
    tellProblem(busy ? words.busy : words.failed(error.message), remedy);
  }

  input.addEventListener('input', () => {
    if (!lacksReferences || !mayHoldReference()) tellProblem('');
    changed();
    references?.follow();
  });
  input.addEventListener('keydown', (event) => {
    if (references?.handleKey(event) || event.isComposing) return;
    const sends = event.ctrlKey || event.metaKey || (sendsWithEnter.get() && !event.shiftKey);
    if (event.key === 'Enter' && sends) {
      event.preventDefault();
      submit();
    } else if (event.key === 'Escape' && reply.target) reply.set(null);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    submit();
  });
  stopButton.addEventListener('click', onStop);
  addEventListener('resize', () => growWith(input));
  tellButtons();

  return {
    /** Turns to another conversation: its draft comes, the reply target goes. */
    open(id) {
      conversationId = id;
      tools.open(id);
      reply.set(null);
      tellProblem('');
      references?.close();
      memories.set(drafts.attached(id));
      files.turnTo(drafts.files(id));
      setText(drafts.get(id));
    },
    /** A conversation was made for what is being written. */
    rename(id) {
      drafts.set(conversationId, '');
      drafts.setFiles(conversationId, []);
      if (from === conversationId) from = id;
      conversationId = id;
      tools.rename(id);
      keepDraft();
      keepFiles(files.all());
    },
    setRunning(now) {
      running = now;
      tellButtons();
    },
    replyTo(message) {
      reply.set(message);
      input.focus();
    },
    focus: () => input.focus(),
    answering: () => tools.answering(),
  };
}
