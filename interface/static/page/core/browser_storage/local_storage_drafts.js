/**
 * Drafts as the page kept them before it had a database: in the browser's local storage, one text for all conversations.
 * They are taken over once.
 */

const read = (storage, key) => {
  try {
    return JSON.parse(storage.getItem(key) ?? 'null');
  } catch {
    return null;
  }
};

/** @returns {Array<[string, string, any]>} changes for `Kept.change` */
function entriesIn(storage, owner) {
  const drafts = Object.entries(read(storage, `anaphora:drafts:${owner}`) ?? {});
  const edits = Object.entries(read(storage, `anaphora:edits:${owner}`) ?? {});
  const files = `anaphora:draft-files:${owner}:`;
  const forms = `anaphora.knowledge.${owner}.`;
  const under = (prefix) => Object.keys(storage).filter((key) => key.startsWith(prefix)).map((key) => [key.slice(prefix.length), read(storage, key)]);
  return [
    ...drafts.map(([id, draft]) => ['draft', id, { attached: [], at: Date.now(), ...(typeof draft === 'string' ? { text: draft } : draft) }]),
    ...under(files).map(([id, list]) => ['draft-files', id, list]),
    ...edits.map(([id, edit]) => ['edit', id, edit]),
    ...['draft', 'many', 'text'].map((name) => ['form', `memories:${name}`, read(storage, forms + name)]),
  ].filter(([, , value]) => value !== null);
}

/**
 * @param {import('./kept.js').Kept} kept
 * @param {Storage} storage
 * @param {string} owner
 */
export async function takeFormerDrafts(kept, storage, owner) {
  const entries = entriesIn(storage, owner).filter(([kind, id]) => kept.get(kind, id) === null);
  if (!(await kept.change(entries))) return;
  const mine = [`anaphora:drafts:${owner}`, `anaphora:edits:${owner}`, `anaphora:draft-files:${owner}:`, `anaphora.knowledge.${owner}.`];
  for (const key of Object.keys(storage)) if (mine.some((prefix) => key.startsWith(prefix))) storage.removeItem(key);
}
