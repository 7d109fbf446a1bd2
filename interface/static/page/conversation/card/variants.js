import { strings } from '../../strings/en/conversation.js';
import { element, setHidden } from '../../ui/dom.js';

const words = strings.variants;

/**
 * The switch "‹ 2/3 ›" under an answer that was made again: each button chooses a neighbour, round about.
 *
 * @param {() => object} current the message
 * @param {{onAction: (name: string, message: object, number: number) => void}} page
 */
export function createVariantSwitch(current, page) {
  const place = element('span', { class: 'variant-place', role: 'status' });
  const step = (by, sign, label) => element('button', {
    type: 'button', class: 'icon-button variant-button', 'aria-label': label, title: label, text: sign, onclick: () => go(by),
  });
  const node = element('span', { class: 'variant-switch', role: 'group', 'aria-label': words.label, hidden: true },
    step(-1, '‹', words.previous), place, step(1, '›', words.next));
  let number = 0;

  function show() {
    const { length } = current().variants;
    place.textContent = words.place(number, length);
  }

  function go(by) {
    const { length } = current().variants;
    number = ((number - 1 + by + length) % length) + 1;
    show();
    page.onAction('chooseVariant', current(), number);
  }

  function update() {
    const { variants = [], status } = current();
    setHidden(node, variants.length < 2 || status === 'streaming');
    if (node.hidden) return;
    number = variants.find((variant) => variant.chosen)?.number ?? variants.length;
    show();
  }

  return { node, update };
}
