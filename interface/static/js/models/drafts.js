const MOST_DRAFTS = 100;

/**
 * Unsent texts, the memories and the files attached to them, for each conversation, kept in the browser until they are sent.
 *
 * A full or forbidden storage is no reason to fail: the draft then lives as long as the page.
 *
 * @param {Storage|null} storage
 * @param {string} owner whose drafts these are; several people may share a browser
 */
export function createDrafts(storage, owner) {
  const key = `anaphora:drafts:${owner}`;
  /** What storage has no room for: texts and memories, and files, by conversation. */
  let unstored = {};
  const unstoredFiles = new Map();
  let drafts = read();

  function read() {
    try {
      const stored = JSON.parse(storage?.getItem(key) ?? '{}');
      return stored && typeof stored === 'object' ? stored : {};
    } catch {
      return {};
    }
  }

  /** @returns {boolean} whether there was room */
  function write() {
    try {
      if (Object.keys(drafts).length === 0) storage?.removeItem(key);
      else storage?.setItem(key, JSON.stringify(drafts));
      return Boolean(storage);
    } catch {
      return false;
    }
  }

  const filesKey = (conversationId) => `anaphora:draft-files:${owner}:${conversationId ?? ''}`;

  const kept = (conversationId) => {
    const draft = drafts[conversationId ?? ''] ?? '';
    return typeof draft === 'string' ? { text: draft } : draft;
  };

  return {
    get: (conversationId) => kept(conversationId).text ?? '',
    /** @returns {Array<{claim_id: string, friendly_id: string, statement: string}>} */
    attached: (conversationId) => kept(conversationId).attached ?? [],
    set(conversationId, text, attached = []) {
      // Another tab may have written since.
      drafts = { ...read(), ...unstored };
      const id = conversationId ?? '';
      delete drafts[id];
      delete unstored[id];
      if (attached.length > 0) drafts[id] = { text, attached };
      else if (text.trim() !== '') drafts[id] = text;
      for (const oldest of Object.keys(drafts).slice(0, -MOST_DRAFTS)) delete drafts[oldest];
      if (write()) unstored = {};
      else if (id in drafts) unstored[id] = drafts[id];
    },
    /** @returns {Array<{name: string, text: string}>} */
    files(conversationId) {
      if (unstoredFiles.has(conversationId)) return unstoredFiles.get(conversationId);
      try {
        const stored = JSON.parse(storage?.getItem(filesKey(conversationId)) ?? '[]');
        return Array.isArray(stored) ? stored : [];
      } catch {
        return [];
      }
    },
    /** @returns {boolean} whether they are kept: files are large, and the browser gives each site so much room */
    setFiles(conversationId, files) {
      unstoredFiles.delete(conversationId);
      try {
        if (files.length === 0) storage?.removeItem(filesKey(conversationId));
        else storage?.setItem(filesKey(conversationId), JSON.stringify(files));
        if (storage) return true;
      } catch {
        // What was kept before stays kept.
      }
      if (files.length > 0) unstoredFiles.set(conversationId, files);
      return files.length === 0;
    },
  };
}
