import { inBrackets, number } from '../../strings/en/count.js';
import { element, setHidden } from '../dom.js';

/**
 * Tabs as ARIA describes them: one stop for Tab, arrows, Home and End move and choose.
 *
 * @param {{tabs: Array<{name: string, label: string}>, label: string, onChoose: (name: string) => void}} options
 * @returns {{node: HTMLElement, choose: (name: string) => HTMLElement, count: (name: string, n: number) => void}} `choose` shows a tab
 *   and gives its place, `count` says behind a tab's name how much there is to do
 */
export function createTabs({ tabs, label, onChoose }) {
  const bar = element('div', { class: 'tab-bar', role: 'tablist', 'aria-label': label });
  const node = element('div', { class: 'tab-frame' }, bar);
  const parts = new Map();
  const bringIntoView = () => bar.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  for (const { name, label: text } of tabs) {
    const place = element('div', {
      class: 'tab-place', role: 'tabpanel', id: `tab-place-${name}`, 'aria-labelledby': `tab-${name}`, tabindex: '-1', hidden: true,
    });
    const tab = element('button', {
      type: 'button', class: 'tab', role: 'tab', id: `tab-${name}`, 'aria-controls': place.id, 'aria-selected': 'false',
      tabindex: '-1', text, onclick: () => onChoose(name),
    });
    parts.set(name, { tab, place });
    bar.append(tab);
    node.append(place);
  }

  bar.addEventListener('keydown', (event) => {
    const all = [...bar.children];
    const at = all.indexOf(document.activeElement);
    const targets = { ArrowRight: (at + 1) % all.length, ArrowLeft: (at - 1 + all.length) % all.length, Home: 0, End: all.length - 1 };
    if (at < 0 || !(event.key in targets)) return;
    event.preventDefault();
    all[targets[event.key]].focus();
    all[targets[event.key]].click();
  });

  function choose(chosen) {
    for (const [name, { tab, place }] of parts) {
      tab.setAttribute('aria-selected', String(name === chosen));
      tab.setAttribute('tabindex', name === chosen ? '0' : '-1');
      setHidden(place, name !== chosen);
    }
    bringIntoView();
    return parts.get(chosen).place;
  }

  function count(name, n) {
    const { label: text } = tabs.find((each) => each.name === name);
    parts.get(name).tab.textContent = n ? `${text}${inBrackets(number(n))}` : text;
  }

  new ResizeObserver(bringIntoView).observe(bar);
  return { node, choose, count };
}
