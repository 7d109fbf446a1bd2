/** The first run: the routes over `core/api.js`. Loaded by what needs them. */

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createWelcomeApi(api) {
  return {
    welcome: () => api.post('/welcome'),
    /** Takes the suggestions out of a conversation's settings, and leaves the others. */
    dismissSuggestions: (conversationId) => api.patch(`/conversations/${part(conversationId)}/settings`, { suggestions: null }),
  };
}
