import { strings } from '../../strings/en/conversation.js';
import { attempt } from '../../ui/attempts.js';
import { element } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { createTabs } from '../../ui/tabs.js';
import { railTabs } from './tabs.js';

const words = strings.rail;

/**
 * What stands beside the conversation, in tabs: on wide screens a column, on phones a sheet.
 *
 * @param {HTMLElement} rail
 * @param {object} page
 * @param {() => void} onClose
 * @returns {{refresh: () => Promise<void>, takeFocus: () => void}} `refresh` shows what is there now
 */
export function createRail(rail, page, onClose) {
  const tabs = createTabs({
    tabs: [...railTabs].map(([name, { label }]) => ({ name, label })), label: words.label, onChoose: choose,
  });
  const close = element('button', { type: 'button', class: 'icon-button rail-close', 'aria-label': words.close, title: words.close, onclick: onClose }, icon('x-lg'));
  let [chosen] = railTabs.keys();
  let asked = 0;

  rail.replaceChildren(close, tabs.node);
  rail.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || event.defaultPrevented) return;
    event.preventDefault();
    onClose();
  });

  function choose(name) {
    chosen = name;
    return refresh();
  }

  async function refresh() {
    const place = tabs.choose(chosen);
    const { load, empty } = railTabs.get(chosen);
    asked += 1;
    const mine = asked;
    const nodes = page.conversationId() ? await attempt(() => load(page), { failed: words.failed, again: refresh }) : [];
    // Another conversation, or another tab, may be wanted by now.
    if (mine !== asked || !nodes) return;
    place.replaceChildren(...(nodes.length > 0 ? nodes : [element('p', { class: 'rail-empty', text: empty })]));
  }

  return { refresh, takeFocus: () => rail.querySelector('[role=tab][aria-selected=true]')?.focus() };
}
