/** The Memories panel: stands in the place of the conversation while the address says so. */

import { bring } from '../core/api.js';
import { icon } from '../ui/icons.js';
import { knowledgeStrings } from '../strings/en/memories.js';
import { strings } from '../strings/en/conversation.js';
import { TABS, changed, formatPanel, initialState, parsePanel, showing } from './query_model.js';
import { element } from '../ui/dom.js';
import { createKnowledgePage } from './page.js';
import { failureBlock } from './controls.js';
import { createTabs } from '../ui/tabs.js';
import { setPageTitle } from '../ui/page_title.js';
import { addPanelStyle } from '../ui/panel_style.js';

const words = knowledgeStrings;

const LOAD = {
  memories: () => bring(() => import('./list/tab.js')),
  contexts: () => bring(() => import('./filing/contexts.js')),
  entities: () => bring(() => import('./filing/entities.js')),
  tags: () => bring(() => import('./filing/tags.js')),
  conflicts: () => bring(() => import('./tabs/conflicts.js')),
  add: () => bring(() => import('./tabs/ingest.js')),
  history: () => bring(() => import('./tabs/history.js')),
  transfer: () => bring(() => import('./tabs/transfer.js')),
};

const isEditable = (target) => target.matches?.('textarea, select, [contenteditable], input:not([type=checkbox]):not([type=radio])');

const FLOATING = 'dialog[open], [popover]:popover-open:not(#toasts), .vakata-context';

/** Whether a key is for something that lies over the panel, or beside it. */
const isElsewhere = (target) => Boolean(document.querySelector(FLOATING) || target.closest?.('#sidebar'));

class KnowledgePanel {
  #page;
  #state = initialState();
  #shown = false;
  #heading = element('h1', { id: 'knowledge-title', tabindex: '-1', text: words.panel.title });
  #node = element('section', { id: 'knowledge', 'aria-labelledby': 'knowledge-title', hidden: true });
  #close;
  #tabs;
  #opened = new Map();

  constructor({ api, events, kept }) {
    this.#page = createKnowledgePage({
      api, events, kept,
      state: () => this.#state,
      go: (changes, options) => this.go(changes, options),
      refresh: () => this.#current()?.refresh?.(),
      close: () => this.close(),
    });
    this.#tabs = createTabs({
      tabs: TABS.map((name) => ({ name, label: words.tab[name] })), label: words.panel.tabs, onChoose: (tab) => this.go({ ...initialState(), tab }),
    });
    this.#close = element('button', {
      type: 'button', class: 'btn btn-quiet knowledge-close', id: 'close-knowledge', 'aria-label': words.panel.close, onclick: () => this.close(), hidden: true,
    }, icon('x-lg'), element('span', { text: words.panel.close }));
    this.#node.append(this.#tabs.node);
    const header = document.getElementById('conversation-header');
    header.querySelector('#conversation-title').before(this.#heading);
    header.append(this.#close);
    header.after(this.#node);
    document.addEventListener('keydown', (event) => this.#onKey(event));
    events.on('knowledge:changed', () => this.#shown && this.#countConflicts());
  }

  /** Shows what the address says: a tab of the panel, or the conversation. */
  async follow() {
    const state = parsePanel(location.search);
    if (!state) {
      this.#hide();
      return;
    }
    this.#state = state;
    this.#appear();
    setPageTitle(words.tab[state.tab]);
    const place = this.#tabs.choose(state.tab);
    const tab = await this.#open(state.tab, place);
    if (tab && this.#shown && this.#state === state) tab.show(state);
  }

  /** Shows something that is named elsewhere on the page. @param {{kind: string, id: string}} target */
  open(target) {
    this.go(showing(target));
  }

  /** @param {object} changes of the state @param {{replace?: boolean}} [options] */
  go(changes, { replace = false } = {}) {
    const next = changed(this.#state, changes);
    const address = location.pathname + formatPanel(next);
    if (address !== location.pathname + location.search) history[replace ? 'replaceState' : 'pushState'](null, '', address);
    this.follow();
  }

  close() {
    history.pushState(null, '', location.pathname);
    this.follow();
    document.getElementById('composer-input')?.focus();
  }

  #current() {
    return this.#shown ? this.#opened.get(this.#state.tab) : undefined;
  }

  #appear() {
    if (this.#shown) return;
    this.#shown = true;
    this.#node.hidden = false;
    this.#close.hidden = false;
    document.documentElement.dataset.panel = 'knowledge';
    // On narrow screens the sidebar, where the panel was asked for, lies over it.
    if (document.querySelector('main').inert) document.getElementById('sidebar-backdrop').click();
    this.#heading.focus({ preventScroll: true });
    this.#page.lookUpPins();
    this.#countConflicts();
  }

  #hide() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#node.hidden = true;
    this.#close.hidden = true;
    for (const dialog of document.querySelectorAll('.knowledge-dialog[open]')) dialog.close();
    for (const tab of this.#opened.values()) tab.hide?.();
    // Another panel may have taken its place.
    if (document.documentElement.dataset.panel !== 'knowledge') return;
    delete document.documentElement.dataset.panel;
    const title = document.getElementById('conversation-title').textContent;
    setPageTitle(title === strings.transcript.none ? '' : title);
  }

  async #countConflicts() {
    try {
      const { open_conflicts: open } = await this.#page.api.pkbStats();
      this.#tabs.count('conflicts', open);
    } catch {
      // The tab itself says what is wrong.
    }
  }

  async #open(name, place) {
    if (this.#opened.has(name)) return this.#opened.get(name);
    try {
      const { createTab } = await LOAD[name]();
      if (!this.#opened.has(name)) {
        const tab = createTab(this.#page);
        this.#opened.set(name, tab);
        place.replaceChildren(tab.node);
      }
      return this.#opened.get(name);
    } catch (error) {
      console.error(error);
      place.replaceChildren(failureBlock(words.panel.loadFailed(strings.unreachable), () => this.follow()));
      return null;
    }
  }

  #onKey(event) {
    if (!this.#shown || event.defaultPrevented || event.isComposing || isElsewhere(event.target)) return;
    if (event.key === 'Escape') this.#escape(event);
    else if (!event.ctrlKey && !event.metaKey && !event.altKey && !isEditable(event.target)) this.#current()?.handleKey?.(event);
  }

  /** First out of a field, then out of a selection, then out of the panel. */
  #escape(event) {
    event.preventDefault();
    if (isEditable(event.target)) this.#heading.focus({ preventScroll: true });
    else if (!this.#current()?.escape?.()) this.close();
  }
}

/**
 * @param {{api: object, events: object, kept: object}} page
 * @returns {Promise<{follow: () => Promise<void>, open: (target: {kind: string, id: string}) => void}>} `follow` shows what the address
 *   says, `open` something that is named elsewhere on the page
 */
export async function mountKnowledge(page) {
  await addPanelStyle('memories/memories');
  const panel = new KnowledgePanel(page);
  return { follow: () => panel.follow(), open: (target) => panel.open(target) };
}
