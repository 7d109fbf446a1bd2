/** Whether what is said in a conversation is kept: the route over `core/api.js`. Loaded by what needs it. */

const PATHS = { true: '/make_conversation_stateless', false: '/make_conversation_stateful' };

/**
 * From now on, turns of a conversation are not kept, or are kept again. What is there stays.
 *
 * @param {{put: (path: string) => Promise<object>}} api
 * @param {string} conversationId
 * @param {boolean} on true: nothing that is said from now on is kept
 * @returns {Promise<object>} the conversation's details
 */
export function setStateless(api, conversationId, on) {
  return api.put(`${PATHS[Boolean(on)]}/${encodeURIComponent(conversationId)}`);
}
