import { messageDocumentStrings } from '../strings/en/message_documents.js';
import { element, setHidden } from '../ui/dom.js';
import { createChip } from './chips.js';
import { documentEntry, documentsOf } from './wikilinks_model.js';

const words = messageDocumentStrings;
const MOST_AT_FIRST = 10;

/**
 * The documents of a message as chips: those that it uses, then those that were only found; the first ten, until more are wanted.
 *
 * @param {object} page
 */
export function createDocumentChips(page) {
  const node = element('div', { class: 'message-documents', hidden: true });
  let shown = '';
  let isWhole = false;

  function update(message) {
    const documents = documentsOf(message);
    const told = JSON.stringify(documents);
    if (told === shown) return;
    shown = told;
    setHidden(node, documents.length === 0);
    draw(documents);
  }

  function draw(documents) {
    const visible = isWhole ? documents : documents.slice(0, MOST_AT_FIRST);
    const used = visible.filter((each) => each.used !== false);
    const found = visible.filter((each) => each.used === false);
    const more = documents.length - visible.length;
    const button = more > 0 ? element('button', { type: 'button', class: 'message-offer documents-more', text: words.more(more), onclick: () => {
      isWhole = true;
      draw(documents);
      node.querySelectorAll('.reference-chip')[visible.length]?.focus();
    } }) : null;
    node.replaceChildren(...group(words.used, used), ...group(words.found, found), ...(button ? [button] : []));
  }

  function group(label, documents) {
    if (documents.length === 0) return [];
    const chips = documents.map((each) => createChip(each.wikilink, documentEntry(each), page).node);
    return [element('span', { class: 'documents-group' }, element('span', { class: 'documents-label', text: label }), ...chips)];
  }

  return { node, update };
}
