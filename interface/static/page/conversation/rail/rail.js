import { strings } from '../../strings/en/conversation.js';
import { railStrings } from '../../strings/en/rail.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, replaceChildrenKeepingFocus, whenReleased } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { createTabs } from '../../ui/controls/tabs.js';
import { railTabs } from './tab_kinds.js';

const words = railStrings;

/**
 * What stands beside the conversation, in tabs: on wide screens a column, on phones a sheet.
 *
 * @param {HTMLElement} rail
 * @param {object} page
 * @param {() => void} onClose
 * @returns {{refresh: () => Promise<void>, follow: () => Promise<void>, renew: () => void, turn: () => void, show: (name: string, detail: object) => Promise<void>, takeFocus: () => void}}
 *   `refresh` shows what is there now, `follow` where activities were posted, `renew` where some were moved, `turn` where other messages are shown, `show` one tab, with the focus; `detail`: what in it
 */
export function createRail(rail, page, onClose) {
  const tabs = createTabs({
    tabs: [...railTabs].map(([name, { label }]) => ({ name, label })), label: words.label, onChoose: choose,
  });
  const close = element('button', { type: 'button', class: 'icon-button rail-close', 'aria-label': words.close, title: words.close, onclick: onClose }, icon('x-lg'));
  let [chosen] = railTabs.keys();
  let asked = 0;
  let isFollowing = false;
  let isBehind = false;

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

  async function refresh({ isLive = false } = {}) {
    const place = tabs.choose(chosen);
    const { load, empty } = railTabs.get(chosen);
    asked += 1;
    const mine = asked;
    const nodes = page.conversationId() ? await attempt(() => load(page, { isLive }), { failed: strings.rail.failed, again: () => refresh() }) : [];
    await whenReleased();
    // Another conversation, or another tab, may be wanted by now.
    if (mine !== asked || !nodes) return;
    replaceChildrenKeepingFocus(place, ...(nodes.length > 0 ? nodes : [element('p', { class: 'rail-empty', text: empty })]));
    railTabs.get(chosen).onShown?.();
  }

  /** Shows the activities that were posted meanwhile; those of a burst at once. */
  async function follow() {
    if (!railTabs.get(chosen).isLive) return;
    isBehind = true;
    if (isFollowing) return;
    isFollowing = true;
    while (isBehind) {
      isBehind = false;
      await refresh({ isLive: true });
    }
    isFollowing = false;
  }

  /** Shows anew what activities were moved in. */
  const renew = () => (railTabs.get(chosen).isLive ? refresh() : undefined);

  /** Other messages are shown. */
  const turn = () => (railTabs.get(chosen).isOfShown ? refresh() : undefined);

  const takeFocus = () => rail.querySelector('[role=tab][aria-selected=true]')?.focus();

  function show(name, detail) {
    railTabs.get(name).open?.(detail);
    const shown = choose(name);
    takeFocus();
    return shown;
  }

  return { refresh, follow, renew, turn, show, takeFocus };
}
