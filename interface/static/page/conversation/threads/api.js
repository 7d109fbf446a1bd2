/** Threads and their activities: the routes over `core/api.js`. Loaded by what needs it. */

import { fileNameIn } from '../export/api.js';

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createThreadsApi({ get, patch, open }) {
  return {
    listThreads: (conversationId, options) => get(`/api/conversations/${part(conversationId)}/threads`, {}, options),
    /** @returns {Promise<{thread_id: string, title: string, activities: object[], recipes: object[]}>} the first activities behind `after` */
    getThread: (threadId, { after = 0, limit, recipe = null }) => get(`/api/threads/${part(threadId)}`, { after, limit, recipe }),
    /** To another conversation; messages are refused. */
    moveActivity: (activityId, conversationId) => patch(`/api/activities/${part(activityId)}`, { conversation_id: conversationId }),
    renameThread: (threadId, title) => patch(`/api/threads/${part(threadId)}`, { title }),
    /** @returns {Promise<{blob: Blob, name: string}>} */
    async exportThread(threadId) {
      const response = await open('GET', '/api/export', { query: { thread: threadId, format: 'markdown' }, accept: '*/*' });
      return { blob: await response.blob(), name: fileNameIn(response.headers.get('Content-Disposition'), 'thread.md') };
    },
  };
}
