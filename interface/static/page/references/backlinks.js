import { shownTitle } from '../core/words/conversation_title.js';
import { strings } from '../strings/en/conversation.js';
import { referenceStrings } from '../strings/en/references.js';
import { shortTime } from '../core/words/times.js';
import { plainPreview } from '../markdown/plain_text_model.js';
import { senderName } from '../conversation/message_model.js';
import { element, mainLandmark, setHidden } from '../ui/dom.js';
import { fillPopup, hidePopup, showBeside } from '../ui/controls/popup.js';

function row(link, onOpen) {
  const title = shownTitle(link.title);
  const about = [senderName(link, strings.sender), `#${link.message_index}`, shortTime(link.created_at)].filter(Boolean);
  return element('li', {}, element('button', { type: 'button', class: 'popup-item backlink', onclick: onOpen },
    element('span', { class: 'backlink-title', text: title }),
    element('span', { class: 'backlink-about', text: about.join(' · ') }),
    element('span', { class: 'backlink-preview', text: plainPreview(link.preview ?? '', 160) })));
}

/** The messages, each of which leads there. */
export const backlinkList = (links, onOpen) => element('ul', { class: 'backlink-list' }, ...links.map((link) => row(link, () => onOpen(link))));

/** The same; or that there are none any more. */
function listOf(links, onOpen) {
  if (links.length === 0) return [element('p', { class: 'popup-note', text: referenceStrings.backlinks.none })];
  return [backlinkList(links, onOpen)];
}

/**
 * The button "↩ 3" under a message that others refer to: it opens the list of them.
 *
 * @param {() => object} current the message
 * @param {object} page
 */
export function createBacklinks(current, page) {
  const node = element('button', { type: 'button', class: 'backlinks-button', hidden: true, 'aria-haspopup': 'dialog' });

  node.addEventListener('click', async () => {
    const content = element('div');
    const popup = element('div', { class: 'popup-card backlinks', popover: 'auto', role: 'dialog', 'aria-label': referenceStrings.backlinks.title },
      element('h3', { class: 'popup-title', text: referenceStrings.backlinks.title }), content);
    const open = (link) => {
      hidePopup(popup);
      page.goTo(link);
    };
    popup.addEventListener('toggle', (event) => event.newState === 'closed' && popup.remove());
    mainLandmark().append(popup);
    await fillPopup(content, () => page.api.listBacklinks(current().message_id), {
      show: (links) => listOf(links, open), failed: referenceStrings.backlinks.failed,
    });
    showBeside(popup, node);
    popup.querySelector('button')?.focus();
  });

  function update() {
    const count = current().backlink_count ?? 0;
    setHidden(node, count === 0);
    node.textContent = referenceStrings.backlinks.count(count);
    node.setAttribute('aria-label', referenceStrings.backlinks.label(count));
    node.title = referenceStrings.backlinks.label(count);
  }

  return { node, update };
}
