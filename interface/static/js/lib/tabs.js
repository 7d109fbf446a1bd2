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
