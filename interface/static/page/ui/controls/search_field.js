import { composes } from '../../core/typing.js';
import { element } from '../dom.js';

const DELAY_MS = 250;

/**
 * A field that asks while it is typed in, after a pause, and at once by Enter.
 *
 * @param {(text: string) => void} onSearch
 * @param {Object<string, any>} options `delay`: how long the pause is, in milliseconds; the rest are attributes of the field
 * @returns {HTMLInputElement}
 */
export function searchField(onSearch, { delay = DELAY_MS, ...attributes } = {}) {
  let timer = null;
  const input = element('input', { class: 'form-control', type: 'search', autocomplete: 'off', maxlength: '500', ...attributes });
  const ask = () => {
    clearTimeout(timer);
    onSearch(input.value);
  };
  input.addEventListener('input', () => {
    clearTimeout(timer);
    timer = setTimeout(ask, delay);
  });
  input.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && !composes(event)) ask();
  });
  return input;
}
