/** What changes many things by one request, and takes such a change back: routes over `core/api.js`. Loaded by what needs them. */

/** So many conversations go into one request at most. */
export const MOST = 1000;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createBulkApi({ post }) {
  return {
    /**
     * @param {string[]} conversationIds at most `MOST`
     * @param {'move'|'flag'|'tag'|'untag'|'pin'|'unpin'|'archive'|'unarchive'|'delete'|'restore'} change
     * @param {string} [value] the workspace to move to, the flag to set, or the one tag
     * @returns {Promise<{results: {conversation_id: string, status: 'done'|'not_found'|'conflict'}[]}>}
     */
    changeConversations: (conversationIds, change, value) =>
      post('/conversations/bulk', { conversation_ids: conversationIds, change, value }),
    /** @param {object} removed what the deletion of a workspace told */
    restoreWorkspace: (domain, removed) => post(`/restore_workspace/${encodeURIComponent(domain)}`, removed),
  };
}
