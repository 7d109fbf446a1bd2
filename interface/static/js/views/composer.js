import { strings } from '../lib/strings.js';
import { createReplyChip } from './composer_reply.js';
import { element, setHidden } from './dom.js';

const SIGNS = /[@#]/;
const TALLEST_PART_OF_WINDOW = 0.4;
const words = strings.send;

function growWith(input) {
  input.style.height = 'auto';
  const tallest = Math.round(innerHeight * TALLEST_PART_OF_WINDOW);
  input.style.height = `${Math.min(input.scrollHeight, tallest)}px`;
  input.style.overflowY = input.scrollHeight > tallest ? 'auto' : 'hidden';
}

/**
 * Where a message is written: grows with its text, completes references and shows them, keeps drafts.
 *
 * @param {object} page beside what views share: `domain`, `limits: {message}`, `drafts`
 * @param {{onSend: (payload: object) => Promise<void>, onStop: () => Promise<void>}} options `onSend` throws when the message
 *   was not accepted; the text then is still there
 */
export function mountComposer(page, { onSend, onStop }) {
  const form = document.getElementById('composer');
  const input = document.getElementById('composer-input');
  const sendButton = document.getElementById('send-button');
  const stopButton = document.getElementById('stop-button');
  const problem = element('p', { id: 'composer-problem', role: 'alert', hidden: true });
  form.prepend(problem);
  const reply = createReplyChip(document.getElementById('composer-chips'));
  let references = null;
  let conversationId = null;
  let sending = false;
  let running = false;

  function changed() {
    growWith(input);
    page.drafts.set(conversationId, input.value);
    references?.show(input.value);
    tellButtons();
    // The part that knows references comes with the first text that may hold one.
    if (!references && SIGNS.test(input.value)) loadReferences().then(() => references.follow(), () => {});
  }

  async function loadReferences() {
    const { mountReferences } = await import('./composer_references.js');
    references ??= mountReferences({ form, input, page, onComplete: changed });
    references.show(input.value);
  }

  function tellButtons() {
    sendButton.disabled = sending || running || input.value.trim() === '';
    setHidden(stopButton, !running);
    setHidden(sendButton, running);
  }

  function tellProblem(text, onAgain = null) {
    setHidden(problem, !text);
    problem.replaceChildren(text);
    if (onAgain) problem.append(element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.again, onclick: onAgain }));
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

  async function send() {
    if (sendButton.disabled) return;
    if (input.value.length > page.limits.message) {
      tellProblem(words.tooLong(page.limits.message));
      return;
    }
    const text = input.value;
    const target = reply.target;
    const from = conversationId;
    sending = true;
    tellProblem('');
    references?.close();
    setText('');
    reply.set(null);
    try {
      const named = await referencesIn(text);
      await onSend({ messageText: text, ...named, ...(target ? { reply_to: target.message_id } : {}) });
    } catch (error) {
      giveBack(from, text, target, error);
    } finally {
      sending = false;
      tellButtons();
    }
  }

  function giveBack(from, text, target, error) {
    if (error.name === 'AbortError' || conversationId !== from) {
      page.drafts.set(from, text);
      return;
    }
    setText(input.value ? `${text}\n${input.value}` : text);
    reply.set(target);
    const busy = error.code === 'turn_in_progress';
    tellProblem(busy ? words.busy : words.failed(error.message), send);
  }

  input.addEventListener('input', () => {
    tellProblem('');
    changed();
    references?.follow();
  });
  input.addEventListener('keydown', (event) => {
    if (references?.handleKey(event) || event.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      send();
    } else if (event.key === 'Escape' && reply.target) reply.set(null);
  });
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    send();
  });
  stopButton.addEventListener('click', onStop);
  addEventListener('resize', () => growWith(input));
  tellButtons();

  return {
    /** Turns to another conversation: its draft comes, the reply target goes. */
    open(id) {
      conversationId = id;
      reply.set(null);
      tellProblem('');
      references?.close();
      setText(page.drafts.get(id));
    },
    /** A conversation was made for what is being written. */
    rename(id) {
      page.drafts.set(conversationId, '');
      conversationId = id;
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
  };
}
