/** The routes of documents (`/api/vault/…`), over `core/api.js`. */

const ALL_AT_ONCE = 1000;

/** @param {object} api */
export function createDocumentsApi(api) {
  /** All documents by path, however many pages they fill. @param {string} query a part of their names, or what their texts say; '' for all */
  async function list(query, { signal } = {}) {
    const documents = [];
    let page = { next: '' };
    while (page.next !== null) {
      page = await api.get('/api/vault/documents', { query, limit: ALL_AT_ONCE, cursor: page.next, in_text: Boolean(query) }, { signal });
      documents.push(...page.documents);
      if (query) break;
    }
    return { documents, inText: page.in_text, isReadOnly: page.read_only };
  }

  return {
    list,
    read: (path) => api.get('/api/vault/document', { path }),
    graph: () => api.get('/api/vault/graph'),
    /** @param {string|null} version that is replaced; null: a new document */
    save: (path, text, version) =>
      api.put(`/api/vault/document?${new URLSearchParams({ path })}`, { text }, version ? { headers: { 'If-Match': `"${version}"` } } : {}),
  };
}
