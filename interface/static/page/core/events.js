/**
 * A tiny emitter: the only way in which the views of a page tell each other what happened.
 *
 * Events of the page: `conversation:open {conversationId, messageId?}`, `conversation:begun {made, beginning, isTemporary}` (`made`
 * is a promise of the id, null where there is none; `beginning` the `client_id` that it is made under), `conversation:created {conversationId}`, `conversation:shown {conversationId}`,
 * `conversation:updated {conversationId, …}` with the fields that a view has changed, for the store; `changes:lost` when more
 * was changed elsewhere than is told one by one, `account:renamed` when the person has another name, `changes:alive` when the server is heard; `message:written {conversationId, text}` when one goes into the outbox, `command:run {text}` carries out
 * a command that nobody wrote; `claim:use-now {claim_id, friendly_id, statement}` attaches a memory to the next
 * message, `memory:propose {conversation_id, message_id}` asks what of a message is worth remembering, `memories:open
 * {kind, id}` shows it in the panel, `memories:changed` says that memories came, changed or went. `documents:open
 * {path, anchor?}` a document in its panel. `beside:taken {by}` and
 * `beside:left` tell of the place beside the conversation: one thing stands there at a time.
 * `find:open` shows the bar that finds in the conversation, `composer:focus` leads to where messages are written. `panel:show {name}` opens a panel,
 * `panel:shown` tells that one has come. `conversation:step {by}` opens a neighbour of the open conversation in the list,
 * `conversation:beside {conversationId, messageId?}` opens one beside the open one, `beside:turn`, `beside:swap` and `beside:close` are for the two of them;
 * `beside:shown` tells that a second one came, `conversation:settled` that the messages of a conversation are there.
 * `messages:shown` tells that a transcript shows other messages of its conversation, `messages:added` that some came behind those.
 * `conversation:begin`, `workspace:begin`, `workspaces:collapse`, `sidebar:toggle` and `rail:toggle` do what the buttons of that name do.
 * `rail:show {tab, threadId?}` opens a tab beside the conversation, with `threadId` a thread in it. `activities:posted {isThreaded}` says that
 * activities were posted somewhere, or threads renamed (`isThreaded`: one of them is in a thread), `activities:shown` that
 * transcripts show activities from now on, or hide them.
 *
 * @returns {{on: (name: string, listener: (detail: any) => void) => () => void,
 *            off: (name: string, listener: (detail: any) => void) => void,
 *            emit: (name: string, detail?: any) => void}}
 */
export function createEvents() {
  const listeners = new Map();

  function on(name, listener) {
    if (!listeners.has(name)) listeners.set(name, new Set());
    listeners.get(name).add(listener);
    return () => off(name, listener);
  }

  function off(name, listener) {
    listeners.get(name)?.delete(listener);
  }

  function emit(name, detail = {}) {
    for (const listener of [...(listeners.get(name) ?? [])]) {
      try {
        listener(detail);
      } catch (error) {
        // One broken listener must not keep the others from hearing.
        console.error(`Listener of ${name} failed`, error);
      }
    }
  }

  return { on, off, emit };
}

/**
 * The events of a part that may be there twice: those of its `own` names stay within it, all others are the page's.
 *
 * @param {ReturnType<typeof createEvents>} page
 * @param {Set<string>} own
 * @returns {ReturnType<typeof createEvents>}
 */
export function createOwnEvents(page, own) {
  const inside = createEvents();
  const of = (name) => (own.has(name) ? inside : page);
  return {
    on: (name, listener) => of(name).on(name, listener),
    off: (name, listener) => of(name).off(name, listener),
    emit: (name, detail) => of(name).emit(name, detail),
  };
}
