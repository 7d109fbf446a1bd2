/**
 * The sidebar's data: workspaces that hold workspaces and conversations, and the jsTree nodes that show them.
 * No DOM here. Conversations are kept newest first, as the server lists them.
 */

import { inOwnWords } from '../core/words/workspace_name.js';
import { ROOT, conversationNode, moreNode, workspaceNode, workspaceNodeId, workspaceText } from './tree_nodes_model.js';

/** Conversations that a workspace shows before its "Show more" node. */
export const PAGE = 200;
/** Rows that the first rendering may hold; workspaces beyond it open when they come into view. */
export const FIRST_ROWS = 100;
/** What begins so far up is seen at once: it is opened however many rows that takes. */
const FIRST_SCREEN = 20;

/** What rows show of workspaces, and their places follow from. */
const SHOWN_OF_WORKSPACES = ['workspace_name', 'workspace_color', 'parent_workspace_id'];

const byName = new Intl.Collator(undefined, { numeric: true, sensitivity: 'base' });
/** When something was last said, as exactly as it is known. */
const timeOf = (conversation) => conversation.updated_at ?? conversation.last_updated ?? '';
const byTime = (a, b) => Number(timeOf(a) < timeOf(b)) - Number(timeOf(a) > timeOf(b));

/** What the tree shows, and the changes that happen to it. */
export class TreeModel {
  #workspaces = new Map();
  #childWorkspaces = new Map();
  #conversations = new Map();
  #listed = new Map();
  #limits = new Map();
  #defaultWorkspaceId;

  /**
   * @param {{workspaces: object[], conversations: object[], defaultWorkspaceId: string}} data lists as the server
   *   answers them
   */
  constructor({ workspaces, conversations, defaultWorkspaceId }) {
    this.#defaultWorkspaceId = defaultWorkspaceId;
    this.replace({ workspaces, conversations });
  }

  /**
   * Follow what changed in the store.
   *
   * @param {import('../core/store.js').Batch} batch
   * @param {import('../core/store.js').Store} store
   * @param {(conversation: object) => boolean} isListed whether the tree shows it
   * @returns {{reload: Set<string>, redraw: object[]}} the workspaces whose rows are others now (ROOT: all), and the
   *   conversations that only look different
   */
  follow(batch, store, isListed) {
    const reload = new Set();
    if (batch.lists) {
      this.replace({ workspaces: [...store.workspaces.values()], conversations: [...store.conversations.values()].filter(isListed) });
      return { reload: reload.add(ROOT), redraw: [] };
    }
    if (this.#followWorkspaces(batch.workspaces, store)) reload.add(ROOT);
    const redraw = [];
    for (const conversationId of batch.conversations.keys()) {
      const conversation = store.conversation(conversationId);
      const places = this.#followConversation(conversationId, conversation && isListed(conversation) ? conversation : null);
      for (const workspaceId of places) reload.add(workspaceId);
      if (conversation && places.length === 0) redraw.push(conversation);
    }
    return { reload, redraw };
  }

  /** Whether the tree of workspaces is another one. That others opened or closed one is their own matter. */
  #followWorkspaces(changed, store) {
    let isOther = false;
    for (const workspaceId of changed.keys()) {
      const [known, stored] = [this.#workspaces.get(workspaceId), store.workspaces.get(workspaceId)];
      const workspace = stored && inOwnWords(stored);
      if (workspace) this.#workspaces.set(workspaceId, { ...workspace, expanded: known?.expanded ?? workspace.expanded });
      else this.#workspaces.delete(workspaceId);
      isOther ||= !known || !workspace || SHOWN_OF_WORKSPACES.some((name) => known[name] !== workspace[name]);
    }
    if (!isOther) return false;
    const conversations = [...this.#listed.values()].flat().sort(byTime);
    this.replace({ workspaces: [...this.#workspaces.values()], conversations });
    return true;
  }

  /** Show a conversation where it belongs now, null: nowhere. The workspaces that show other rows than before. */
  #followConversation(conversationId, conversation) {
    const known = this.#conversations.get(conversationId);
    const home = this.workspaceOf(conversationId);
    if (!conversation) {
      this.removeConversation(conversationId);
      return known ? [home] : [];
    }
    const stays = known && known.workspace_id === conversation.workspace_id;
    if (stays && timeOf(known) === timeOf(conversation)) {
      this.#replaceInPlace(home, conversation);
      return [];
    }
    const wasFirst = known && this.isNewest(conversationId);
    this.removeConversation(conversationId);
    this.#insert(conversation);
    const place = this.workspaceOf(conversationId);
    if (stays && wasFirst && this.isNewest(conversationId)) return [];
    return known && home !== place ? [home, place] : [place];
  }

  #replaceInPlace(workspaceId, conversation) {
    const list = this.#list(workspaceId);
    const { conversation_id: id } = conversation;
    list[list.findIndex((each) => each.conversation_id === id)] = conversation;
    this.#conversations.set(id, conversation);
  }

  /** Among conversations of the same second it is the newest. */
  #insert(conversation) {
    this.#conversations.set(conversation.conversation_id, conversation);
    const list = this.#list(this.#homeOf(conversation));
    const later = list.findIndex((each) => timeOf(each) <= timeOf(conversation));
    list.splice(later < 0 ? list.length : later, 0, conversation);
  }

  /** Take fresh lists; which workspaces are open here, and how far each was unrolled, stays. */
  replace({ workspaces, conversations }) {
    const known = this.#workspaces;
    const fresh = workspaces.map((workspace) => {
      const { expanded } = known.get(workspace.workspace_id) ?? workspace;
      return [workspace.workspace_id, { ...inOwnWords(workspace), expanded }];
    });
    this.#workspaces = new Map(fresh);
    this.#arrangeWorkspaces();
    this.#conversations = new Map();
    this.#listed = new Map();
    for (const conversation of conversations) {
      this.#conversations.set(conversation.conversation_id, conversation);
      const list = this.#listed.get(conversation.workspace_id);
      if (list) list.push(conversation);
      else this.#list(this.#homeOf(conversation)).push(conversation);
    }
  }

  get defaultWorkspaceId() {
    return this.#defaultWorkspaceId;
  }

  get conversationCount() {
    return this.#conversations.size;
  }

  conversation(conversationId) {
    return this.#conversations.get(conversationId);
  }

  workspace(workspaceId) {
    return this.#workspaces.get(workspaceId);
  }

  /** What a workspace holds, newest first; undefined: the one where conversations are that belong to none. */
  inside(workspaceId) {
    return this.#list(this.#homeOf({ workspace_id: workspaceId }));
  }

  isDefault(workspaceId) {
    return workspaceId === this.#defaultWorkspaceId;
  }

  /** The workspace that shows a conversation; undefined when the tree does not hold it. */
  workspaceOf(conversationId) {
    const conversation = this.#conversations.get(conversationId);
    return conversation ? this.#homeOf(conversation) : undefined;
  }

  /** Ids from the outermost workspace down to `workspaceId`. */
  path(workspaceId) {
    const ids = [];
    for (let id = workspaceId; id && this.#workspaces.has(id); id = this.#parentOf(id)) ids.unshift(id);
    return ids;
  }

  /** Every workspace with its depth, in the order of the tree. */
  outline() {
    const rows = [];
    const visit = (parentId, depth) => {
      for (const workspace of this.#childWorkspaces.get(parentId) ?? []) {
        rows.push({ workspace, depth });
        visit(workspace.workspace_id, depth + 1);
      }
    };
    visit(ROOT, 0);
    return rows;
  }

  /** Whether `workspaceId` may go below `parentId`: never into itself or its own descendants, nor the default one. */
  mayMoveWorkspace(workspaceId, parentId) {
    if (this.isDefault(workspaceId)) return false;
    if (parentId === null) return true;
    return this.#workspaces.has(parentId) && !this.path(parentId).includes(workspaceId);
  }

  /** Workspaces whose name holds every word of `query`, at most `limit`. */
  findWorkspaces(query, limit = 5) {
    const words = query.toLocaleLowerCase().split(/\s+/).filter(Boolean);
    if (!words.length) return [];
    const holds = ({ workspace_name: name }) => words.every((word) => name.toLocaleLowerCase().includes(word));
    return [...this.#workspaces.values()].filter(holds).slice(0, limit);
  }

  /** What a workspace is called in the tree. */
  textOf(workspaceId) {
    return workspaceText(this.#workspaces.get(workspaceId)?.workspace_name ?? '', this.#list(workspaceId).length);
  }

  /**
   * The jsTree nodes below a node, as the flat list that `parent` makes a tree of: of each workspace its workspaces,
   * then its newest conversations, then "Show more".
   *
   * An expanded workspace brings along what is below it as long as `rows` last, or where it begins on the first screen; one
   * that does not fit stays closed and is named in `postponed`.
   *
   * @param {string} nodeId '#' or the node id of a workspace
   * @param {{rows?: number, postponed?: Set<string>}} [options]
   * @returns {object[]}
   */
  nodesBelow(nodeId, { rows = FIRST_ROWS, postponed = new Set() } = {}) {
    const collected = { nodes: [], rows, postponed };
    this.#collect(nodeId === ROOT ? ROOT : nodeId.slice('ws_'.length), collected);
    return collected.nodes;
  }

  /** Unroll a workspace by one more page. The id of the first conversation that this adds. */
  showMore(workspaceId) {
    const limit = this.#limitOf(workspaceId);
    this.#limits.set(workspaceId, limit + PAGE);
    return this.#list(workspaceId)[limit]?.conversation_id;
  }

  /** Unroll the workspace of a conversation far enough to show it. True when that changed what is shown. */
  reveal(conversationId) {
    const workspaceId = this.workspaceOf(conversationId);
    if (workspaceId === undefined) return false;
    const position = this.#list(workspaceId).findIndex((each) => each.conversation_id === conversationId);
    if (position < this.#limitOf(workspaceId)) return false;
    this.#limits.set(workspaceId, Math.ceil((position + 1) / PAGE) * PAGE);
    return true;
  }

  setExpanded(workspaceId, expanded) {
    const workspace = this.#workspaces.get(workspaceId);
    if (workspace) workspace.expanded = expanded;
  }

  /** Every workspace is closed from now on. The ids of those that were open. */
  collapse() {
    const open = [...this.#workspaces.values()].filter((workspace) => workspace.expanded);
    for (const workspace of open) workspace.expanded = false;
    return open.map((workspace) => workspace.workspace_id);
  }

  /** Add a conversation, or change one that is there; it is the newest of its workspace afterwards. */
  putConversation(conversation) {
    const known = this.#conversations.get(conversation.conversation_id);
    if (known) this.removeConversation(known.conversation_id);
    const current = { ...known, ...conversation };
    this.#conversations.set(current.conversation_id, current);
    this.#list(this.#homeOf(current)).unshift(current);
    return current;
  }

  /** Change a conversation where it stands. Undefined when the tree does not hold it. */
  changeConversation(conversationId, changes) {
    const conversation = this.#conversations.get(conversationId);
    return conversation && Object.assign(conversation, changes);
  }

  /** The pinned conversations, newest first. */
  pinned() {
    const pinned = [];
    for (const each of this.#conversations.values()) if (each.pinned) pinned.push(each);
    return pinned.sort(byTime);
  }

  /** The newest conversations of all workspaces, at most `limit`; the pinned ones, shown above them, are left out. */
  recent(limit) {
    const newest = [];
    for (const list of this.#listed.values()) {
      let taken = 0;
      for (let position = 0; position < list.length && taken < limit; position += 1) {
        if (list[position].pinned) continue;
        newest.push(list[position]);
        taken += 1;
      }
    }
    return newest.sort(byTime).slice(0, limit);
  }

  /** Whether the conversation is the first of its workspace already. */
  isNewest(conversationId) {
    return this.#list(this.workspaceOf(conversationId))[0]?.conversation_id === conversationId;
  }

  removeConversation(conversationId) {
    const workspaceId = this.workspaceOf(conversationId);
    if (workspaceId === undefined) return;
    const list = this.#list(workspaceId);
    list.splice(list.findIndex((each) => each.conversation_id === conversationId), 1);
    this.#conversations.delete(conversationId);
  }

  moveConversation(conversationId, workspaceId) {
    const conversation = this.#conversations.get(conversationId);
    if (!conversation) return;
    this.removeConversation(conversationId);
    conversation.workspace_id = workspaceId;
    this.#conversations.set(conversationId, conversation);
    const list = this.#list(this.#homeOf(conversation));
    const later = list.findIndex((each) => timeOf(each) < timeOf(conversation));
    list.splice(later < 0 ? list.length : later, 0, conversation);
  }

  #homeOf({ workspace_id: workspaceId }) {
    if (this.#workspaces.has(workspaceId)) return workspaceId;
    return this.#workspaces.has(this.#defaultWorkspaceId) ? this.#defaultWorkspaceId : ROOT;
  }

  #list(workspaceId) {
    if (!this.#listed.has(workspaceId)) this.#listed.set(workspaceId, []);
    return this.#listed.get(workspaceId);
  }

  #limitOf(workspaceId) {
    return this.#limits.get(workspaceId) ?? PAGE;
  }

  #parentOf(workspaceId) {
    const parent = this.#workspaces.get(workspaceId)?.parent_workspace_id;
    return parent && this.#workspaces.has(parent) ? parent : null;
  }

  #arrangeWorkspaces() {
    this.#breakCircles();
    this.#childWorkspaces = new Map();
    for (const workspace of this.#workspaces.values()) {
      const parent = this.#parentOf(workspace.workspace_id) ?? ROOT;
      if (!this.#childWorkspaces.has(parent)) this.#childWorkspaces.set(parent, []);
      this.#childWorkspaces.get(parent).push(workspace);
    }
    const order = (a, b) =>
      Number(this.isDefault(b.workspace_id)) - Number(this.isDefault(a.workspace_id)) ||
      byName.compare(a.workspace_name, b.workspace_name);
    for (const list of this.#childWorkspaces.values()) list.sort(order);
  }

  // Damaged data must not hide conversations: a circle of parents is opened at the workspace where it was noticed.
  #breakCircles() {
    const safe = new Set();
    for (const start of this.#workspaces.keys()) {
      const seen = new Set();
      for (let id = start; id && !safe.has(id); id = this.#parentOf(id)) {
        if (seen.has(id)) this.#workspaces.get(id).parent_workspace_id = null;
        seen.add(id);
      }
      for (const id of seen) safe.add(id);
    }
  }

  #collect(workspaceId, collected) {
    const list = this.#list(workspaceId);
    const shown = list.slice(0, this.#limitOf(workspaceId));
    const children = this.#childWorkspaces.get(workspaceId) ?? [];
    const parent = workspaceId === ROOT ? ROOT : workspaceNodeId(workspaceId);
    collected.rows -= children.length + shown.length;
    for (const workspace of children) this.#collectWorkspace(workspace, parent, collected);
    for (const conversation of shown) collected.nodes.push(conversationNode(conversation, parent));
    const remaining = list.length - shown.length;
    if (remaining > 0) collected.nodes.push(moreNode(workspaceId, { parent, remaining }));
  }

  #collectWorkspace(workspace, parent, collected) {
    const id = workspace.workspace_id;
    const rows = this.#rowsOf(id);
    const wanted = Boolean(workspace.expanded) && rows > 0;
    const opened = wanted && (rows <= collected.rows || collected.nodes.length < FIRST_SCREEN);
    if (wanted && !opened) collected.postponed.add(id);
    const lazy = rows > 0 && !opened;
    collected.nodes.push(workspaceNode(workspace, { parent, text: this.textOf(id), opened, lazy }));
    if (opened) this.#collect(id, collected);
  }

  #rowsOf(workspaceId) {
    const conversations = Math.min(this.#list(workspaceId).length, this.#limitOf(workspaceId));
    return conversations + (this.#childWorkspaces.get(workspaceId)?.length ?? 0);
  }
}
