import { strings } from '../../strings/en/conversation.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { decorateReferences } from '../../references/chips.js';
import { element, mainLandmark } from '../../ui/dom.js';
import { fillPopup, showBeside } from '../../ui/controls/popup.js';

const words = strings.history;

function earlierText({ text, replaced_at: replacedAt }, page) {
  const body = element('div', { class: 'earlier-text-body', text });
  decorateReferences(body, text, page);
  return element('li', { class: 'earlier-text' },
    element('p', { class: 'earlier-text-about' }, words.until, ' ',
      element('time', { datetime: replacedAt, title: fullTime(replacedAt), text: shortTime(replacedAt) })), body);
}

function listOf(edits, page) {
  if (edits.length === 0) return [element('p', { class: 'popup-note', text: words.none })];
  return [element('ol', { class: 'earlier-texts', reversed: true }, ...edits.reverse().map((edit) => earlierText(edit, page)))];
}

/**
 * Shows what a message said before it was edited, the newest first.
 *
 * @param {HTMLElement} button beside which it is shown
 * @param {object} message
 * @param {object} page `api`, and what chips need: `references`, `goTo`, `events`
 */
export async function showEarlierTexts(button, message, page) {
  const content = element('div');
  const shown = { ...page, entries: message.references ?? [] };
  await fillPopup(content, () => page.api.listEdits(message.message_id), { show: (edits) => listOf(edits, shown), failed: words.failed });
  const popup = element('div', { class: 'popup-card earlier', popover: 'auto', role: 'dialog', tabindex: '-1', 'aria-label': words.title },
    element('h3', { class: 'popup-title', text: words.title }), content);
  popup.addEventListener('click', ({ target }) => target.closest('.reference-chip[href]') && popup.hidePopover());
  popup.addEventListener('toggle', (event) => event.newState === 'closed' && popup.remove());
  mainLandmark().append(popup);
  showBeside(popup, button);
  popup.focus();
}
