import { newId } from '../../core/ids.js';
import { splitLinks } from './links_model.js';

/** The entity of that name, there already or new. */
async function entityNamed(api, { name, type = 'other' }) {
  const { entities } = await api.pkbEntities({ q: name, limit: 50 });
  const there = entities.find((entity) => entity.name.toLowerCase() === name.toLowerCase());
  return there ?? (await api.pkbAddEntity({ name, entity_type: type })).entity;
}

/**
 * The id that a new memory is sent under: that of the last try, as long as the statement is the same. The response to that try may
 * have been lost, and the server adds a memory once for each id.
 *
 * @param {string} statement
 * @param {{statement: string, id: string}|null} tried
 * @returns {{statement: string, id: string}}
 */
export function sentAs(statement, tried) {
  return tried?.statement === statement ? tried : { statement, id: newId() };
}

/**
 * Saves what a person changed of a memory: its fields, and what it is filed under, which the server keeps apart.
 *
 * @param {object} api
 * @param {object} claim as it was
 * @param {object} changes fields of the form that differ
 * @returns {Promise<{claim: object, audit_id: string|null}>} `audit_id` null where more than one change was made: each can be
 *   undone in the history
 */
export async function saveChanges(api, claim, changes) {
  const { fields, added, removed } = splitLinks(claim, changes);
  const { claim_id: id } = claim;
  const audits = [];
  const run = async (job) => audits.push((await job).audit_id);
  // Another tab may have saved another statement meanwhile; it is not to be lost.
  const basedOn = fields && 'statement' in fields ? { based_on: claim.statement } : {};
  if (fields) await run(api.pkbEditClaim(id, { ...fields, ...basedOn }));
  for (const name of added.tags) await run(api.pkbChangeClaims([id], 'add_tag', name));
  for (const { tag_id: tagId } of removed.tags) await run(api.pkbUnlinkTag(id, tagId));
  for (const entity of added.entities) await run(api.pkbLinkEntity(id, (await entityNamed(api, entity)).entity_id, entity.role));
  for (const { entity_id: entityId } of removed.entities) await run(api.pkbUnlinkEntity(id, entityId));
  for (const contextId of added.contexts) await run(api.pkbAddClaimToContext(contextId, id));
  for (const { context_id: contextId } of removed.contexts) await run(api.pkbRemoveClaimFromContext(contextId, id));
  const done = audits.filter(Boolean);
  const { claim: saved } = await api.pkbGetClaim(id);
  return { claim: saved, audit_id: done.length === 1 ? done[0] : null };
}
