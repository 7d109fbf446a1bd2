/** The tree of workspaces and conversations: jsTree over a `TreeModel`. */

import { FIRST_ROWS } from './tree_model.js';
import { shellStrings } from '../strings/en/shell.js';
import { ROOT, conversationNode, conversationNodeId, workspaceNodeId } from './tree_nodes_model.js';
import { scrollWhileDragging } from './dragging.js';
import { TYPES, installRowMenu, keepLongPressMenus, rowKeys, rowsAround, subjectOf } from './rows.js';

const PLUGINS = ['types', 'wholerow', 'contextmenu', 'dnd', 'rowmenu'];

export class SidebarTree {
  #container;
  #scroller;
  #model;
  #on;
  #tree;
  #selectedId = null;
  #besideId = null;
  #postponed = new Set();
  // Openings by the page itself, which are not the person's wish and are not remembered.
  #openedByPage = new Set();
  #closingAll = false;
  #reloads = 0;
  #wantedFocus = [];
  #moved = [];
  #inView;

  /**
   * @param {HTMLElement} container
   * @param {object} options
   * @param {import('./tree_model.js').TreeModel} options.model
   * @param {(subject: {kind: string, id: string}, show: (items: object) => void) => void} options.menuOf shows vakata's
   *   items for a row
   * @param {{open: (conversationId: string) => void, expand: (workspaceId: string, expanded: boolean) => void,
   *          move: (subjects: {kind: string, id: string}[], workspaceId: string|null) => void,
   *          rename: (subject: object) => void, remove: (subject: object) => void,
   *          select: (count: number) => void}} options.on `select`: how many conversations are selected now
   */
  constructor(container, { model, menuOf, on }) {
    this.#container = container;
    this.#scroller = container.parentElement;
    this.#model = model;
    this.#on = on;
    const $ = globalThis.jQuery;
    installRowMenu($);
    const $tree = $(container).jstree(this.#options(menuOf));
    this.#tree = $tree.jstree(true);
    this.#inView = new IntersectionObserver((entries) => this.#openVisible(entries), {
      root: this.#scroller,
      rootMargin: '300px 0px',
    });
    this.ready = new Promise((resolve) => $tree.one('ready.jstree', resolve));
    this.#listen($tree);
    keepLongPressMenus(container);
    scrollWhileDragging(this.#scroller, $);
  }

  /** Show anew what is below a workspace ('#': everything), keeping selection, focus and scroll position: the focus of a row that goes, goes to its neighbour. */
  async reload(workspaceId) {
    const node = this.#tree.get_node(workspaceId === ROOT ? ROOT : workspaceNodeId(workspaceId));
    if (!node) return;
    const wanted = this.#rowsToFocus();
    this.#reloads += 1;
    this.#wantedFocus = wanted;
    const top = this.#scroller.scrollTop;
    const selected = this.#tree.get_selected();
    if (node.id === ROOT) await this.#load(node);
    else await this.#reloadWorkspace(node, workspaceId);
    this.#markSelected(selected.length > 1 ? selected : []);
    this.#scroller.scrollTop = top;
    wanted.some((id) => {
      const anchor = document.getElementById(id);
      anchor?.focus({ preventScroll: true });
      return anchor && document.activeElement === anchor;
    });
    this.#reloads -= 1;
    this.#nameCurrentRow();
  }

  /** The anchors that may take the focus after a reload, best first. While another reload has taken the focused row out of the page, they are that one's. */
  #rowsToFocus() {
    const active = document.activeElement;
    const focused = this.#container.contains(active) ? active.closest('.jstree-node') : null;
    if (focused) return rowsAround(focused).map(({ id }) => `${id}_anchor`);
    return this.#reloads > 0 && (!active || active === document.body) ? this.#wantedFocus : [];
  }

  /** Show a conversation as the open one, its workspaces opened and a row of it in view: that of a list above the tree will do. Null: none is open. */
  async select(conversationId) {
    this.#selectedId = conversationId;
    const workspaceId = conversationId === null ? undefined : this.#model.workspaceOf(conversationId);
    if (workspaceId !== undefined) {
      for (const id of this.#model.path(workspaceId)) await this.openWorkspace(id);
      if (this.#model.reveal(conversationId)) await this.reload(workspaceId);
      if (this.#selectedId !== conversationId) return;
    }
    this.#markSelected();
    // Whoever goes from one of the recent conversations to the next wants to find that list where it was.
    if (this.#isListedInView(conversationId)) return;
    document.getElementById(`${conversationNodeId(conversationId)}_anchor`)?.scrollIntoView({ block: 'nearest' });
  }

  /** Whether a list beside the tree, such as that of the recent ones, shows a conversation where it is seen. */
  #isListedInView(conversationId) {
    const view = this.#scroller.getBoundingClientRect();
    return [...this.#scroller.querySelectorAll('.sidebar-row')].some((row) => {
      const { top, bottom, height } = row.getBoundingClientRect();
      return row.dataset.conversationId === conversationId && height > 0 && top >= view.top && bottom <= view.bottom;
    });
  }

  /** Mark the conversation beside the open one. Its row is not selected, since menus act on all selected rows. Null: none. */
  markBeside(conversationId) {
    const nodes = [this.#besideId, conversationId].map((id) => this.#tree.get_node(conversationNodeId(id))).filter(Boolean);
    this.#besideId = conversationId;
    for (const node of nodes) {
      delete node.a_attr['aria-current'];
      Object.assign(node.a_attr, this.#marksOf(node.id));
      const anchor = document.getElementById(`${node.id}_anchor`);
      anchor?.removeAttribute('aria-current');
      for (const [name, value] of Object.entries(this.#marksOf(node.id))) anchor?.setAttribute(name, value);
    }
  }

  /** Open a workspace on the page's own account: the server is not told. */
  openWorkspace(workspaceId) {
    const node = this.#tree.get_node(workspaceNodeId(workspaceId));
    this.#postponed.delete(workspaceId);
    if (!this.#tree.is_closed(node)) return Promise.resolve();
    this.#openedByPage.add(workspaceId);
    return new Promise((resolve) => this.#tree.open_node(node, resolve, 0));
  }

  /** Close every workspace. */
  closeAll() {
    this.#postponed.clear();
    this.#closingAll = true;
    this.#tree.close_all();
    this.#closingAll = false;
  }

  /** Draw a conversation's row anew, in its place. */
  redrawConversation(conversation) {
    const node = this.#tree.get_node(conversationNodeId(conversation.conversation_id));
    if (!node) return;
    const fresh = conversationNode(conversation, node.parent);
    node.li_attr = { ...fresh.li_attr, id: node.li_attr.id };
    node.a_attr = { ...fresh.a_attr, ...this.#marksOf(fresh.id), id: node.a_attr.id };
    node.icon = fresh.icon ?? TYPES.conversation.icon;
    this.#tree.set_text(node, fresh.text);
  }

  /** The conversations that a menu opened on `conversationId` speaks of: all selected ones when it is among them. */
  chosenWith(conversationId) {
    const chosen = this.#tree.get_selected(true).filter((node) => node.type === 'conversation');
    const ids = chosen.map((node) => subjectOf(node).id);
    return ids.includes(conversationId) ? ids : [conversationId];
  }

  #options(menuOf) {
    return {
      core: {
        data: (node, done) => done(this.#nodesBelow(node.id)),
        check_callback: (operation, node, parent) => operation !== 'move_node' || this.#mayMove(node, parent),
        force_text: true,
        strings: { nodes: shellStrings.sidebar.dragged },
        worker: false,
        animation: 0,
        dblclick_toggle: false,
        keyboard: rowKeys(this.#on),
        themes: { dots: false, responsive: false },
      },
      types: TYPES,
      contextmenu: {
        items: (node, show) => {
          if (node.type !== 'more') menuOf(subjectOf(node), show);
        },
        select_node: false,
        show_at_node: false,
      },
      dnd: {
        copy: false,
        touch: false,
        inside_pos: 'last',
        large_drop_target: true,
        is_draggable: (nodes) => nodes.every((node) => this.#mayDrag(subjectOf(node))),
      },
      plugins: PLUGINS,
    };
  }

  #listen($tree) {
    const tree = this.#tree;
    $tree
      .on('ready.jstree redraw.jstree load_node.jstree after_open.jstree', () => this.#watchPostponed())
      .on('ready.jstree after_close.jstree', (_event, { node }) => this.#nameCurrentRow(node?.id))
      .on('activate_node.jstree', (_event, { node, event }) => this.#activate(node, event))
      .on('select_node.jstree deselect_node.jstree', () => this.#tellSelected())
      .on('open_node.jstree', (_event, { node }) => this.#rememberExpanded(node, true))
      .on('close_node.jstree', (_event, { node }) => this.#rememberExpanded(node, false))
      .on('move_node.jstree', (_event, { node, parent }) =>
        this.#tellMoved(subjectOf(node), parent === ROOT ? null : subjectOf(tree.get_node(parent)).id),
      )
      .on('click', '.jstree-node-menu-btn', (event) => {
        event.stopPropagation();
        const anchor = event.currentTarget.previousElementSibling;
        anchor.focus();
        tree.show_contextmenu(anchor, event.pageX, event.pageY);
      })
      .on('keydown', '.jstree-anchor', (event) => {
        if (event.key !== 'ContextMenu' && !(event.key === 'F10' && event.shiftKey)) return;
        event.preventDefault();
        tree.show_contextmenu(event.currentTarget);
      });
  }

  #nodesBelow(nodeId) {
    // What is open already stays open, so that nothing jumps when everything is shown anew.
    const rows = Math.max(FIRST_ROWS, this.#container.querySelectorAll('.jstree-node').length);
    const nodes = this.#model.nodesBelow(nodeId, { rows, postponed: this.#postponed });
    return nodes.map((node) => ({ ...node, a_attr: { ...node.a_attr, ...this.#marksOf(node.id) } }));
  }

  /** The attributes that a row's link has while its conversation stands beside the open one. */
  #marksOf(nodeId) {
    return this.#besideId !== null && nodeId === conversationNodeId(this.#besideId) ? { 'aria-current': 'true' } : {};
  }

  async #reloadWorkspace(node, workspaceId) {
    const tree = this.#tree;
    tree.set_text(node, this.#model.textOf(workspaceId));
    if (!node.state.loaded) return;
    // One that had become empty could not stay open.
    const wasOpen = tree.is_open(node) || this.#model.workspace(workspaceId)?.expanded;
    // jsTree would open it again by itself, but later, so that it would be seen closed, and as if a person had done it.
    node.state.opened = false;
    await this.#load(node);
    if (wasOpen) await this.openWorkspace(workspaceId);
  }

  /**
   * jsTree names the first row when it is made, which is before there is any, and goes on naming a row that is gone: by
   * neither the tree could be entered.
   *
   * @param {string} [heirId] the row that becomes the current one, where it is there
   */
  #nameCurrentRow(heirId) {
    const current = this.#container.getAttribute('aria-activedescendant');
    // While rows are drawn anew, they are gone and come back.
    if (this.#reloads > 0 || (current && document.getElementById(current))) return;
    const next = document.getElementById(heirId) ?? this.#container.querySelector('.jstree-node');
    this.#container.setAttribute('aria-activedescendant', next?.id ?? '');
    if (!this.#container.contains(document.activeElement)) this.#container.tabIndex = 0;
  }

  #load(node) {
    return new Promise((resolve) => this.#tree.load_node(node.id, resolve));
  }

  #mayDrag({ kind, id }) {
    return kind === 'conversation' || (kind === 'workspace' && !this.#model.isDefault(id));
  }

  #mayMove(node, parent) {
    if (node.parent === parent.id || !['workspace', ROOT].includes(parent.type)) return false;
    const target = parent.id === ROOT ? null : subjectOf(parent).id;
    if (node.type === 'conversation') return target !== null;
    return node.type === 'workspace' && this.#model.mayMoveWorkspace(subjectOf(node).id, target);
  }

  #activate(node, event) {
    const { kind, id } = subjectOf(node);
    if (kind === 'conversation') {
      const selecting = event && (event.ctrlKey || event.metaKey || event.shiftKey);
      if (!selecting) this.#on.open(id, { isBeside: Boolean(event?.altKey) });
      return;
    }
    this.#markSelected();
    if (kind === 'workspace') this.#tree.toggle_node(node);
    else this.#showMore(id);
  }

  async #showMore(workspaceId) {
    const next = this.#model.showMore(workspaceId);
    await this.reload(workspaceId);
    document.getElementById(`${conversationNodeId(next)}_anchor`)?.focus({ preventScroll: true });
  }

  /** Select the open conversation, or what of `selected` is still there when more than it was selected. */
  #markSelected(selected = []) {
    const tree = this.#tree;
    const open = this.#selectedId === null ? [] : [conversationNodeId(this.#selectedId)];
    const kept = selected.filter((id) => tree.get_node(id));
    tree.deselect_all(true);
    for (const id of kept.length ? kept : open) if (tree.get_node(id)) tree.select_node(id, true, true);
    // Whole rows are marked when they hear of it: told of once, however many there are.
    tree.trigger('changed', { action: 'select_node', selected: tree.get_selected() });
  }

  /** Rows that are dragged together are told of one by one: they are passed on at once. */
  #tellMoved(subject, workspaceId) {
    this.#moved.push(subject);
    if (this.#moved.length > 1) return;
    queueMicrotask(() => {
      const subjects = this.#moved;
      this.#moved = [];
      this.#on.move(subjects, workspaceId);
    });
  }

  #tellSelected() {
    this.#on.select(this.#tree.get_selected(true).filter((node) => node.type === 'conversation').length);
  }

  #rememberExpanded(node, expanded) {
    const { id } = subjectOf(node);
    // With whole rows jsTree announces the state on the arrow instead of on the tree item.
    const row = document.getElementById(node.id);
    row?.querySelector(':scope > .jstree-ocl')?.removeAttribute('aria-expanded');
    row?.querySelector(':scope > .jstree-anchor')?.setAttribute('aria-expanded', String(expanded));
    this.#postponed.delete(id);
    this.#model.setExpanded(id, expanded);
    if (!this.#openedByPage.delete(id) && !this.#closingAll) this.#on.expand(id, expanded);
  }

  #openVisible(entries) {
    for (const { isIntersecting, target } of entries) if (isIntersecting) this.openWorkspace(target.dataset.workspaceId);
  }

  #watchPostponed() {
    this.#inView.disconnect();
    for (const workspaceId of this.#postponed) {
      const row = document.getElementById(workspaceNodeId(workspaceId));
      if (row) this.#inView.observe(row);
    }
  }
}
