/** Sharing: the routes over `core/api.js`. Loaded by what needs it. */

const part = encodeURIComponent;

/** @param {ReturnType<typeof import('../../core/api.js').createApi>} api */
export function createShareApi({ get, post, delete: remove }) {
  return {
    /** @returns {Promise<{share: object|null, message_count: number, hidden_count: number, files: object[]}>} what there is, and what there would be */
    getShare: (conversationId) => get(`/share/${part(conversationId)}`),
    /** Makes a snapshot, with these files; where there is a link, it shows that one from now on. @param {string[]} files their ids */
    share: (conversationId, files) => post(`/share/${part(conversationId)}`, { files }),
    withdraw: (conversationId) => remove(`/share/${part(conversationId)}`),
    listShares: () => get('/shares'),
    /** @returns {Promise<{snapshot: string, title: string, created_at: string, message_count: number, messages: object[], next: number|null}>} */
    readShared: (token, after) => get(`/shared_chat/${part(token)}`, { after }),
  };
}

/**
 * @param {{url: string|null}} share
 * @returns {string} the whole link, '' where it can't be shown
 */
export function linkOf({ url }) {
  return url ? new URL(url, location.origin).href : '';
}

/** @returns {string} where the page behind a link gets the `number`-th file of a message of this snapshot */
export function fileAddress(token, snapshot, messageIndex, number) {
  return `/shared_chat/${part(token)}/files/${part(snapshot)}/${messageIndex}/${number}`;
}
