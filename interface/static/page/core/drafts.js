const MOST_DRAFTS = 100;

/** @returns {Storage|null} null where the browser forbids it */
export function browserStorage() {
  try {
    return globalThis.localStorage ?? null;
  } catch {
    return null;
  }
}

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

/**
 * Changes of messages that are not saved yet, by the message's id: what is typed, and the text that it began with.
 *
 * Where storage is full or forbidden they live as long as the page.
 *
 * @param {Storage|null} storage
 * @param {string} owner
 */
export function createEditDrafts(storage, owner) {
  const key = `anaphora:edits:${owner}`;
  let edits = {};
  let isStored = Boolean(storage);

  /** All there are: another tab may have written since. */
  function all() {
    if (!isStored) return edits;
    try {
      const stored = JSON.parse(storage.getItem(key) ?? 'null');
      return stored && typeof stored === 'object' ? stored : {};
    } catch {
      return {};
    }
  }

  function keep(wanted) {
    edits = Object.fromEntries(wanted.slice(-MOST_DRAFTS));
    try {
      if (Object.keys(edits).length === 0) storage?.removeItem(key);
      else storage?.setItem(key, JSON.stringify(edits));
    } catch {
      isStored = false;
    }
  }

  return {
    /** @returns {{text: string, basedOn: string}|null} */
    get: (messageId) => all()[messageId] ?? null,
    set(messageId, text, basedOn) {
      const others = Object.entries(all()).filter(([id]) => id !== messageId);
      keep([...others, [messageId, { text, basedOn }]]);
    },
    /** @param {string} [text] what was typed: what another tab has typed since stays */
    drop(messageId, text = all()[messageId]?.text) {
      const edit = all()[messageId];
      if (edit && edit.text === text) keep(Object.entries(all()).filter(([id]) => id !== messageId));
    },
  };
}
