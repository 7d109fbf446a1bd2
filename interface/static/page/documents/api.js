/** The routes of documents (`/api/vault/…`), over `core/api.js`. */

const ALL_AT_ONCE = 1000;

/** @param {object} api */
export function createDocumentsApi(api) {
  /** All documents by path, however many pages they fill. @param {string} query a part of their names, or what their texts say; '' for all */
  async function list(query, { signal } = {}) {
    const documents = [];
    const inText = [];
    let page = { next: '' };
    while (page.next !== null) {
      page = await api.get('/api/vault/documents', { query, limit: ALL_AT_ONCE, cursor: page.next, in_text: Boolean(query) && !page.next }, { signal });
      documents.push(...page.documents);
      inText.push(...page.in_text);
    }
    return { documents, inText, isReadOnly: page.read_only };
  }

  const address = (path) => `/api/vault/document?${new URLSearchParams({ path })}`;
  /** Only this version is replaced or deleted. */
  const ifVersion = (version) => (version ? { headers: { 'If-Match': `"${version}"` } } : {});

  /** @param {Array<{name: string, file: File}>} files documents and archives, with their paths */
  function importFiles(files, { signal }) {
    const form = new FormData();
    for (const { name, file } of files) form.append('files', file, name);
    return api.upload('/api/vault/import', form, { signal });
  }

  return {
    list,
    read: (path, options) => api.get('/api/vault/document', { path }, options),
    /** @returns {Promise<object|null>} null where there is none of that path, but may be one */
    async readIfThere(path) {
      try {
        return await api.get('/api/vault/document', { path });
      } catch (error) {
        if (error.status === 404) return null;
        throw error;
      }
    },
    graph: () => api.get('/api/vault/graph'),
    /** @param {string|null} version that is replaced; null: a new document */
    save: (path, text, version) => api.put(address(path), { text }, ifVersion(version)),
    rename: (path, newPath) => api.post('/api/vault/rename', { path, new_path: newPath }),
    /** To the bin. @returns {Promise<{kept_at: string}>} */
    remove: (path, version) => api.delete(address(path), undefined, ifVersion(version)),
    bin: () => api.get('/api/vault/bin', { limit: ALL_AT_ONCE }),
    restore: (keptAt) => api.post('/api/vault/restore', { kept_at: keptAt }),
    importFiles,
  };
}
