/**
 * The cards of the messages that are shown: made, kept, moved and taken away as the messages change; and lines between them.
 *
 * @param {HTMLElement} container
 * @param {(message: object) => import('../card/card.js').MessageCard} makeCard
 */
export function createCardList(container, makeCard) {
  /** @type {Map<string, import('../card/card.js').MessageCard>} by the message's id; a card keeps its node when the id changes */
  const cards = new Map();

  function cardFor(message) {
    const known = cards.get(message.message_id);
    if (!known) {
      cards.set(message.message_id, makeCard(message));
      return cards.get(message.message_id);
    }
    if (known.message !== message) known.update(message);
    return known;
  }

  function removeExcept(wanted) {
    const gone = [...cards].filter(([id]) => !wanted.has(id));
    if (gone.length === cards.size) container.replaceChildren();
    for (const [id] of gone) remove(id);
  }

  function remove(id) {
    const card = cards.get(id);
    if (!card) return;
    card.close();
    card.node.remove();
    cards.delete(id);
  }

  /**
   * @param {object[]} messages all that shall be there, in order
   * @param {Map<string|null, Node[]>} [lines] what stands behind messages, by their ids; null: before all of them
   */
  function show(messages, lines = new Map()) {
    removeExcept(new Set(messages.map((message) => message.message_id)));
    const behind = (id) => lines.get(id) ?? [];
    const wanted = [...behind(null), ...messages.flatMap((message) => [cardFor(message).node, ...behind(message.message_id)])];
    const stays = new Set(wanted);
    for (const node of [...container.children]) if (!stays.has(node)) node.remove();
    let follower = container.firstChild;
    for (const node of wanted) {
      if (follower === node) follower = node.nextSibling;
      else container.insertBefore(node, follower);
    }
  }

  /** A message got another id: the one that the server gave it. */
  function rename(oldId, newId) {
    const card = cards.get(oldId);
    if (!card || oldId === newId) return;
    remove(newId);
    cards.delete(oldId);
    cards.set(newId, card);
  }

  return {
    show,
    rename,
    get: (messageId) => cards.get(messageId) ?? null,
    cards: () => [...cards.values()],
    nodes: () => [...container.children],
  };
}
