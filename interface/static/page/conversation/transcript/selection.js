import { messageActionStrings } from '../../strings/en/message_actions.js';
import { strings } from '../../strings/en/conversation.js';
import { messageReference } from '../message_model.js';
import { copyAndSay } from '../../ui/copy_fallbacks.js';
import { element, setHidden, uniqueId } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';

const words = messageActionStrings.selection;

/**
 * The messages that are ticked, and the bar that says what can be done with them together.
 *
 * @param {HTMLElement} place before which the bar stands
 * @param {object} page
 * @param {{move: (messageIds: string[], direction: 'up'|'down') => Promise<void>,
 *          remove: (messages: object[]) => Promise<void>}} actions
 */
export function createSelection(place, page, { move, remove }) {
  const selected = new Map();
  const count = element('span', { class: 'selection-count', role: 'status' });
  const button = (text, onclick) => element('button', { type: 'button', class: 'btn btn-sm btn-quiet', onclick }, element('span', { text }));
  // As they are now: what was moved since has another place.
  const inOrder = () => [...selected.values()].map((message) => page.find(message.message_id) ?? message)
    .sort((a, b) => a.message_index - b.message_index);
  const ids = () => inOrder().map((message) => message.message_id);
  const copy = button(words.copyReferences, () => {
    const lines = inOrder().map((message) => messageReference(page.friendlyId(), message));
    copyAndSay(lines.join('\n'), copy.firstElementChild, strings.badge.copied);
  });
  const bar = element('div', { id: uniqueId('selection-bar'), class: 'selection-bar', role: 'toolbar', 'aria-label': words.label, hidden: true },
    count,
    button(strings.actions.moveUp, () => move(ids(), 'up')),
    button(strings.actions.moveDown, () => move(ids(), 'down')),
    copy,
    button(strings.actions.delete, () => remove(inOrder())),
    element('button', { type: 'button', class: 'icon-button', 'aria-label': words.clear, title: words.clear, onclick: () => clear() }, icon('x-lg')));
  place.before(bar);

  function show() {
    setHidden(bar, selected.size === 0);
    page.container.classList.toggle('selecting', selected.size > 0);
    count.textContent = words.count(selected.size);
    copy.disabled = !page.friendlyId();
  }

  function set(message, on) {
    if (on) selected.set(message.message_id, message);
    else selected.delete(message.message_id);
    page.transcript().card(message.message_id)?.setSelected(on);
    show();
  }

  function clear() {
    for (const message of [...selected.values()]) set(message, false);
  }

  // `renew` is for what comes later than the messages: what references to them begin with.
  return { set, clear, renew: show, adopt: (card) => card.setSelected(selected.has(card.message.message_id)) };
}
