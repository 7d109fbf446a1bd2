import { referenceStrings } from '../strings/en/references.js';
import { excerpt } from '../core/words/excerpt.js';
import { isBeside, isFound, isMuted, isPlainFile, notesOf, summarise, summaryLine, titleOf } from './report_model.js';
import { element, setHidden } from '../ui/dom.js';
import { createChip } from './chips.js';

const words = referenceStrings;
const EXCERPT_LENGTH = 100;

function row(entry, page) {
  if (isBeside(entry) && !isFound(entry)) return element('li', { class: 'report-entry report-details', text: notesOf(entry).join(' · ') });
  const details = [
    words.status[entry.status] ?? entry.status,
    excerpt(titleOf(entry) ?? '', EXCERPT_LENGTH),
    ...notesOf(entry),
  ].filter(Boolean).join(' · ');
  return element('li', { class: `report-entry status-${entry.status}` },
    createChip(entry.ref, entry, page, { isTitled: false }).node, element('span', { class: 'report-details', text: details }));
}

/**
 * The report on a message's references: one line, and the details when it is opened.
 *
 * @param {object} page
 */
export function createReport(page) {
  const line = element('summary', { class: 'report-line' });
  const list = element('ul', { class: 'report-list' });
  const node = element('details', { class: 'reference-report', hidden: true }, line, list);
  let shown = null;

  /** @param {object[]} entries */
  function update(entries) {
    if (entries === shown) return;
    shown = entries;
    const counted = entries.filter((entry) => !isMuted(entry) && !isPlainFile(entry));
    setHidden(node, counted.length === 0);
    line.textContent = counted.length > 0 ? summaryLine(entries, words) : '';
    const { problems, missing } = summarise(entries);
    node.classList.toggle('has-problems', problems.length > 0 || missing > 0);
    list.replaceChildren(...counted.map((entry) => row(entry, page)));
  }

  return { node, update };
}
