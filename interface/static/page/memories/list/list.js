import { memoriesStrings } from '../../strings/en/memories.js';
import { DRAGGED_MEMORIES, excerpt } from '../memory_model.js';
import { element } from '../../ui/dom.js';
import { openMenu } from '../../ui/controls/menu.js';
import { memoryRow } from './row.js';

const words = memoriesStrings.list;

/**
 * The memories of a page, worked by pointer and keyboard. One row is the current one: keys speak of it.
 *
 * `actions` are those of `actions.js`; `itemsOf(claim)` the items of a memory's menu; `selection` a
 * `ClaimSelection`; `onSelection` is called when it changed; `onFilter` takes a change of the filters.
 */
export class MemoryList {
  node = element('ul', { class: 'memory-list', 'aria-label': words.label });
  #claims = [];
  #parts;
  #current = 0;

  constructor({ actions, itemsOf, selection, onSelection, onFilter }) {
    this.#parts = { actions, itemsOf, selection, onSelection, onFilter };
    this.node.addEventListener('contextmenu', (event) => this.#onContextMenu(event));
    this.node.addEventListener('dragstart', (event) => this.#drag(event));
    this.node.addEventListener('focusin', (event) => this.#setCurrent(this.#indexOf(event.target.closest('.memory'))));
    this.node.addEventListener('dblclick', (event) => {
      const claim = this.#claimOf(event.target);
      if (claim && !event.target.closest('button, input')) actions.edit(claim);
    });
  }

  get claims() {
    return this.#claims;
  }

  /** @param {object[]} claims */
  show(claims) {
    const { activeElement } = document;
    const focused = this.node.contains(activeElement);
    const drawn = new Map(this.#claims.map((claim, at) => [claim.claim_id, { claim, row: this.node.children[at] }]));
    const isDrawn = (claim) => JSON.stringify(drawn.get(claim.claim_id)?.claim) === JSON.stringify(claim);
    const isSame = claims.length === this.#claims.length && claims.every((claim, at) => claim.claim_id === this.#claims[at].claim_id && isDrawn(claim));
    if (isSame) return;
    const current = this.#claims[this.#current]?.claim_id;
    this.#claims = claims;
    this.#parts.selection.list(claims);
    const rows = claims.map((claim) => (isDrawn(claim) ? drawn.get(claim.claim_id).row : this.#row(claim)));
    this.node.replaceChildren(...rows);
    for (const row of rows) row.tabIndex = -1;
    const at = claims.findIndex(({ claim_id: id }) => id === current);
    this.#setCurrent(at < 0 ? Math.min(this.#current, claims.length - 1) : at);
    if (focused && activeElement.isConnected) activeElement.focus({ preventScroll: true });
    else if (focused) this.focus();
  }

  /** A memory changed: its row is drawn anew, in its place. */
  replace(claim) {
    const at = this.#claims.findIndex(({ claim_id: id }) => id === claim.claim_id);
    if (at < 0) return;
    if (JSON.stringify({ ...this.#claims[at], ...claim }) === JSON.stringify(this.#claims[at])) return;
    const before = this.node.children[at];
    const focused = before.contains(document.activeElement);
    this.#claims[at] = { ...this.#claims[at], ...claim };
    before.replaceWith(this.#row(this.#claims[at]));
    this.#setCurrent(this.#current);
    if (focused) this.node.children[at].focus({ preventScroll: true });
  }

  /** Shows which are selected. */
  showSelection() {
    this.#claims.forEach((claim, at) => {
      const selected = this.#parts.selection.has(claim.claim_id);
      const row = this.node.children[at];
      row.classList.toggle('selected', selected);
      row.firstElementChild.checked = selected;
    });
  }

  focus() {
    this.node.children[this.#current]?.focus();
  }

  /** The first row is the current one again. */
  rewind() {
    this.#current = 0;
  }

  /** @returns {boolean} whether the key was for the list */
  handleKey(event) {
    const steps = { j: 1, ArrowDown: 1, k: -1, ArrowUp: -1 };
    if (event.target.closest?.('[role=tablist], .jstree')) return false;
    if (event.key in steps) return this.#did(event, () => this.#step(steps[event.key]));
    const claim = this.#claims[this.#current];
    const inRow = document.activeElement?.classList.contains('memory');
    if (!claim || (event.key === 'Enter' && !inRow)) return false;
    const run = this.#keyActions(claim, event)[event.key.length === 1 ? event.key.toLowerCase() : event.key];
    return run ? this.#did(event, run) : false;
  }

  #keyActions(claim, { shiftKey }) {
    const { actions, selection } = this.#parts;
    return {
      x: () => this.#select(claim, shiftKey || !selection.has(claim.claim_id), shiftKey),
      e: () => actions.edit(claim),
      Enter: () => actions.edit(claim),
      u: () => actions.useNow(claim),
      p: () => actions.togglePin(claim),
      c: () => this.node.children[this.#current].querySelector('.memories-badge').click(),
      m: () => this.#menu(claim),
      ContextMenu: () => this.#menu(claim),
      Delete: () => claim.status !== 'retracted' && actions.retract(claim),
    };
  }

  #did(event, run) {
    event.preventDefault();
    run();
    return true;
  }

  #step(by) {
    const inside = this.node.contains(document.activeElement);
    const next = inside ? this.#current + by : this.#current;
    this.#setCurrent(Math.max(0, Math.min(this.#claims.length - 1, next)));
    this.focus();
  }

  #setCurrent(index) {
    if (index < 0) return;
    this.node.children[this.#current]?.setAttribute('tabindex', '-1');
    this.#current = index;
    this.node.children[index]?.setAttribute('tabindex', '0');
  }

  #select(claim, selected, range) {
    const { selection, onSelection } = this.#parts;
    const fits = selection.set(claim.claim_id, selected, { range });
    this.showSelection();
    onSelection(fits);
  }

  #row(claim) {
    const { actions, selection, onFilter } = this.#parts;
    const row = memoryRow(claim, {
      selected: selection.has(claim.claim_id),
      on: {
        onSelect: (each, selected, range) => this.#select(each, selected, range),
        onFilter,
        onSource: actions.openSource,
        onUse: actions.useNow,
        onPin: actions.togglePin,
        onMenu: (each, anchor) => this.#openMenu(each, anchor),
      },
    });
    row.draggable = true;
    return row;
  }

  #menu(claim) {
    this.#openMenu(claim, this.node.children[this.#current].querySelector('.memory-menu'));
  }

  #openMenu(claim, anchor, at) {
    openMenu(anchor, this.#parts.itemsOf(claim), { label: memoriesStrings.panel.menu(excerpt(claim.statement, 40)), at });
  }

  /** Memories are dragged by their rows; one of several selected ones brings them all. */
  #drag(event) {
    const claim = event.target.closest?.('.memory') === event.target && this.#claimOf(event.target);
    if (!claim) return;
    const { selection } = this.#parts;
    const dragged = selection.has(claim.claim_id) ? selection.claims : [claim];
    const told = dragged.map(({ claim_id, friendly_id, statement }) => ({ claim_id, friendly_id, statement }));
    event.dataTransfer.setData(DRAGGED_MEMORIES, JSON.stringify(told));
    event.dataTransfer.effectAllowed = 'copyLink';
  }

  #onContextMenu(event) {
    const claim = this.#claimOf(event.target);
    if (!claim || (event.shiftKey && event.button === 2) || String(getSelection())) return;
    event.preventDefault();
    const row = event.target.closest('.memory');
    // The menu key reports the corner of what has the focus: the menu then stands beside its button.
    const at = event.button === 2 ? { x: event.clientX, y: event.clientY } : undefined;
    this.#openMenu(claim, row.querySelector('.memory-menu'), at);
  }

  #claimOf(target) {
    return this.#claims[this.#indexOf(target.closest('.memory'))];
  }

  #indexOf(row) {
    return row ? [...this.node.children].indexOf(row) : -1;
  }
}
