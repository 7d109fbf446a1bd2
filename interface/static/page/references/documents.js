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
  const used = createGroup(words.used, page);
  const found = createGroup(words.found, page);
  const more = element('button', { type: 'button', class: 'message-offer documents-more', hidden: true, onclick: () => {
    isWhole = true;
    draw();
    node.querySelectorAll('.reference-chip')[MOST_AT_FIRST]?.focus();
  } });
  const node = element('div', { class: 'message-documents', hidden: true }, used.node, found.node, more);
  let documents = [];
  let shown = '';
  let isWhole = false;

  function update(message) {
    documents = documentsOf(message);
    const told = JSON.stringify(documents);
    if (told === shown) return;
    shown = told;
    setHidden(node, documents.length === 0);
    draw();
  }

  function draw() {
    const visible = isWhole ? documents : documents.slice(0, MOST_AT_FIRST);
    used.show(visible.filter((each) => each.used !== false));
    found.show(visible.filter((each) => each.used === false));
    more.textContent = words.more(documents.length - visible.length);
    setHidden(more, visible.length === documents.length);
  }

  return { node, update };
}

/** Documents below one label. What was a chip before stays that chip, in its place: a card may be open beside it. */
function createGroup(label, page) {
  const node = element('span', { class: 'documents-group', hidden: true }, element('span', { class: 'documents-label', text: label }));
  let chips = new Map();

  function show(documents) {
    const before = chips;
    chips = new Map(documents.map((each) => [each.wikilink, before.get(each.wikilink) ?? createChip(each.wikilink, null, page)]));
    documents.forEach((each) => chips.get(each.wikilink).renewDocument(documentEntry(each)));
    before.forEach((chip, link) => chips.has(link) || chip.node.remove());
    let last = node.firstElementChild;
    for (const chip of chips.values()) {
      if (last.nextElementSibling !== chip.node) last.after(chip.node);
      last = chip.node;
    }
    setHidden(node, chips.size === 0);
  }

  return { node, show };
}
