import { shortTime } from '../../core/words/times.js';
import { strings } from '../../strings/en/conversation.js';
import { element, mainLandmark } from '../../ui/dom.js';
import { fillPopup, hidePopup, showBeside } from '../../ui/controls/popup.js';
import { withLabels } from '../../references/chips.js';
import { findReferences } from '../../references/grammar.js';
import { bareReference } from '../../references/report_model.js';
import { branchTree } from '../branch_tree_model.js';
import { plainExcerpt } from '../../markdown/plain_text_model.js';

const words = strings.branches;
const EXCERPT_LENGTH = 120;

/** The beginning of a question; its references read as the titles that they lead to, once these are known. */
function previewOf(text, page) {
  const node = element('span', { class: 'branch-preview', dir: 'auto', text: plainExcerpt(text, EXCERPT_LENGTH) });
  const names = findReferences(text).map(({ ref }) => bareReference(ref));
  names.forEach(async (name) => {
    const entry = await page.references.get(name).catch(() => null);
    if (!entry) return;
    text = withLabels(text, [{ ...entry, ref: `@${name}` }]);
    node.textContent = plainExcerpt(text, EXCERPT_LENGTH);
  });
  return node;
}

/** @param {import('../branch_tree_model.js').BranchNode[]} nodes @param {(node: object) => void} choose @param {object} page */
export function branchList(nodes, choose, page) {
  return element('ul', { class: 'branch-list' }, ...nodes.map((node) => {
    const button = element('button', {
      type: 'button', class: 'branch-item', 'aria-current': node.isActive ? 'true' : null, onclick: () => choose(node),
    },
    element('span', { class: 'branch-number', text: String(node.number) }),
    previewOf(node.preview, page),
    element('time', { class: 'branch-time', datetime: node.createdAt, text: shortTime(node.createdAt) }));
    return element('li', {}, button, ...(node.children.length > 0 ? [branchList(node.children, choose, page)] : []));
  }));
}

/**
 * Shows all questions of the conversation that were asked again; a click turns to one.
 *
 * @param {HTMLElement} button beside which they are shown
 * @param {object} page
 */
export async function showBranchTree(button, page) {
  const content = element('div');
  const popup = element('div', { class: 'popup-card branch-tree', popover: 'auto', role: 'dialog', tabindex: '-1', 'aria-label': words.title },
    element('h3', { class: 'popup-title', text: words.title }), content);
  const choose = (node) => {
    hidePopup(popup);
    page.onAction('chooseBranch', { message_id: node.forkId }, node.number);
  };
  await fillPopup(content, () => page.api.listBranches(page.conversationId()), {
    show: (forks) => [branchList(branchTree(forks), choose, page)], failed: words.treeFailed,
  });
  popup.addEventListener('toggle', (event) => event.newState === 'closed' && popup.remove());
  mainLandmark().append(popup);
  showBeside(popup, button);
  popup.focus();
}
