import { strings } from '../strings/en/conversation.js';
import { plainExcerpt } from '../conversation/card/content/spoken_model.js';
import { senderName } from '../conversation/message_model.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';

const words = strings.reply;

/**
 * The chip that says to which message the next one replies.
 *
 * @param {HTMLElement} place
 */
export function createReplyChip(place) {
  const chip = { target: null, set };

  function set(message) {
    chip.target = message;
    if (!message) {
      place.replaceChildren();
      return;
    }
    const cancel = element('button', {
      type: 'button', class: 'icon-button', 'aria-label': words.cancel, title: words.cancel, onclick: () => set(null),
    }, icon('x-lg'));
    const label = words.to(message.name ?? senderName(message, strings.sender), message.short_id);
    place.replaceChildren(element('div', { class: 'composer-chip reply-chip' }, icon('reply'),
      element('span', { class: 'reply-chip-label', text: label }),
      element('span', { class: 'reply-chip-excerpt', text: plainExcerpt(message.text, 120) }), cancel));
  }

  return chip;
}
