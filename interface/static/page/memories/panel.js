/** The Memories panel: beside the conversation where there is room, in its place elsewhere, while the address says so. */

import { leavePanel, nameBeside, panelInAddress, writePanel } from '../core/address.js';
import { bring } from '../core/api.js';
import { composes } from '../core/typing.js';
import { icon } from '../ui/icons.js';
import { memoriesStrings } from '../strings/en/memories.js';
import { strings } from '../strings/en/conversation.js';
import { PANEL, TABS, changed, formatPanel, initialState, parsePanel, showing } from './query_model.js';
import { wide } from '../ui/columns.js';
import { closeDialogs } from '../ui/controls/dialog.js';
import { element, setHidden } from '../ui/dom.js';
import { madeElsewhere } from './api.js';
import { createMemoriesPage } from './page.js';
import { failureBlock } from './controls.js';
import { createTabs } from '../ui/controls/tabs.js';
import { coverPageTitle } from '../ui/notices/page_title.js';
import { addPanelStyle } from '../ui/panel_style.js';
import { isSomethingOver } from '../ui/controls/popup.js';

const words = memoriesStrings;

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

class MemoriesPanel {
  #page;
  #events;
  #state = initialState();
  #shown = false;
  #heading = element('h1', { id: 'memories-title', tabindex: '-1', text: words.panel.title });
  #frame;
  #head = element('div', { class: 'memories-panel-head', hidden: true });
  #node = element('section', { id: 'memories', 'aria-labelledby': 'memories-title', hidden: true }, this.#head);
  #close;
  #tabs;
  #opened = new Map();

  constructor({ api, events, kept, store, frame, announce }) {
    this.#events = events;
    this.#frame = frame;
    this.#page = createMemoriesPage({
      api, events, kept, announce,
      conversationId: () => store.openId,
      state: () => this.#state,
      go: (changes, options) => this.go(changes, options),
      refresh: () => this.#current()?.refresh?.(),
      close: () => this.close(),
      writeMessage: () => this.#writeMessage(),
    });
    this.#tabs = createTabs({
      tabs: TABS.map((name) => ({ name, label: words.tab[name] })), label: words.panel.tabs, onChoose: (tab) => this.go({ ...initialState(), tab }),
    });
    this.#close = element('button', {
      type: 'button', class: 'btn btn-quiet memories-close', id: 'close-memories', 'aria-label': words.panel.close, onclick: () => this.close(), hidden: true,
    }, icon('x-lg'), element('span', { text: words.panel.close }));
    this.#node.append(this.#tabs.node);
    frame.addPanel(this.#node);
    document.addEventListener('keydown', (event) => this.#onKey(event));
    wide.addEventListener('change', () => this.#shown && this.#place());
    nameBeside(() => (this.#isBeside ? formatPanel(this.#state).slice(1) : ''));
    events.on('beside:taken', ({ by }) => by !== PANEL && this.#isBeside && this.#leave());
    events.on('memories:changed', () => this.#shown && this.#countConflicts());
    store.subscribe(({ told, conversations }) => {
      const changes = told.filter(({ kind }) => kind === 'memory');
      if (changes.length > 0) this.#showChanges(changes);
      if (conversations.has(store.openId)) this.#showPins(store.conversation(store.openId));
    });
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
    this.#entitle();
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
    writePanel(formatPanel(changed(this.#state, changes)), { replace });
    this.follow();
  }

  close() {
    this.#leave();
    this.#events.emit('composer:focus');
  }

  #leave() {
    // Another panel may be named there already.
    if (panelInAddress() === PANEL) leavePanel();
    this.follow();
  }

  /** Leads to the conversation, of which nothing is seen where the panel covers it. */
  #writeMessage() {
    if (this.#isBeside) this.#events.emit('composer:focus');
    else this.close();
  }

  get #isBeside() {
    return this.#shown && wide.matches;
  }

  /** Puts the panel beside the conversation, or in its place. */
  #place() {
    const beside = wide.matches;
    const { dataset } = document.documentElement;
    const hadFocus = document.activeElement;
    if (beside) this.#head.append(this.#heading, this.#close);
    else {
      this.#frame.addTitle(this.#heading);
      this.#frame.addButton(this.#close);
    }
    if (this.#heading.contains(hadFocus) || this.#close.contains(hadFocus)) hadFocus.focus({ preventScroll: true });
    setHidden(this.#head, !beside);
    if (beside) dataset.beside = PANEL;
    else dataset.panel = PANEL;
    delete dataset[beside ? 'panel' : 'beside'];
    this.#close.setAttribute('aria-label', beside ? words.panel.closeBeside : words.panel.close);
    this.#entitle();
    if (beside) this.#events.emit('beside:taken', { by: PANEL });
    else this.#events.emit('beside:left', { by: PANEL });
  }

  /** The window is called after the conversation, unless the panel covers it. */
  #entitle() {
    coverPageTitle(this.#shown && !wide.matches ? words.tab[this.#state.tab] : null);
  }

  /** What another window, another device or a program changed. While the panel is hidden there is nothing to do: it asks when it comes. */
  async #showChanges(told) {
    const changes = await madeElsewhere(told);
    if (changes.length === 0) return;
    if (changes.some(({ fields }) => fields.object_type !== 'claim')) this.#page.catalogue.forget();
    const tab = this.#current();
    if (!this.#shown) return;
    this.#countConflicts();
    if (tab?.follow) tab.follow(changes);
    else tab?.refresh?.();
  }

  #showPins(conversation) {
    if (!this.#shown || !conversation?.pinned_claim_ids) return;
    this.#page.setPinnedHere(conversation.pinned_claim_ids);
    this.#current()?.showPins?.();
  }

  #current() {
    return this.#shown ? this.#opened.get(this.#state.tab) : undefined;
  }

  #appear() {
    if (this.#shown) return;
    this.#shown = true;
    this.#node.hidden = false;
    this.#close.hidden = false;
    this.#place();
    this.#events.emit('panel:shown');
    this.#heading.focus({ preventScroll: true });
    this.#page.lookUpPins();
    this.#countConflicts();
  }

  #hide() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#node.hidden = true;
    this.#close.hidden = true;
    closeDialogs('memories-dialog');
    for (const tab of this.#opened.values()) tab.hide?.();
    const { dataset } = document.documentElement;
    if (dataset.beside === PANEL) {
      delete dataset.beside;
      this.#events.emit('beside:left', { by: PANEL });
    }
    // Another panel may have taken its place.
    if (dataset.panel !== PANEL) return;
    delete dataset.panel;
    this.#entitle();
  }

  /** Whether a key is for something that lies over the panel, or beside it. */
  #isElsewhere(target) {
    const leaves = this.#isBeside && target !== document.body && !this.#node.contains(target);
    return Boolean(leaves || isSomethingOver() || target.closest?.('#sidebar'));
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
    if (!this.#shown || event.defaultPrevented || composes(event) || this.#isElsewhere(event.target)) return;
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
 * @param {{api: object, events: object, kept: object, store: import('../core/store.js').Store, frame: object,
 *   announce: (text: string) => void}} page `frame`: where a panel stands
 * @returns {Promise<{follow: () => Promise<void>, open: (target: {kind: string, id: string}) => void}>} `follow` shows what the address
 *   says, `open` something that is named elsewhere on the page
 */
export async function mountMemories(page) {
  await Promise.all([addPanelStyle('memories/memories'), page.kept.ready()]);
  const panel = new MemoriesPanel(page);
  return { follow: () => panel.follow(), open: (target) => panel.open(target) };
}
