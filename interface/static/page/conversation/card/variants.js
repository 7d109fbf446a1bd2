import { bring } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, setHidden } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';

/**
 * The switch "‹ 2/3 ›" below a message: each button chooses a neighbour, round about.
 *
 * @param {{words: object, place: () => {number: number, count: number}, choose: (number: number) => void}} options `place`:
 *   which one is shown of how many; `words` say what they are
 */
function createSwitch({ words, place, choose }) {
  const label = element('span', { class: 'variant-place', role: 'status' });
  const step = (by, sign, name) => element('button', {
    type: 'button', class: 'icon-button variant-button', 'aria-label': name, title: name, text: sign, onclick: () => go(by),
  });
  const node = element('span', { class: 'variant-switch', role: 'group', 'aria-label': words.label, hidden: true },
    step(-1, '‹', words.previous), label, step(1, '›', words.next));
  let shown = { number: 0, count: 0 };

  function show(now) {
    shown = now;
    label.textContent = words.place(shown.number, shown.count);
  }

  function go(by) {
    show({ ...shown, number: ((shown.number - 1 + by + shown.count) % shown.count) + 1 });
    choose(shown.number);
  }

  function update() {
    const now = place();
    setHidden(node, now.count < 2);
    if (!node.hidden) show(now);
  }

  return { node, update };
}

/**
 * Switches between the variants of an answer that was made again.
 *
 * @param {() => object} current the message
 * @param {{onAction: (name: string, message: object, number: number) => void}} page
 */
export function createVariantSwitch(current, page) {
  function place() {
    const { variants = [], status } = current();
    if (status === 'streaming') return { number: 0, count: 0 };
    return { number: variants.find((variant) => variant.chosen)?.number ?? variants.length, count: variants.length };
  }

  const { node, update } = createSwitch({ words: strings.variants, place, choose: (number) => page.onAction('chooseVariant', current(), number) });
  let isOpening = false;
  const open = async () => {
    if (isOpening) return;
    isOpening = true;
    try {
      await (await bring(() => import('./compare.js'))).compareVariants(current(), page, () => node.isConnected);
    } finally {
      isOpening = false;
    }
  };
  node.append(opener('layout-split', strings.variants.compare, () => attempt(open, { failed: strings.variants.compareFailed })));
  return { node, update };
}

/** A button behind the switch, which opens all that it goes through. */
const opener = (name, label, onclick) => element('button', {
  type: 'button', class: 'icon-button variant-button', title: label, 'aria-label': label, 'aria-haspopup': 'dialog', onclick,
}, icon(name));

/**
 * Switches between the questions that were asked in one place, and shows the tree of all of them.
 *
 * @param {() => object} current the question, or the message behind it where it was deleted
 * @param {object} page
 */
export function createBranchSwitch(current, page) {
  const { node, update } = createSwitch({
    words: strings.branches,
    place: () => current().branch ?? { number: 0, count: 0 },
    choose: (number) => page.onAction('chooseBranch', current(), number),
  });
  const tree = opener('diagram-3', strings.branches.tree, async () => {
    const brought = await attempt(() => bring(() => import('./branch_tree.js')), { failed: strings.branches.treeFailed });
    if (brought) await brought.showBranchTree(tree, page);
  });
  node.append(tree);
  return { node, update };
}
