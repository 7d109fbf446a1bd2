/** The first run: the routes over `core/api.js`. Loaded by what needs them. */

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createWelcomeApi(api) {
  return {
    welcome: () => api.post('/welcome'),
    /** Takes the suggestions out of a conversation's settings, and leaves the others. */
    async dismissSuggestions(conversationId) {
      const path = `/get_conversation_settings/${part(conversationId)}`;
      const { suggestions, ...others } = await api.get(path);
      if (suggestions) await api.put(path, others);
    },
  };
}
