const key = (name) => name.toLowerCase();

/** What of `wanted` is not among `there`, and what of `there` is not wanted any more, by a key of each. */
function compare(there, wanted, keyOf, wantedKeyOf) {
  const present = new Set(there.map(keyOf));
  const kept = new Set(wanted.map(wantedKeyOf));
  return { added: wanted.filter((each) => !present.has(wantedKeyOf(each))), removed: there.filter((each) => !kept.has(keyOf(each))) };
}

/**
 * The changes of a memory, apart: its own fields, and what it is linked to or no longer linked to.
 *
 * @param {{tags: object[], entities: object[], contexts: object[]}} claim as it was
 * @param {{tags?: string[], entities?: Array<{name: string}>, contexts?: string[]}} changes `contexts` are ids
 * @returns {{fields: object|null, added: {tags: string[], entities: object[], contexts: string[]},
 *            removed: {tags: object[], entities: object[], contexts: object[]}}}
 */
export function splitLinks(claim, { tags, entities, contexts, ...fields }) {
  const none = { added: [], removed: [] };
  const ofTags = tags ? compare(claim.tags ?? [], tags, ({ name }) => key(name), key) : none;
  const ofEntities = entities ? compare(claim.entities ?? [], entities, ({ name }) => key(name), ({ name }) => key(name)) : none;
  const ofContexts = contexts ? compare(claim.contexts ?? [], contexts, ({ context_id: id }) => id, (id) => id) : none;
  return {
    fields: Object.keys(fields).length ? fields : null,
    added: { tags: ofTags.added, entities: ofEntities.added, contexts: ofContexts.added },
    removed: { tags: ofTags.removed, entities: ofEntities.removed, contexts: ofContexts.removed },
  };
}
