import { strings } from '../../../strings/en/conversation.js';
import { element, setHidden } from '../../../ui/dom.js';
import { linesOf } from '../../message_model.js';

const words = strings.fold;
const MOST_LINES = 200;

/**
 * Shows the beginning of a long message alone, until somebody wants all of it.
 *
 * @param {HTMLElement} body
 */
export function createFold(body) {
  const button = element('button', { type: 'button', class: 'btn btn-sm btn-quiet message-fold', hidden: true, onclick: () => show(!isOpen) });
  let isOpen = false;
  let lines = 0;

  function show(open) {
    isOpen = open;
    const isLong = lines > MOST_LINES;
    setHidden(button, !isLong);
    body.classList.toggle('folded', isLong && !isOpen);
    button.textContent = isOpen ? words.less : words.all(lines);
    button.setAttribute('aria-expanded', String(isOpen));
  }

  return {
    button,
    open: () => show(true),
    /** @param {string} text what the message says now */
    update(text) {
      lines = linesOf(text);
      show(isOpen);
    },
  };
}
