/**
 * What the page knows, in one place: conversations, workspaces, running turns, what is open.
 *
 * Answers of the server and the stream of changes are put in; views subscribe to what they show. Objects that are in here
 * are never changed: what changed is another object, so that `===` tells.
 */

/** The moment of a change as lists write it. */
const listedTime = (at) => `${at.slice(0, 10)} ${at.slice(11, 19)}`;

/** The members of `fields` that differ from those of `known`. */
function differing(known, fields) {
  const isOther = ([name, value]) => value !== undefined && JSON.stringify(known[name]) !== JSON.stringify(value);
  return Object.fromEntries(Object.entries(fields).filter(isOther));
}

/**
 * What changed together. Of conversations and workspaces: what each was before, undefined for a new one; now, the store has
 * it, or not any more.
 *
 * @typedef {object} Batch
 * @property {boolean} lists the lists were taken anew, so that everything may be different
 * @property {Map<string, object|undefined>} conversations
 * @property {Map<string, object|undefined>} workspaces
 * @property {import('./changes.js').Change[]} told what the server told of turns, messages, memories and all other kinds
 */

export class Store {
  #conversations = new Map();
  #workspaces = new Map();
  /** The running turns: the conversation of each answer that is being written. */
  #turns = new Map();
  #openId = null;
  #besideId = null;
  #isBesideActive = false;
  #isSeen = () => true;
  #batch = null;
  /** Of each answer that is on its way: what changed since it was asked for, as jobs. */
  #loading = new Set();
  #newestLists = null;
  #removing = new Set();
  #listeners = new Set();

  /** @param {{isSeen?: () => boolean}} [options] whether somebody looks at what is open */
  constructor({ isSeen = () => true } = {}) {
    this.#isSeen = isSeen;
  }

  get conversations() {
    return this.#conversations;
  }

  get workspaces() {
    return this.#workspaces;
  }

  conversation(conversationId) {
    return this.#conversations.get(conversationId);
  }

  /** The id of the conversation that is open; null: none, or one that is not made yet. */
  get openId() {
    return this.#openId;
  }

  /** The id of the conversation that stands beside the open one; null: none. */
  get besideId() {
    return this.#besideId;
  }

  /** The id of the conversation in which the person works: the open one, or that beside it. */
  get activeId() {
    return this.#isBesideActive && this.#besideId !== null ? this.#besideId : this.#openId;
  }

  /** Whether a conversation is on the page. */
  isShown(conversationId) {
    return conversationId !== null && (conversationId === this.#openId || conversationId === this.#besideId);
  }

  /** @param {(batch: Batch) => void} listener @returns {() => void} ends it */
  subscribe(listener) {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /**
   * Calls the listener with what is selected, whenever that is another value than before.
   *
   * @template T
   * @param {(store: Store) => T} selector
   * @param {(value: T) => void} listener
   */
  select(selector, listener) {
    let known = selector(this);
    return this.subscribe(() => {
      const value = selector(this);
      if (Object.is(value, known)) return;
      known = value;
      listener(value);
    });
  }

  /** Listeners hear once of all that `job` changes. */
  update(job) {
    if (this.#batch) {
      job();
      return;
    }
    const batch = { lists: false, conversations: new Map(), workspaces: new Map(), told: [] };
    this.#batch = batch;
    const [openId, besideId] = [this.#openId, this.#besideId];
    try {
      job();
    } finally {
      this.#batch = null;
    }
    const isEmpty = !batch.lists && !batch.told.length && !batch.conversations.size && !batch.workspaces.size;
    if (!isEmpty || openId !== this.#openId || besideId !== this.#besideId) this.#tell(batch);
  }

  /**
   * Takes an answer of the server. What changes while it is on its way is newer than it may be: it is done again afterwards.
   *
   * @template T
   * @param {() => Promise<T>} ask
   * @param {(answer: T) => void} take
   * @returns {Promise<T>}
   */
  async #load(ask, take) {
    const meanwhile = [];
    this.#loading.add(meanwhile);
    let answer;
    try {
      answer = await ask();
    } finally {
      this.#loading.delete(meanwhile);
    }
    this.update(() => {
      take(answer);
      for (const change of meanwhile) change();
    });
    return answer;
  }

  /** Takes what the server tells of one conversation. @param {() => Promise<object>} ask @returns {Promise<object>} */
  loadConversation(ask) {
    return this.#load(ask, (conversation) => this.#put('conversations', conversation.conversation_id, conversation));
  }

  /**
   * Takes fresh lists; where they were asked for several times, the newest answer counts.
   *
   * @param {() => Promise<{conversations: object[], workspaces: object[], turns?: Array<[string, string]>}>} ask `turns`: the answers
   *   that are being written, each with its conversation
   * @param {(conversation: object) => boolean} [isUnlisted] which of the known ones stay, though no list has them
   */
  async loadLists(ask, isUnlisted = () => false) {
    const mine = {};
    this.#newestLists = mine;
    await this.#load(ask, (lists) => {
      if (this.#newestLists === mine) this.#takeLists(lists, isUnlisted);
    });
  }

  #takeLists({ conversations, workspaces, turns = [] }, isUnlisted) {
    for (const [id, conversationId] of turns) this.#turns.set(id, conversationId);
    const running = new Set(this.#turns.values());
    const known = this.#conversations;
    const unlisted = [...known.values()].filter(isUnlisted).map((each) => [each.conversation_id, each]);
    this.#conversations = new Map(unlisted);
    for (const each of conversations) {
      const { unread, first_words: words } = known.get(each.conversation_id) ?? {};
      const answering = running.has(each.conversation_id);
      this.#conversations.set(each.conversation_id, unread || answering || words ? { ...each, unread, answering, first_words: words } : each);
    }
    this.#workspaces = new Map(workspaces.map((each) => [each.workspace_id, each]));
    this.#batch.lists = true;
  }

  /** Adds a conversation, or changes what is known of it. */
  putConversation(conversation) {
    this.#do(() => this.#put('conversations', conversation.conversation_id, conversation));
  }

  /** Changes fields of a conversation; one that is not known stays unknown. */
  changeConversation(conversationId, fields) {
    this.#do(() => this.#change('conversations', conversationId, fields));
  }

  removeConversation(conversationId) {
    this.#do(() => this.#remove('conversations', conversationId));
  }

  putWorkspace(workspace) {
    this.#do(() => this.#put('workspaces', workspace.workspace_id, workspace));
  }

  changeWorkspace(workspaceId, fields) {
    this.#do(() => this.#change('workspaces', workspaceId, fields));
  }

  /** What it held is where it was moved to. */
  removeWorkspace(workspaceId, { movedTo }) {
    this.apply([{ kind: 'workspace', change: 'gone', id: workspaceId, fields: { moved_to: movedTo } }]);
  }

  /** Conversations that this page itself is deleting, until `job` is done: nobody is told that they were deleted elsewhere. */
  async removing(conversationIds, job) {
    conversationIds.forEach((id) => this.#removing.add(id));
    try {
      return await job();
    } finally {
      conversationIds.forEach((id) => this.#removing.delete(id));
    }
  }

  isRemoving(conversationId) {
    return this.#removing.has(conversationId);
  }

  #do(job) {
    for (const meanwhile of this.#loading) meanwhile.push(job);
    this.update(job);
  }

  /** A conversation is open from now on: it is read. */
  open(conversationId) {
    this.update(() => {
      this.#openId = conversationId;
      this.markRead();
    });
  }

  /** A conversation stands beside the open one from now on; null: none. */
  openBeside(conversationId) {
    this.update(() => {
      this.#besideId = conversationId;
      this.markRead();
    });
  }

  /** @param {boolean} isBeside whether the person works in the conversation beside the open one */
  activate(isBeside) {
    this.#isBesideActive = isBeside;
  }

  /** Whether a person looks at this conversation now. */
  isWatched(conversationId) {
    return this.isShown(conversationId) && this.#isSeen();
  }

  /** What is open is being looked at. */
  markRead() {
    if (!this.#isSeen()) return;
    for (const id of [this.#openId, this.#besideId]) if (id !== null) this.changeConversation(id, { unread: false });
  }

  /** Takes what the server told. @param {import('./changes.js').Change[]} changes in order */
  apply(changes) {
    this.update(() => {
      this.#do(() => changes.forEach((change) => this.#applyOne(change)));
      this.#batch.told.push(...changes.filter(({ kind }) => kind !== 'conversation' && kind !== 'workspace'));
    });
  }

  /** The changes between two positions are lost: which turns run is not known any more. */
  forgetTurns() {
    this.#turns.clear();
    this.update(() => {
      for (const { conversation_id: id, answering } of this.#conversations.values()) {
        if (answering) this.#change('conversations', id, { answering: false });
      }
    });
  }

  #applyOne(change) {
    if (change.kind === 'conversation') this.#applyTo('conversations', 'conversation_id', change);
    else if (change.kind === 'workspace') this.#applyToWorkspace(change);
    else if (change.kind === 'turn') this.#applyTurn(change);
  }

  #applyTo(table, key, { change, id, fields }) {
    // One that comes back, as from the archive, is told with all its fields too.
    const isWhole = change === 'created' || (table === 'conversations' && fields.last_updated !== undefined);
    if (change === 'gone') this.#remove(table, id);
    else if (this[table].has(id)) this.#change(table, id, fields);
    else if (isWhole) this.#set(table, id, { [key]: id, ...fields });
  }

  /** What a workspace that is gone held is where it was moved to. */
  #applyToWorkspace(told) {
    this.#applyTo('workspaces', 'workspace_id', told);
    const { change, id, fields: { moved_to: target } } = told;
    if (change !== 'gone' || target === undefined) return;
    for (const { workspace_id: child, parent_workspace_id: above } of [...this.#workspaces.values()]) {
      if (above === id) this.#change('workspaces', child, { parent_workspace_id: target });
    }
    for (const { conversation_id: inside, workspace_id: place } of [...this.#conversations.values()]) {
      if (place === id) this.#change('conversations', inside, { workspace_id: target });
    }
  }

  #applyTurn({ change, id, conversation_id: conversationId, fields, at }) {
    if (change === 'created') this.#turns.set(id, conversationId);
    else this.#turns.delete(id);
    const answering = [...this.#turns.values()].includes(conversationId);
    const isUnseen = change === 'changed' && fields.status !== 'cancelled' && !this.isWatched(conversationId);
    const { message_count: count } = fields;
    this.#change('conversations', conversationId, {
      answering,
      updated_at: at,
      last_updated: listedTime(at),
      ...(count === undefined ? {} : { message_count: count }),
      ...(isUnseen ? { unread: true } : {}),
    });
  }

  #put(table, id, value) {
    if (this[table].has(id)) this.#change(table, id, value);
    else this.#set(table, id, value);
  }

  #change(table, id, fields) {
    const known = this[table].get(id);
    if (!known) return;
    const changed = differing(known, fields);
    if (Object.keys(changed).length > 0) this.#set(table, id, { ...known, ...changed });
  }

  #set(table, id, value) {
    this.#note(table, id);
    this[table].set(id, value);
  }

  #remove(table, id) {
    if (!this[table].has(id)) return;
    this.#note(table, id);
    this[table].delete(id);
  }

  #note(table, id) {
    const noted = this.#batch[table];
    if (!noted.has(id)) noted.set(id, this[table].get(id));
  }

  #tell(batch) {
    for (const listener of [...this.#listeners]) {
      try {
        listener(batch);
      } catch (error) {
        // One broken listener must not keep the others from hearing.
        console.error('A listener of the store failed', error);
      }
    }
  }
}
