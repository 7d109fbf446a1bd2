import { memoriesStrings } from '../../strings/en/memories.js';
import { pageRange } from '../query_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { iconButton } from '../controls.js';

const words = memoriesStrings.pages;

/**
 * Previous, next, and any page by its number.
 *
 * @param {(page: number) => void} onPage
 * @returns {{node: HTMLElement, show: (place: {page: number, total: number, shown: number, size?: number}) => {first: number, last: number, pages: number},
 *            step: (by: number) => void}}
 */
export function createPager(onPage) {
  let page = 1;
  let pages = 1;
  const go = (wanted) => {
    const next = Math.max(1, Math.min(pages, wanted));
    if (next !== page) onPage(next);
  };
  const number = element('input', { class: 'form-control memories-page-number', type: 'number', min: '1', inputmode: 'numeric', 'aria-label': words.go });
  const of = element('span', { class: 'memories-note' });
  const previous = iconButton('arrow-left', words.previous, () => go(page - 1));
  const next = iconButton('arrow-right', words.next, () => go(page + 1));
  const node = element('nav', { class: 'memories-pager', 'aria-label': words.label, hidden: true }, previous, number, of, next);
  number.addEventListener('change', () => {
    const wanted = Math.round(Number(number.value));
    if (wanted > 0) go(wanted);
    number.value = page;
  });

  function show(place) {
    const range = pageRange(place);
    const isBeingTyped = place.page === page && document.activeElement === number;
    ({ page } = place);
    ({ pages } = range);
    setHidden(node, pages < 2);
    if (!isBeingTyped) number.value = page;
    number.max = pages;
    of.textContent = words.of(pages);
    previous.disabled = page <= 1;
    next.disabled = page >= pages;
    return range;
  }

  return { node, show, step: (by) => go(page + by) };
}
