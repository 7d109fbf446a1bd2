/** The sidebar: fetches workspaces and conversations, shows them as a tree, and keeps it true to what happens. */

import { shellStrings } from '../strings/en/shell.js';
import { TreeModel } from './tree_model.js';
import { ROOT, workspaceNodeId } from './tree_nodes_model.js';
import { tellFailure } from '../ui/attempts.js';
import { createBeginning } from './begin_conversation.js';
import { mountControls } from './controls.js';
import { mountDrawer } from './drawer.js';
import { SidebarTree } from './tree.js';

/** A page that was out of sight for so long may have missed what other windows did. */
const STALE_MS = 60_000;
/** How many workspaces the server closes in one go. */
const CLOSED_AT_ONCE = 1000;
/** What others tell of a conversation, and the tree has to know. */
const TOLD = ['title', 'conversation_friendly_id', 'last_updated', 'flag', 'pinned', 'stateless', 'tags'];

class Sidebar {
  #api;
  #events;
  #bootstrap;
  #container = document.getElementById('workspaces-container');
  #status = document.getElementById('sidebar-status');
  #model;
  // Conversations that are known, but have no row in the tree: archived and temporary ones, by id.
  #aside = new Map();
  #tree = null;
  #wanted = null;
  #drawer;
  #beginning;
  #controls;

  constructor({ api, events, bootstrap, kept }) {
    this.#api = api;
    this.#events = events;
    this.#bootstrap = bootstrap;
    this.#model = new TreeModel({
      workspaces: [],
      conversations: [],
      defaultWorkspaceId: `default_${bootstrap.user_email}_${bootstrap.domain}`,
    });
    this.#drawer = mountDrawer();
    this.#beginning = createBeginning({
      api,
      events,
      domain: bootstrap.domain,
      onBegin: () => this.#drawer.closeOver(),
      onMade: (conversation) => this.#take(conversation),
      known: { kept, inside: (workspaceId) => this.#model.inside(workspaceId) },
    });
    this.#controls = mountControls({ api, events, domain: bootstrap.domain, model: this.#model, sidebar: this.#shownBy() });
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
      // Before the tree, so that it does not move when they appear above it.
      this.#tellState();
      await this.#draw();
    } catch (error) {
      this.#tellFailure(error);
    }
  }

  async select(conversationId) {
    this.#wanted = conversationId ?? null;
    this.#beginning.shown(this.#wanted);
    this.#showMarks();
    if (!this.#tree) return;
    if (this.#wanted !== null && !this.conversation(this.#wanted)) await this.#fetch(this.#wanted);
    this.#showMarks();
    this.#controls.drawSections();
    await this.#tree.select(this.#wanted);
  }

  conversation(conversationId) {
    return this.#model.conversation(conversationId) ?? this.#aside.get(conversationId);
  }

  async updateConversation(conversationId, changes) {
    if (changes.archived !== undefined) {
      await this.#changePlace(conversationId);
      return;
    }
    if (!this.#model.conversation(conversationId)) {
      if (this.#aside.has(conversationId)) Object.assign(this.#aside.get(conversationId), changes);
      else await this.#fetch(conversationId);
      if (this.conversation(conversationId)?.archived) this.#controls.shelvesChanged('archived');
      return;
    }
    const told = TOLD.filter((name) => changes[name] !== undefined).map((name) => [name, changes[name]]);
    const conversation = this.#model.changeConversation(conversationId, Object.fromEntries(told));
    this.#tree?.redrawConversation(conversation);
    const isActive = changes.last_updated !== undefined;
    if (isActive && !this.#model.isNewest(conversationId)) await this.#add(conversation);
    else this.#controls.drawSections();
  }

  /** What the sidebar's other parts may ask of it. */
  #shownBy() {
    return {
      wanted: () => this.#wanted,
      open: (conversationId) => this.#open(conversationId),
      showWorkspace: (workspaceId) => this.#showWorkspace(workspaceId),
      collapse: () => this.#collapse(),
      chosenWith: (conversationId) => this.#tree?.chosenWith(conversationId) ?? [conversationId],
      begin: (workspaceId) => this.#beginning.begin(workspaceId),
      beginTemporary: () => this.#beginning.beginTemporary(),
      add: (conversation) => this.#add(conversation),
      refresh: () => this.refresh(),
      find: (conversationId) => this.conversation(conversationId),
      setAside: (conversation) => this.#aside.set(conversation.conversation_id, conversation),
      shelvesChanged: (...sections) => this.#shelvesChanged(...sections),
      reload: async (...workspaceIds) => {
        for (const workspaceId of workspaceIds) await this.#tree?.reload(workspaceId);
        this.#tellState();
      },
      redraw: (conversations) => this.#redraw(conversations),
    };
  }

  #redraw(conversations) {
    const isListed = ({ conversation_id: id }) => this.#model.conversation(id) !== undefined;
    for (const conversation of conversations.filter(isListed)) this.#tree?.redrawConversation(conversation);
    if (!conversations.every(isListed)) this.#controls.shelvesChanged('archived');
    this.#controls.drawSections();
  }

  /** It went into the archive, or came out of it, by other means than the sidebar's own. */
  async #changePlace(conversationId) {
    const workspaceId = this.#model.workspaceOf(conversationId);
    this.#aside.delete(conversationId);
    if (workspaceId !== undefined) {
      this.#model.removeConversation(conversationId);
      await this.#tree?.reload(workspaceId);
    }
    await this.#fetch(conversationId);
    this.#tellState();
    this.#shelvesChanged('archived');
  }

  #shelvesChanged(...sections) {
    this.#showMarks();
    this.#controls.shelvesChanged(...sections);
  }

  /** Put a conversation where it belongs: into the tree, or aside where it is not listed. */
  async #take(conversation) {
    const { conversation_id: id, domain, archived, temporary } = conversation;
    if (archived || temporary) this.#aside.set(id, conversation);
    else if (domain === this.#bootstrap.domain) await this.#add(conversation);
  }

  async #add(conversation) {
    this.#aside.delete(conversation.conversation_id);
    this.#model.putConversation(conversation);
    this.#tellState();
    await this.#tree?.reload(this.#model.workspaceOf(conversation.conversation_id));
  }

  async #fetch(conversationId) {
    try {
      await this.#take(await this.#api.getConversationDetails(conversationId));
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
      menuOf: (subject, show) => this.#controls.command((commands) => show(commands.menuOf(subject))),
      on: {
        open: (conversationId) => this.#open(conversationId),
        expand: (workspaceId, expanded) => this.#saveExpanded(workspaceId, expanded),
        move: (subjects, workspaceId) => this.#controls.command((commands) => commands.moveSubjects(subjects, workspaceId)),
        rename: (subject) => this.#controls.command((commands) => commands.renameSubject(subject)),
        remove: (subject) => this.#controls.command((commands) => commands.removeSubject(subject)),
        select: (count) => {
          document.getElementById('announcer').textContent = count > 1 ? shellStrings.sidebar.selected(count) : '';
        },
      },
    });
    await this.#tree.ready;
    if (this.#wanted !== null) await this.select(this.#wanted);
  }

  #open(conversationId) {
    this.#drawer.closeOver();
    this.#events.emit('conversation:open', { conversationId });
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

  /** What the open conversation is, beside its title. */
  #showMarks() {
    const { temporary = false, archived = false } = this.conversation(this.#wanted) ?? {};
    document.getElementById('temporary-mark').hidden = !temporary;
    document.getElementById('archived-mark').hidden = !archived;
  }

  #follow(events) {
    events.on('conversation:created', ({ conversationId }) => {
      if (conversationId && !this.conversation(conversationId)) this.#fetch(conversationId);
    });
    events.on('conversation:updated', ({ conversationId, ...changes }) => this.updateConversation(conversationId, changes));
    events.on('conversation:deleted', ({ conversationId }) => {
      const workspaceId = this.#model.workspaceOf(conversationId);
      if (workspaceId === undefined) return;
      this.#model.removeConversation(conversationId);
      this.#tellState();
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
  }
}

/**
 * Show the sidebar and fill it.
 *
 * @param {{api: object, events: object, bootstrap: {user_email: string, domain: string}, kept: object}} page
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
