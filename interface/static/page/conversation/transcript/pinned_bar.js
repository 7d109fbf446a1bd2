import { icon } from '../../ui/icons.js';
import { strings } from '../../strings/en/conversation.js';
import { plainExcerpt } from '../../markdown/plain_text_model.js';
import { senderName } from '../message_model.js';
import { withLabels } from '../../references/chips.js';
import { element, replaceChildrenKeepingFocus, setHidden, uniqueId } from '../../ui/dom.js';

const words = strings.pins;

/**
 * The pinned messages above the conversation: a click goes to one, its cross takes the pin away.
 *
 * @param {HTMLElement} transcript before which they stand
 * @param {{goTo: (target: object) => void, conversationId: () => string, find: (messageId: string) => object|null,
 *   onAction: (name: string, message: object) => void}} page
 */
export function createPinnedBar(transcript, page) {
  const list = element('ul', { class: 'pinned-list' });
  const bar = element('section', { id: uniqueId('pinned-messages'), class: 'pinned-messages', 'aria-label': words.label }, icon('pin-angle-fill'), list);
  transcript.before(bar);
  /** By all that they say: a press on one that stays goes on, and it keeps the focus. */
  let rows = new Map();

  function row(pinned) {
    const target = { conversation_id: page.conversationId(), message_id: pinned.message_id };
    const said = withLabels(pinned.preview, page.find(pinned.message_id)?.references ?? []);
    const text = `#${pinned.message_index} ${senderName(pinned, strings.sender)}: ${plainExcerpt(said, 80)}`;
    return element('li', { class: 'pinned-message' },
      element('button', { type: 'button', class: 'pinned-open', text, title: words.open, onclick: () => page.goTo(target) }),
      element('button', {
        type: 'button', class: 'icon-button pinned-remove', title: words.remove(pinned.message_index),
        'aria-label': words.remove(pinned.message_index), onclick: () => page.onAction('unpin', pinned),
      }, icon('x-lg')));
  }

  /** @param {object[]} pinned in order */
  function show(pinned) {
    setHidden(bar, pinned.length === 0);
    const keyOf = (each) => JSON.stringify([page.conversationId(), each, page.find(each.message_id)?.references]);
    rows = new Map(pinned.map((each) => [keyOf(each), rows.get(keyOf(each)) ?? row(each)]));
    replaceChildrenKeepingFocus(list, ...rows.values());
  }

  return { show };
}
