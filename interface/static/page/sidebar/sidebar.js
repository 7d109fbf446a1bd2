/** The sidebar: shows the workspaces and conversations of the store as a tree, and follows what changes in it. */

import { runningTurns, wholeOf } from '../core/brief.js';
import { shellStrings } from '../strings/en/shell.js';
import { TreeModel } from './tree_model.js';
import { ROOT, workspaceNodeId } from './tree_nodes_model.js';
import { whenReleased } from '../ui/dom.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { createBeginning } from './begin_conversation.js';
import { mountControls } from './controls.js';
import { mountDrawer } from './drawer.js';
import { SidebarTree } from './tree.js';

/** How many workspaces the server closes in one go. */
const CLOSED_AT_ONCE = 1000;

/** What the archive shows of a conversation, and where. */
const SHOWN_ON_SHELF = ['archived', 'title', 'flag', 'stateless', 'tags', 'updated_at', 'answering', 'unread'];
const looksOther = (before, now) => SHOWN_ON_SHELF.some((name) => (before[name] || false) !== (now?.[name] || false));

/** Archived and temporary conversations are known when somebody opened them; no list of the tree has them. */
const isUnlisted = ({ archived, temporary }) => Boolean(archived || temporary);

class Sidebar {
  #api;
  #store;
  #events;
  #announce;
  #bootstrap;
  #container = document.getElementById('workspaces-container');
  #status = document.getElementById('sidebar-status');
  #model;
  /** The tree before the first lists: made while the server is asked, and empty. */
  #empty = null;
  #tree = null;
  #isLoaded = false;
  /** Ends the waiting for a moment to ask again; null where the first lists did not fail. @type {AbortController|null} */
  #waiting = null;
  /** What is to be drawn anew, by the drawing that comes next; and the end of the last one. */
  #next = null;
  #drawn = Promise.resolve();
  #drawer;
  #beginning;
  #controls;

  constructor({ api, store, events, bootstrap, kept, announce }) {
    this.#announce = announce;
    this.#api = api;
    this.#store = store;
    this.#events = events;
    this.#bootstrap = bootstrap;
    this.#model = new TreeModel({
      workspaces: [],
      conversations: [],
      defaultWorkspaceId: `default_${bootstrap.user_email}_${bootstrap.domain}`,
    });
    this.#drawer = mountDrawer(events);
    this.#beginning = createBeginning({
      api,
      events,
      domain: bootstrap.domain,
      isShown: (conversationId) => store.isShown(conversationId),
      onBegin: () => this.#drawer.closeOver(),
      onMade: (conversation) => store.putConversation(conversation),
      known: { kept, inside: (workspaceId) => this.#model.inside(workspaceId) },
    });
    this.#controls = mountControls({ api, store, events, domain: bootstrap.domain, model: this.#model, sidebar: this.#shownBy() });
    events.on('conversation:step', ({ by }) => this.#step(by));
    store.subscribe((batch) => this.#follow(batch));
    store.select(({ openId }) => openId, () => this.#select());
    store.select(({ besideId }) => besideId, () => this.#markBeside());
  }

  /** Asks for the lists, at first and when changes were missed. */
  async refresh() {
    const { domain } = this.#bootstrap;
    try {
      await this.#store.loadLists(async () => {
        const asked = Promise.all([this.#api.listWorkspaces(domain), this.#api.listBriefly(domain)]);
        this.#empty ??= this.#createTree();
        const [workspaces, conversations] = await asked;
        this.#isLoaded = true;
        this.#waiting?.abort();
        return { workspaces, conversations: conversations.map((each) => wholeOf(each, domain)), turns: runningTurns(conversations) };
      }, isUnlisted);
      await this.#drawn;
    } catch (error) {
      this.#tellFailure(error);
    }
  }

  /** @returns {Promise<object>} the items of a conversation's menu, by name */
  conversationMenu(conversationId) {
    return this.#controls.conversationMenu(conversationId);
  }

  async #select() {
    const conversationId = this.#store.openId;
    this.#beginning.shown(conversationId);
    if (!this.#tree) return;
    this.#controls.drawSections();
    await this.#tree.select(conversationId);
  }

  #markBeside() {
    if (!this.#tree) return;
    this.#controls.drawSections();
    this.#tree.markBeside(this.#store.besideId);
  }

  #follow(batch) {
    if (!this.#isLoaded || (!batch.lists && !batch.conversations.size && !batch.workspaces.size)) return;
    const isListed = (conversation) => conversation.domain === this.#bootstrap.domain && !isUnlisted(conversation);
    const isHere = ([id]) => (this.#store.workspaces.get(id)?.domain ?? this.#bootstrap.domain) === this.#bootstrap.domain;
    const { reload, redraw } = this.#model.follow({ ...batch, workspaces: new Map([...batch.workspaces].filter(isHere)) }, this.#store, isListed);
    // Before the tree, so that it does not move when they appear above it.
    this.#tellState();
    if (batch.lists || batch.workspaces.size) this.#controls.workspacesChanged();
    this.#showShelves(batch);
    // One that was not known before is as it was found.
    const known = [...batch.conversations].filter(([, before]) => before);
    this.#controls.matchesChanged(new Map(known.map(([id]) => [id, this.#store.conversation(id)])));
    const { openId } = this.#store;
    const isNew = batch.conversations.has(openId) && batch.conversations.get(openId) === undefined;
    this.#draw(reload, redraw, { isOpenNew: isNew });
  }

  /** The archive and the bin, where something went into them or came out of them. */
  #showShelves({ conversations }) {
    const changes = [...conversations].map(([id, before]) => [before, this.#store.conversation(id)]);
    const isArchived = (conversation) => Boolean(conversation?.archived);
    // One that was not known before was brought by the archive's own list, and so may be more of one that was.
    if (changes.some(([before, now]) => before && looksOther(before, now) && (isArchived(before) || isArchived(now)))) this.#controls.shelvesChanged('archived');
    if (changes.some(([before, now]) => !now || (!before && !isUnlisted(now)))) this.#controls.shelvesChanged('bin');
  }

  /** Draws rows anew. What changes while that goes on is drawn together, in one go. */
  #draw(reload, redraw, { isOpenNew = false } = {}) {
    if (!this.#next) {
      this.#next = { reload: new Set(), redraw: new Map(), isOpenNew: false };
      this.#drawn = this.#drawn.then(() => this.#drawNext());
    }
    for (const workspaceId of reload) this.#next.reload.add(workspaceId);
    for (const conversation of redraw) this.#next.redraw.set(conversation.conversation_id, conversation);
    this.#next.isOpenNew ||= isOpenNew;
    return this.#drawn;
  }

  async #drawNext() {
    // A row that is replaced while it is pressed is never clicked.
    if (this.#container.matches(':active')) await whenReleased();
    const { reload, redraw, isOpenNew } = this.#next;
    this.#next = null;
    if (!this.#tree) {
      await this.#showTree();
      return;
    }
    for (const conversation of redraw.values()) this.#tree.redrawConversation(conversation);
    // The tree knows a row by its id: it has to leave its old place before it can appear in the new one.
    for (const workspaceId of reload.has(ROOT) ? [ROOT] : reload) await this.#tree.reload(workspaceId);
    if (isOpenNew) await this.#tree.select(this.#store.openId);
  }

  /** What the sidebar's other parts may ask of it. */
  #shownBy() {
    return {
      open: (conversationId, how) => this.#open(conversationId, how),
      showWorkspace: (workspaceId) => this.#showWorkspace(workspaceId),
      collapse: () => this.#collapse(),
      chosenWith: (conversationId) => this.#tree?.chosenWith(conversationId) ?? [conversationId],
      begin: (workspaceId) => this.#beginning.begin(workspaceId),
      beginTemporary: () => this.#beginning.beginTemporary(),
      refresh: () => this.refresh(),
      fetch: (conversationId) => this.#fetch(conversationId),
      drawn: () => this.#drawn,
      reload: (...workspaceIds) => this.#draw(new Set(workspaceIds), []),
    };
  }

  async #fetch(conversationId) {
    await this.#store.loadConversation(() => this.#api.getConversationDetails(conversationId));
    await this.#drawn;
  }

  async #showTree() {
    await this.#empty.ready;
    this.#tree = this.#empty;
    await this.#tree.reload(ROOT);
    this.#markBeside();
    if (this.#store.openId !== null) await this.#select();
  }

  #createTree() {
    return new SidebarTree(this.#container, {
      model: this.#model,
      menuOf: (subject, show) => this.#controls.command((commands) => show(commands.menuOf(subject))),
      on: {
        open: (conversationId, how) => this.#open(conversationId, how),
        expand: (workspaceId, expanded) => this.#saveExpanded(workspaceId, expanded),
        move: (subjects, workspaceId) => this.#controls.command((commands) => commands.moveSubjects(subjects, workspaceId)),
        rename: (subject) => this.#controls.command((commands) => commands.renameSubject(subject)),
        remove: (subject) => this.#controls.command((commands) => commands.removeSubject(subject)),
        select: (count) => {
          this.#announce(count > 1 ? shellStrings.sidebar.selected(count) : '');
        },
      },
    });
  }

  /** @param {{isBeside?: boolean}} [how] `isBeside`: beside the conversation that is open */
  #open(conversationId, { isBeside = false } = {}) {
    this.#drawer.closeOver();
    this.#events.emit(isBeside ? 'conversation:beside' : 'conversation:open', { conversationId });
  }

  /** Opens the conversation that is listed `by` rows below the open one; without one, the first or the last. */
  #step(by) {
    const ids = [...this.#container.querySelectorAll('a[data-conversation-id]')].map((row) => row.dataset.conversationId)
      .filter((id) => id !== this.#store.besideId);
    const place = ids.indexOf(this.#store.openId);
    const from = place === -1 && by < 0 ? ids.length : place;
    if (ids[from + by]) this.#events.emit('conversation:open', { conversationId: ids[from + by] });
  }

  async #collapse() {
    const closed = this.#model.collapse();
    this.#tree?.closeAll();
    for (let from = 0; from < closed.length; from += CLOSED_AT_ONCE) {
      await this.#unlessLost(() => this.#api.collapseWorkspaces(closed.slice(from, from + CLOSED_AT_ONCE)));
    }
  }

  #saveExpanded(workspaceId, expanded) {
    return this.#unlessLost(() => this.#api.updateWorkspace(workspaceId, { expanded }));
  }

  /** Tell the server what is open. That the next visit may find it otherwise is not worth a message. */
  async #unlessLost(job) {
    try {
      await job();
    } catch {
      // The tree shows what the person wanted, and that is what counts.
    }
  }

  async #showWorkspace(workspaceId) {
    for (const id of this.#model.path(workspaceId)) await this.#tree?.openWorkspace(id);
    const anchor = document.getElementById(`${workspaceNodeId(workspaceId)}_anchor`);
    anchor?.scrollIntoView({ block: 'start' });
    anchor?.focus({ preventScroll: true });
  }

  #tellState() {
    this.#status.hidden = this.#model.conversationCount > 0;
    this.#status.textContent = shellStrings.sidebar.empty;
    this.#controls.drawSections();
  }

  #tellFailure(error) {
    if (this.#tree) {
      tellFailure(error, { failed: shellStrings.sidebar.failed, again: () => this.refresh() });
      return;
    }
    const again = document.createElement('button');
    again.type = 'button';
    again.className = 'btn btn-quiet';
    again.textContent = shellStrings.sidebar.again;
    again.addEventListener('click', () => this.refresh());
    this.#status.hidden = false;
    this.#status.replaceChildren(shellStrings.sidebar.failed(error.message), again);
    this.#askOnReturn();
  }

  /** Asks again whenever the network is back, or the server is heard, or the person is back, until the lists have come. */
  #askOnReturn() {
    if (this.#waiting) return;
    this.#waiting = new AbortController();
    const { signal } = this.#waiting;
    addEventListener('online', () => this.refresh(), { signal });
    signal.addEventListener('abort', this.#events.on('changes:alive', () => this.refresh()));
    document.addEventListener('visibilitychange', () => document.hidden || this.refresh(), { signal });
  }
}

/**
 * Show the sidebar and fill it.
 *
 * @param {{api: object, store: import('../core/store.js').Store, events: object, bootstrap: {user_email: string, domain: string},
 *   kept: object, announce: (text: string) => void}} page
 * @returns {{refresh: () => Promise<void>, conversationMenu: (conversationId: string) => Promise<object>}} `refresh` asks for the lists, at first or again
 */
export function mountSidebar(page) {
  const sidebar = new Sidebar(page);
  return { refresh: () => sidebar.refresh(), conversationMenu: (conversationId) => sidebar.conversationMenu(conversationId) };
}
