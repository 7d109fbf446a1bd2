import { createLatest } from '../lib/latest.js';
import { strings } from '../lib/strings.js';
import { shortTime } from '../lib/times.js';
import { badgeText, excerpt, senderName } from '../models/message.js';
import { completeMention, conversationChosen, mentionAt, messageChosen } from '../models/mention.js';
import { createListbox } from './composer_listbox.js';
import { element } from './dom.js';

const words = strings.composer;

function conversationOption({ friendly_id: friendlyId, title, last_updated: lastUpdated }) {
  // The server says UTC without saying so.
  const when = shortTime(`${(lastUpdated ?? '').replace(' ', 'T')}Z`) || shortTime(lastUpdated);
  return [
    element('span', { class: 'option-title', text: title || strings.transcript.untitled }),
    element('span', { class: 'option-about', text: [friendlyId, when].filter(Boolean).join(' · ') }),
  ];
}

function messageOption(hit) {
  const badge = badgeText({ message_index: hit.index, message_short_hash: hit.message_short_hash });
  return [
    element('span', { class: 'option-about', text: `${senderName(hit, strings.sender)} · ${badge}` }),
    element('span', { class: 'option-title', text: excerpt(hit.preview, 140) }),
  ];
}

/** The two steps: which conversation, then which of its messages. */
function stepsFor(api) {
  return {
    conversation: {
      ask: ({ query }, options) => api.autocompleteConversations(query, {}, options),
      option: conversationOption,
      none: words.noConversations,
      keys: words.keysConversation,
      text: (hit) => conversationChosen(hit.friendly_id),
    },
    message: {
      ask: ({ friendlyId, query }, options) => api.findMessages(friendlyId, query, {}, options),
      option: messageOption,
      none: words.noMessages,
      keys: words.keysMessage,
      text: (hit, mention) => messageChosen(mention.friendlyId, hit),
    },
  };
}

/**
 * Completes references in a text field: `@` and words offer conversations, a chosen one its messages.
 *
 * @param {HTMLTextAreaElement} input
 * @param {{api: object}} page
 * @param {{onComplete: () => void}} options called when the text was changed by a choice
 */
export function createAutocomplete(input, { api }, { onComplete }) {
  const steps = stepsFor(api);
  const listbox = createListbox(input, { label: words.suggestions, onChoose: choose });
  let mention = null;
  let dismissed = -1;

  const latest = createLatest((asked, options) => steps[asked.kind].ask(asked, options), {
    delay: 150,
    onAnswer: (hits, asked) => show(hits, asked),
    onError: (error, asked) => (error.status === 404 ? show([], asked) : listbox.tell(words.searchFailed)),
  });

  function show(hits, asked) {
    const step = steps[asked.kind];
    if (hits.length > 0) listbox.show(hits.map((hit) => ({ value: hit, content: step.option(hit) })), step.keys);
    // Somebody who writes "@home" and a sentence after it is not searching.
    else if (asked.kind === 'message' || !asked.query.includes(' ')) listbox.tell(step.none);
    else listbox.close();
  }

  function close() {
    latest.cancel();
    listbox.close();
    mention = null;
  }

  function follow() {
    const found = input.selectionStart === input.selectionEnd ? mentionAt(input.value, input.selectionStart) : null;
    if (!found || found.start === dismissed) {
      if (!found) dismissed = -1;
      close();
      return;
    }
    if (!listbox.isOpen()) listbox.tell(words.searching);
    mention = found;
    latest.request(found);
  }

  function choose(hit) {
    if (!mention) return;
    const { kind } = mention;
    const completed = completeMention(input.value, mention, steps[kind].text(hit, mention));
    input.value = completed.text;
    input.setSelectionRange(completed.caret, completed.caret);
    close();
    onComplete();
    input.focus();
    if (kind === 'conversation') follow();
  }

  function handleKey(event) {
    if (event.key === 'Escape' && listbox.isOpen()) {
      dismissed = mention?.start ?? -1;
      close();
      event.preventDefault();
      return true;
    }
    return listbox.handleKey(event);
  }

  input.addEventListener('blur', () => setTimeout(() => document.activeElement !== input && close(), 150));
  input.addEventListener('click', follow);
  input.addEventListener('keyup', (event) => ['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key) && follow());

  return { follow, close, handleKey };
}
