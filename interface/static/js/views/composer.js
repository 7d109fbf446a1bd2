import { strings } from '../lib/strings.js';
import { parseMemoryReferences } from '../models/references.js';
import { createAutocomplete } from './composer_autocomplete.js';
import { createPreview } from './composer_preview.js';
import { createReplyChip } from './composer_reply.js';
import { element, setHidden } from './dom.js';

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
  const preview = createPreview(form, page);
  const reply = createReplyChip(document.getElementById('composer-chips'));
  const autocomplete = createAutocomplete(input, page, { onComplete: () => changed() });
  let conversationId = null;
  let sending = false;
  let running = false;

  function changed() {
    growWith(input);
    page.drafts.set(conversationId, input.value);
    preview.show(input.value);
    tellButtons();
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

  function payload() {
    const { claimIds, friendlyIds } = parseMemoryReferences(input.value);
    return {
      messageText: input.value,
      referenced_friendly_ids: friendlyIds,
      referenced_claim_ids: claimIds,
      ...(reply.target ? { reply_to: reply.target.message_id } : {}),
    };
  }

  async function send() {
    if (sendButton.disabled) return;
    if (input.value.length > page.limits.message) {
      tellProblem(words.tooLong(page.limits.message));
      return;
    }
    const outgoing = payload();
    const target = reply.target;
    const from = conversationId;
    sending = true;
    tellProblem('');
    autocomplete.close();
    setText('');
    reply.set(null);
    try {
      await onSend(outgoing);
    } catch (error) {
      giveBack(from, outgoing.messageText, target, error);
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
    autocomplete.follow();
  });
  input.addEventListener('keydown', (event) => {
    if (autocomplete.handleKey(event) || event.isComposing) return;
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
      autocomplete.close();
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
