import { documentStrings } from '../strings/en/documents.js';
import { element } from '../ui/dom.js';

const FIRST = 50;
const MORE = 200;

/**
 * The nodes of a long list: the first ones, then a button that says how many more there are and adds them.
 *
 * @template T
 * @param {T[]} items
 * @param {(item: T) => HTMLElement} nodeOf
 * @param {{most?: number, onMore?: (shown: number) => void}} [options] `most`: how many are shown at first; `onMore` is told how many are
 *   shown after the button was used
 * @returns {HTMLElement[]}
 */
export function shownInPart(items, nodeOf, { most = FIRST, onMore = () => {} } = {}) {
  const nodes = items.slice(0, most).map(nodeOf);
  const rest = items.slice(most);
  if (rest.length === 0) return nodes;
  const isEntry = nodes[0].tagName === 'LI';
  const button = element('button', { type: 'button', class: 'btn btn-quiet btn-sm documents-more', text: documentStrings.more(rest.length), onclick: () => {
    const added = shownInPart(rest, nodeOf, { most: MORE, onMore: (shown) => onMore(most + shown) });
    onMore(most + MORE);
    place.replaceWith(...added);
    const [first] = added;
    (first.matches('a, button') ? first : first.querySelector('a, button, summary') ?? first).focus();
  } });
  const place = isEntry ? element('li', {}, button) : button;
  return [...nodes, place];
}
