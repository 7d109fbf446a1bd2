/**
 * Tells the other tabs of this browser that a conversation changed, so that they show it too.
 *
 * @param {(conversationId: string) => void} onChange
 * @returns {{changed: (conversationId: string) => void}}
 */
export function connectTabs(onChange) {
  if (typeof BroadcastChannel === 'undefined') return { changed() {} };
  const channel = new BroadcastChannel('anaphora');
  channel.addEventListener('message', (event) => {
    if (typeof event.data?.conversationId === 'string') onChange(event.data.conversationId);
  });
  return { changed: (conversationId) => channel.postMessage({ conversationId }) };
}

/**
 * Tells the other tabs of this browser which conversations are deleted here, and hears which are deleted there.
 *
 * @param {{on: Function}} events
 * @param {(conversationId: string) => void} onDeleted
 */
export function shareDeletions(events, onDeleted) {
  if (typeof BroadcastChannel === 'undefined') return;
  const channel = new BroadcastChannel('anaphora.deleted');
  events.on('conversation:deleted', ({ conversationId, isElsewhere }) => {
    if (!isElsewhere) channel.postMessage(conversationId);
  });
  channel.addEventListener('message', ({ data }) => typeof data === 'string' && onDeleted(data));
}
