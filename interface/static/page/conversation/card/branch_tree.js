import { shortTime } from '../../core/times.js';
import { strings } from '../../strings/en/conversation.js';
import { element, mainLandmark } from '../../ui/dom.js';
import { fillPopup, hidePopup, showBeside } from '../../ui/popup.js';
import { branchTree } from '../branch_tree_model.js';

const words = strings.branches;

/** @param {import('../branch_tree_model.js').BranchNode[]} nodes @param {(node: object) => void} choose */
export function branchList(nodes, choose) {
  return element('ul', { class: 'branch-list' }, ...nodes.map((node) => {
    const button = element('button', {
      type: 'button', class: 'branch-item', 'aria-current': node.isActive ? 'true' : null, onclick: () => choose(node),
    },
    element('span', { class: 'branch-number', text: String(node.number) }),
    element('span', { class: 'branch-preview', dir: 'auto', text: node.preview }),
    element('time', { class: 'branch-time', datetime: node.createdAt, text: shortTime(node.createdAt) }));
    return element('li', {}, button, ...(node.children.length > 0 ? [branchList(node.children, choose)] : []));
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
    show: (forks) => [branchList(branchTree(forks), choose)], failed: words.treeFailed,
  });
  popup.addEventListener('toggle', (event) => event.newState === 'closed' && popup.remove());
  mainLandmark().append(popup);
  showBeside(popup, button);
  popup.focus();
}
