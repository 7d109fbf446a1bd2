/** The sidebar: fetches workspaces and conversations, shows them as a tree, and keeps it true to what happens. */

import { shellStrings } from '../lib/shell_strings.js';
import { TreeModel } from '../models/tree.js';
import { ROOT, workspaceNodeId } from '../models/tree_nodes.js';
import { mountDrawer } from './sidebar_drawer.js';
import { mountFilter } from './sidebar_filter.js';
import { SidebarTree } from './sidebar_tree.js';
import { mountThemeChoice } from './theme_choice.js';
import { showToast } from './toast.js';

/** A page that was out of sight for so long may have missed what other windows did. */
const STALE_MS = 60_000;

class Sidebar {
  #api;
  #events;
  #bootstrap;
  #container = document.getElementById('workspaces-container');
  #status = document.getElementById('sidebar-status');
  #model;
  #tree = null;
  #wanted = null;
  #commands = null;
  #drawer;

  constructor({ api, events, bootstrap }) {
    this.#api = api;
    this.#events = events;
    this.#bootstrap = bootstrap;
    this.#model = new TreeModel({
      workspaces: [],
      conversations: [],
      defaultWorkspaceId: `default_${bootstrap.user_email}_${bootstrap.domain}`,
    });
    this.#drawer = mountDrawer();
    mountThemeChoice(document.getElementById('user-menu'));
    this.#mountControls();
    this.#follow(events);
    this.#refreshWhenSeenAgain();
  }

  async refresh() {
    try {
      const { domain } = this.#bootstrap;
      const [workspaces, conversations] = await Promise.all([
        this.#api.listWorkspaces(domain),
        this.#api.listConversations(domain),
      ]);
      this.#model.replace({ workspaces, conversations });
      await this.#draw();
      this.#tellState();
    } catch (error) {
      this.#tellFailure(error);
    }
  }

  async select(conversationId) {
    this.#wanted = conversationId ?? null;
    if (!this.#tree) return;
    if (this.#wanted !== null && !this.#model.conversation(this.#wanted)) await this.#fetch(this.#wanted);
    await this.#tree.select(this.#wanted);
  }

  conversation(conversationId) {
    return this.#model.conversation(conversationId);
  }

  async updateConversation(conversationId, changes) {
    if (!this.#model.conversation(conversationId)) {
      await this.#fetch(conversationId);
      return;
    }
    const { title, conversation_friendly_id: friendlyId, last_updated: lastUpdated } = changes;
    const told = Object.entries({ title, conversation_friendly_id: friendlyId, last_updated: lastUpdated });
    const conversation = this.#model.changeConversation(
      conversationId,
      Object.fromEntries(told.filter(([, value]) => value !== undefined)),
    );
    this.#tree?.redrawConversation(conversation);
    if (lastUpdated !== undefined && !this.#model.isNewest(conversationId)) await this.#add(conversation);
  }

  #shownBy() {
    return {
      begin: (workspaceId) => this.#begin(workspaceId),
      add: (conversation) => this.#add(conversation),
      refresh: () => this.refresh(),
      reload: async (workspaceId) => {
        await this.#tree?.reload(workspaceId);
        this.#tellState();
      },
      redraw: (conversation) => conversation && this.#tree?.redrawConversation(conversation),
    };
  }

  async #add(conversation) {
    this.#model.putConversation(conversation);
    this.#tellState();
    await this.#tree?.reload(this.#model.workspaceOf(conversation.conversation_id));
  }

  async #fetch(conversationId) {
    try {
      const conversation = await this.#api.getConversationDetails(conversationId);
      if (conversation.domain === this.#bootstrap.domain) await this.#add(conversation);
    } catch {
      // What cannot be fetched is not shown; whoever opens it gets to see why.
    }
  }

  async #draw() {
    if (this.#tree) {
      await this.#tree.reload(ROOT);
      return;
    }
    this.#tree = new SidebarTree(this.#container, {
      model: this.#model,
      menuOf: (subject, show) => this.#command((commands) => show(commands.menuOf(subject))),
      on: {
        open: (conversationId) => this.#open(conversationId),
        expand: (workspaceId, expanded) => this.#saveExpanded(workspaceId, expanded),
        move: ({ kind, id }, workspaceId) =>
          this.#command((commands) =>
            kind === 'workspace' ? commands.moveWorkspace(id, workspaceId) : commands.moveConversations([id], workspaceId),
          ),
      },
    });
    await this.#tree.ready;
    if (this.#wanted !== null) await this.select(this.#wanted);
  }

  #open(conversationId) {
    this.#drawer.closeOver();
    this.#events.emit('conversation:open', { conversationId });
  }

  /** Begins a conversation. The page turns to it at once, so that what is typed meanwhile is written in it. */
  #begin(workspaceId) {
    this.#drawer.closeOver();
    this.#events.emit('conversation:begun', { made: this.#make(workspaceId) });
  }

  /** @returns {Promise<string|null>} the id of the new conversation; null where there is none, which has been said */
  async #make(workspaceId) {
    try {
      const conversation = await this.#api.createConversation(this.#bootstrap.domain, workspaceId);
      await this.#add(conversation);
      return conversation.conversation_id;
    } catch (error) {
      showToast(shellStrings.sidebar.actionFailed(error.message), { kind: 'error' });
      return null;
    }
  }

  async #collapse() {
    const closed = this.#model.collapse();
    this.#tree?.closeAll();
    if (closed.length) await this.#unlessLost(() => this.#api.collapseWorkspaces(closed));
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

  /** What can be done to rows, loaded once; a failed load is tried again the next time. */
  #loadCommands() {
    this.#commands ??= this.#importCommands().catch((error) => {
      this.#commands = null;
      throw error;
    });
    return this.#commands;
  }

  async #importCommands() {
    const { createCommands } = await import('./sidebar_commands.js');
    return createCommands({
      api: this.#api,
      events: this.#events,
      domain: this.#bootstrap.domain,
      model: this.#model,
      sidebar: this.#shownBy(),
      chosenWith: (conversationId) => this.#tree.chosenWith(conversationId),
    });
  }

  async #command(job) {
    try {
      await job(await this.#loadCommands());
    } catch (error) {
      showToast(shellStrings.sidebar.actionFailed(error.message), { kind: 'error' });
    }
  }

  #mountControls() {
    const sidebar = document.getElementById('sidebar');
    sidebar.addEventListener('pointerenter', () => this.#loadCommands().catch(() => {}), { once: true });
    document.getElementById('new-conversation').addEventListener('click', () => this.#begin(this.#model.workspaceOf(this.#wanted)));
    document.getElementById('new-workspace').addEventListener('click', () => this.#command((commands) => commands.newWorkspace()));
    document.getElementById('collapse-workspaces').addEventListener('click', () => this.#collapse());
    mountFilter({
      api: this.#api,
      domain: this.#bootstrap.domain,
      model: () => this.#model,
      onConversation: (conversationId) => this.#open(conversationId),
      onWorkspace: (workspaceId) => this.#showWorkspace(workspaceId),
      onMenu: (conversationId, event) => this.#menuOnMatch(conversationId, event),
    });
  }

  async #showWorkspace(workspaceId) {
    for (const id of this.#model.path(workspaceId)) await this.#tree?.openWorkspace(id);
    const anchor = document.getElementById(`${workspaceNodeId(workspaceId)}_anchor`);
    anchor?.scrollIntoView({ block: 'start' });
    anchor?.focus({ preventScroll: true });
  }

  #menuOnMatch(conversationId, { pageX: x, pageY: y, currentTarget }) {
    if (!this.#model.conversation(conversationId)) return;
    const { jQuery } = globalThis;
    const subject = { kind: 'conversation', id: conversationId };
    this.#command((commands) => jQuery.vakata.context.show(jQuery(currentTarget), { x, y }, commands.menuOf(subject)));
  }

  #follow(events) {
    events.on('conversation:created', ({ conversationId }) => {
      if (conversationId && !this.#model.conversation(conversationId)) this.#fetch(conversationId);
    });
    events.on('conversation:updated', ({ conversationId, ...changes }) => this.updateConversation(conversationId, changes));
    events.on('conversation:deleted', ({ conversationId }) => {
      const workspaceId = this.#model.workspaceOf(conversationId);
      if (workspaceId === undefined) return;
      this.#model.removeConversation(conversationId);
      this.#tree?.reload(workspaceId);
    });
  }

  #refreshWhenSeenAgain() {
    let hiddenAt = 0;
    document.addEventListener('visibilitychange', () => {
      if (document.hidden) hiddenAt = Date.now();
      else if (this.#tree && Date.now() - hiddenAt > STALE_MS) this.refresh();
    });
  }

  #tellState() {
    this.#status.hidden = this.#model.conversationCount > 0;
    this.#status.textContent = shellStrings.sidebar.empty;
  }

  #tellFailure(error) {
    if (this.#tree) {
      showToast(shellStrings.sidebar.failed(error.message), { kind: 'error' });
      return;
    }
    const again = document.createElement('button');
    again.type = 'button';
    again.className = 'btn btn-quiet';
    again.textContent = shellStrings.sidebar.again;
    again.addEventListener('click', () => this.refresh());
    this.#status.hidden = false;
    this.#status.replaceChildren(shellStrings.sidebar.failed(error.message), again);
  }
}

/**
 * Show the sidebar and fill it.
 *
 * @param {{api: object, events: object, bootstrap: {user_email: string, domain: string}}} page
 * @returns {{select: (conversationId: string|null) => Promise<void>, refresh: () => Promise<void>,
 *            updateConversation: (conversationId: string, changes: object) => Promise<void>,
 *            conversation: (conversationId: string) => object|undefined}}
 */
export function mountSidebar(page) {
  const sidebar = new Sidebar(page);
  sidebar.refresh();
  return {
    select: (conversationId) => sidebar.select(conversationId),
    refresh: () => sidebar.refresh(),
    updateConversation: (conversationId, changes) => sidebar.updateConversation(conversationId, changes),
    conversation: (conversationId) => sidebar.conversation(conversationId),
  };
}
