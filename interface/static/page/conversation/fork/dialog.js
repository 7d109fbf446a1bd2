/** Asks at which message a conversation shall fork: the newest first, or those that hold the words typed. */

import { createLatest } from '../../core/latest.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { strings } from '../../strings/en/conversation.js';
import { senderName } from '../message_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';

const LIMIT = 100;
const words = sidebarStrings.fork;

/** Up and down move between the box and the choices, Enter chooses. */
function moveFocus(event, { input, list }) {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (!step) return;
  const stops = [input, ...list.querySelectorAll('button')];
  const next = stops[stops.indexOf(document.activeElement) + step];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

function choiceButton(onChoose, ...content) {
  const button = element('button', { class: 'fork-choice', type: 'button', onclick: onChoose }, ...content);
  return element('li', {}, button);
}

function messageChoice(message, onChoose) {
  const { index, preview } = message;
  const head = element('span', { class: 'fork-choice-head', text: `${words.from(index)} · ${senderName(message, strings.sender)}` });
  return choiceButton(onChoose, head, element('span', { class: 'fork-choice-text', text: preview }));
}

function layOut(title) {
  const input = element('input', { class: 'form-control', type: 'search', placeholder: words.find, 'aria-label': words.find });
  input.autocomplete = 'off';
  const status = element('p', { class: 'fork-status', role: 'status' });
  const list = element('ul', { class: 'fork-list', 'aria-label': words.messages });
  const cancel = element('button', { class: 'btn btn-quiet', type: 'button', text: words.cancel, onclick: () => dialog.close() });
  const content = [element('p', { class: 'dialog-text', text: words.text }), input, status, list];
  const dialog = openDialog({ title: words.title(title), content, buttons: [cancel], className: 'fork-dialog' });
  return { dialog, input, status, list };
}

/** The choices of an open dialog: the whole conversation, then the messages that were asked for. */
function mountChoices({ input, status, list }, { ask, choose }) {
  const whole = choiceButton(() => choose(null), element('span', { class: 'fork-choice-whole', text: words.whole }));

  function show(found, query) {
    const rows = found.map((each) => messageChoice(each, () => choose(each)));
    list.replaceChildren(...(query ? rows : [whole, ...rows]));
    status.textContent = found.length ? '' : query ? words.none : words.empty;
  }

  const latest = createLatest(ask, {
    onAnswer: show,
    onError: (error, query) => {
      const again = element('button', { class: 'btn btn-quiet', type: 'button', text: shellStrings.sidebar.again });
      again.addEventListener('click', () => request(query));
      status.replaceChildren(words.failed(error.message), again);
    },
  });

  function request(query) {
    status.textContent = words.loading;
    latest.request(query);
  }

  list.replaceChildren(whole);
  input.addEventListener('input', () => request(input.value.trim()));
  request('');
  return () => latest.cancel();
}

/** Resolves with the message chosen, null for the whole conversation, undefined where the dialog was left. */
async function chooseMessage({ api, friendlyId, title }) {
  const parts = layOut(title);
  const { dialog, input, list } = parts;
  const ask = (query, options) => (friendlyId ? api.findMessages(friendlyId, query, { limit: LIMIT }, options) : []);
  const stop = mountChoices(parts, { ask, choose: dialog.close });
  dialog.node.addEventListener('keydown', (event) => moveFocus(event, { input, list }));
  input.focus();
  const chosen = await dialog.closed;
  stop();
  return chosen;
}

/**
 * @param {{api: object, conversationId: string, friendlyId?: string, title: string}} conversation
 * @returns {Promise<{messageId: string|null}|null>} `messageId`: where to fork, null for the whole conversation; null
 *   where nothing was chosen
 */
export async function askForkPoint({ api, conversationId, friendlyId, title }) {
  await addPanelStyle('conversation/fork/fork');
  const chosen = await chooseMessage({ api, friendlyId, title });
  if (chosen === undefined) return null;
  if (chosen === null) return { messageId: null };
  const around = chosen.message_short_hash ?? String(chosen.index);
  const find = () => api.listMessages(conversationId, { around, limit: 1 });
  const found = await attempt(find, { failed: words.failed });
  return found?.[0] ? { messageId: found[0].message_id } : null;
}
