import { strings } from '../strings/en/conversation.js';
import { plainExcerpt } from '../markdown/plain_text_model.js';
import { senderName } from '../conversation/message_model.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';

const words = strings.reply;

const EXCERPT_LENGTH = 120;

/** What the chip shows of a message, and a reply needs: so much is kept with what is written. */
const targetOf = (message) => ({
  message_id: message.message_id, sender: message.sender, short_id: message.short_id,
  name: message.name ?? senderName(message, strings.sender), text: plainExcerpt(message.text, EXCERPT_LENGTH),
});

/**
 * The chip that says to which message the next one replies.
 *
 * @param {HTMLElement} place
 * @param {() => void} onChange the person chose a message, or none any more
 */
export function createReplyChip(place, onChange) {
  const chip = { target: null, set, choose };

  function choose(message) {
    set(message);
    onChange();
  }

  function set(message) {
    chip.target = message ? targetOf(message) : null;
    if (!message) {
      place.replaceChildren();
      return;
    }
    const cancel = element('button', {
      type: 'button', class: 'icon-button', 'aria-label': words.cancel, title: words.cancel, onclick: () => choose(null),
    }, icon('x-lg'));
    const { name, short_id: shortId, text } = chip.target;
    place.replaceChildren(element('div', { class: 'composer-chip reply-chip' }, icon('reply'),
      element('span', { class: 'reply-chip-label', text: words.to(name, shortId) }),
      element('span', { class: 'reply-chip-excerpt', text }), cancel));
  }

  return chip;
}
