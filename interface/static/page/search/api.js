/** Finding: the route over `core/api.js`. Loaded by what needs it. */

/** @param {ReturnType<typeof import('../core/api.js').createApi>} api */
export function createSearchApi({ get }) {
  return {
    /**
     * @param {string} q with its operators
     * @param {{kind?: string, mode?: 'auto'|'words'|'meaning', limit?: number, cursor?: string|null}} [more]
     * @param {{signal?: AbortSignal}} [options]
     * @returns {Promise<{results: object[], next: string|null, warnings: string[]}>}
     */
    search: (q, { kind, limit, cursor, ...more } = {}, options) => get('/search', { q, kind, limit, cursor, ...more }, options),
  };
}
