/** The tree of contexts: jsTree over a `FilingTree`, onto which contexts and memories can be dropped. */

import { inBrackets } from '../../strings/en/count.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { shellStrings } from '../../strings/en/shell.js';
import { DRAGGED_MEMORIES } from '../memory_model.js';
import { TREE_ROOT } from './tree_model.js';
import { element } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';

const PREFIX = 'cx_';
const OPEN_AFTER_MS = 700;
/** A small tree is seen whole. */
const MOST_OPEN = 40;

const idOf = (nodeId) => (nodeId === TREE_ROOT ? null : nodeId.slice(PREFIX.length));

function nodeOf({ context_id: id, name, description, claim_count: count }, parentId, opened) {
  return {
    id: PREFIX + id, parent: parentId === null ? TREE_ROOT : PREFIX + parentId, text: count ? `${name}${inBrackets(count)}` : name, type: 'context', state: { opened },
    a_attr: { title: description || name },
  };
}

/** A jsTree plugin: every row that is drawn gets its triple-dot button; its icons are the style sheet's. */
function installRows($) {
  if ($.jstree.plugins.contextrow) return;
  $.jstree.plugins.contextrow = function contextRow(_options, parent) {
    this.redraw_node = function redrawNode(...args) {
      const row = parent.redraw_node.apply(this, args);
      const anchor = row?.querySelector(':scope > .jstree-anchor');
      if (!anchor) return row;
      // The menu key opens the same menu, so that the button would only be noise to a screen reader.
      anchor.after(element('span', { class: 'jstree-node-menu-btn', title: shellStrings.sidebar.rowActions, 'aria-hidden': 'true' }));
      return row;
    };
  };
}

export class ContextTree {
  node = element('div', { class: 'memories-tree', role: 'group', 'aria-label': memoriesTabStrings.contexts.tree });
  #on;
  #model = null;
  #tree = null;
  #opening = null;

  /**
   * @param {{open: (id: string) => void, menu: (id: string, anchor: HTMLElement, at?: {x: number, y: number}) => void,
   *          move: (id: string, parentId: string|null) => void, drop: (id: string, claimIds: string[]) => void}} on
   */
  constructor(on) {
    this.#on = on;
  }

  /** @param {import('./tree_model.js').FilingTree} model @param {string|null} openId */
  show(model, openId) {
    this.#model = model;
    const nodes = model.outline().map(({ thing }) => nodeOf(thing, model.parentOf(thing.context_id), model.size <= MOST_OPEN));
    if (!this.#tree) this.#build(nodes);
    else {
      this.#tree.settings.core.data = nodes;
      this.#tree.refresh(true);
    }
    this.select(openId);
  }

  /** Marks the open context, and opens what is above it. */
  select(openId) {
    const mark = () => {
      this.#tree.deselect_all(true);
      if (openId && this.#model.get(openId)) this.#tree.select_node(PREFIX + openId, true);
    };
    mark();
    globalThis.jQuery(this.node).one('refresh.jstree', mark);
  }

  #build(nodes) {
    const $ = globalThis.jQuery;
    installRows($);
    const $tree = $(this.node).jstree({
      core: {
        data: nodes,
        check_callback: (operation, node, parent) => operation === 'move_node' && this.#mayMove(node, parent),
        force_text: true, worker: false, animation: 0, dblclick_toggle: false, multiple: false, themes: { dots: false, responsive: false },
      },
      types: { context: { icon: 'fa fa-folder' } },
      dnd: { copy: false, touch: false, inside_pos: 'last', large_drop_target: true },
      plugins: ['types', 'wholerow', 'dnd', 'contextrow'],
    });
    this.#tree = $tree.jstree(true);
    this.#listen($tree, $);
    this.#acceptMemories();
  }

  #mayMove(node, parent) {
    return node.parent !== parent.id && this.#model.mayMove(idOf(node.id), idOf(parent.id));
  }

  #listen($tree, $) {
    $tree
      .on('activate_node.jstree', (_event, { node }) => this.#on.open(idOf(node.id)))
      .on('move_node.jstree', (_event, { node, parent }) => this.#on.move(idOf(node.id), idOf(parent)))
      .on('open_node.jstree close_node.jstree', (event, { node }) => this.#tellExpanded(node, event.type === 'open_node'))
      .on('contextmenu', '.jstree-anchor, .jstree-wholerow', (event) => {
        event.preventDefault();
        const anchor = event.currentTarget.closest('.jstree-node').querySelector(':scope > .jstree-anchor');
        this.#menu(anchor, event.button === 2 ? { x: event.clientX, y: event.clientY } : undefined);
      })
      .on('click', '.jstree-node-menu-btn', (event) => {
        event.stopPropagation();
        this.#menu(event.currentTarget.previousElementSibling, { x: event.clientX, y: event.clientY });
      })
      .on('keydown', '.jstree-anchor', (event) => {
        if (event.key === 'F10' && event.shiftKey) this.#menu(event.currentTarget);
        else if (event.key === 'F2') this.#menu(event.currentTarget);
      });
    $(document).on('dnd_stop.vakata.jstree', (_event, { data, event }) => this.#sayWhyNot(data, event));
  }

  /** jsTree refuses without a word what would go below itself. */
  #sayWhyNot(data, event) {
    const dragged = data?.jstree && data.origin === this.#tree ? data.nodes?.[0] : null;
    const target = event?.target?.closest?.('.memories-tree .jstree-node');
    if (!dragged || !target || target.id === dragged) return;
    if (!this.#model.mayMove(idOf(dragged), idOf(target.id))) showToast(memoriesTabStrings.contexts.cycle, { kind: 'error' });
  }

  #menu(anchor, at) {
    const id = idOf(anchor.closest('.jstree-node').id);
    anchor.focus({ preventScroll: true });
    this.#on.menu(id, anchor, at);
  }

  #tellExpanded(node, expanded) {
    // With whole rows jsTree announces the state on the arrow instead of on the tree item.
    const row = this.node.querySelector(`#${CSS.escape(node.id)}`);
    row?.querySelector(':scope > .jstree-ocl')?.removeAttribute('aria-expanded');
    row?.querySelector(':scope > .jstree-anchor')?.setAttribute('aria-expanded', String(expanded));
  }

  #acceptMemories() {
    let over = null;
    const turnTo = (row) => {
      if (row === over) return;
      over?.classList.remove('drop-target');
      over = row;
      over?.classList.add('drop-target');
      clearTimeout(this.#opening);
      if (row) this.#opening = setTimeout(() => this.#tree.open_node(row.id), OPEN_AFTER_MS);
    };
    this.node.addEventListener('dragover', (event) => {
      if (!event.dataTransfer.types.includes(DRAGGED_MEMORIES)) return;
      const row = event.target.closest('.jstree-node');
      turnTo(row);
      if (!row) return;
      event.preventDefault();
      event.dataTransfer.dropEffect = 'link';
    });
    this.node.addEventListener('dragleave', (event) => {
      if (!this.node.contains(event.relatedTarget)) turnTo(null);
    });
    this.node.addEventListener('drop', (event) => {
      const row = over;
      turnTo(null);
      if (!row) return;
      event.preventDefault();
      this.#on.drop(idOf(row.id), JSON.parse(event.dataTransfer.getData(DRAGGED_MEMORIES)).map(({ claim_id: id }) => id));
    });
  }
}
