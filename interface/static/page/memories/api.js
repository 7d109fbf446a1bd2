/**
 * The knowledge base's routes (`/pkb/…`), each as one function, over `core/api.js`. Loaded by what needs it.
 *
 * A claim is named by its id, its number or its friendly id. What changes something answers with an `audit_id`, which
 * `pkbUndo` takes back. `options` are those of the API: `{signal}`.
 */

import { LONG_PATIENCE_MS } from '../core/api.js';

const part = encodeURIComponent;
/** Of requests that a model works on, or that concern many memories. */
const slowly = (options) => ({ ...options, patience: LONG_PATIENCE_MS });

/** The changes that this page made itself, by their `audit_id`. */
const made = new Set();

/** Requests that may be making a change now. A model's work is none: others' changes don't wait for it. */
const running = new Set();

/**
 * Those changes that this page did not make itself: it shows its own already.
 *
 * @param {import('../core/changes.js').Change[]} changes
 */
export async function madeElsewhere(changes) {
  // A change may be told before the request that makes it is answered.
  await Promise.allSettled([...running]);
  return changes.filter(({ fields }) => !made.has(fields.audit_id));
}

const noting = (call) => async (path, body, options) => {
  const asked = call(path, body, options);
  if (!options?.patience) running.add(asked);
  try {
    const answer = await asked;
    if (answer?.audit_id) made.add(answer.audit_id);
    return answer;
  } finally {
    running.delete(asked);
  }
};

/** @param {ReturnType<typeof import('../core/api.js').createApi>} api */
export function createMemoriesApi({ get, post, put, delete: remove }) {
  const api = { get, post: noting(post), put: noting(put), delete: noting(remove) };
  return {
    ...claimCalls(api),
    ...pinCalls(api),
    ...findingCalls(api),
    ...contextCalls(api),
    ...entityCalls(api),
    ...tagCalls(api),
    ...catalogueCalls(api),
    ...conflictCalls(api),
    ...ingestionCalls(api),
    ...historyCalls(api),
  };
}

function claimCalls({ get, post, put, delete: remove }) {
  return {
    /** `{claims, count, total_count, warnings}`; see `memories/query_model.js` for the parameters. */
    pkbListClaims: (params = {}, options) => get('/pkb/claims', params, options),
    pkbGetClaim: (id, options) => get(`/pkb/claims/${part(id)}`, {}, options),
    pkbClaimByFriendlyId: (friendlyId, options) => get(`/pkb/claims/by-friendly-id/${part(friendlyId)}`, {}, options),
    /** `{claim, similar, audit_id, warnings}` */
    pkbAddClaim: (claim) => post('/pkb/claims', claim),
    /** At most 100: `{results: [{index, success, claim_id?, friendly_id?, error?}], added_count, failed_count}` */
    pkbAddClaims: (claims, clientId) => post('/pkb/claims/bulk', { claims, client_id: clientId }, slowly()),
    pkbEditClaim: (id, changes) => put(`/pkb/claims/${part(id)}`, changes),
    pkbRetractClaim: (id) => remove(`/pkb/claims/${part(id)}`),
    /** The claim is kept, and points to the one that says it better. */
    pkbSupersedeClaim: (id, by) => post(`/pkb/claims/${part(id)}/supersede`, { by }),
    /** One change to at most 500, undone as one. `change`: retract, add_tag, add_to_context, set_domain or set_type. */
    pkbChangeClaims: (claimIds, change, value) => post('/pkb/claims/bulk_change', { claim_ids: claimIds, change, value }, slowly()),
  };
}

function pinCalls({ get, put, delete: remove }) {
  return {
    pkbPinClaim: (id) => put(`/pkb/claims/${part(id)}/pin`),
    pkbUnpinClaim: (id) => remove(`/pkb/claims/${part(id)}/pin`),
    pkbPinned: (options) => get('/pkb/pinned', {}, options),
    pkbPinToConversation: (conversationId, claimId) => put(`/pkb/conversation/${part(conversationId)}/pin`, { claim_id: claimId }),
    pkbUnpinFromConversation: (conversationId, claimId) =>
      remove(`/pkb/conversation/${part(conversationId)}/pin`, { claim_id: claimId }),
    pkbConversationPinned: (conversationId, options) => get(`/pkb/conversation/${part(conversationId)}/pinned`, {}, options),
  };
}

function findingCalls({ get, post }) {
  return {
    pkbAutocomplete: (q, limit = 10, options) => get('/pkb/autocomplete', { q, limit }, options),
    pkbSearch: (q, params = {}, options) => get('/pkb/search', { q, ...params }, options),
    pkbResolve: (reference, options) => get(`/pkb/resolve/${part(reference)}`, {}, options),
    pkbRelevantContext: (query, k, options) => post('/pkb/relevant_context', { query, k }, options),
  };
}

function contextCalls({ get, post, put, delete: remove }) {
  return {
    /** The whole tree, as a flat list. */
    pkbContexts: (options) => get('/pkb/contexts', {}, options),
    pkbGetContext: (id, options) => get(`/pkb/contexts/${part(id)}`, {}, options),
    pkbAddContext: (context) => post('/pkb/contexts', context),
    /** `parent_context_id` among the changes moves it; null is the root. */
    pkbEditContext: (id, changes) => put(`/pkb/contexts/${part(id)}`, changes),
    pkbDeleteContext: (id) => remove(`/pkb/contexts/${part(id)}`),
    pkbContextClaims: (id, page = {}, options) => get(`/pkb/contexts/${part(id)}/claims`, page, options),
    /** With those of the contexts below. */
    pkbResolveContext: (id, options) => get(`/pkb/contexts/${part(id)}/resolve`, {}, options),
    pkbAddClaimToContext: (id, claimId) => put(`/pkb/contexts/${part(id)}/claims/${part(claimId)}`),
    pkbRemoveClaimFromContext: (id, claimId) => remove(`/pkb/contexts/${part(id)}/claims/${part(claimId)}`),
    pkbClaimContexts: (claimId, options) => get(`/pkb/claims/${part(claimId)}/contexts`, {}, options),
  };
}

function entityCalls({ get, post, put, delete: remove }) {
  return {
    pkbEntities: (params = {}, options) => get('/pkb/entities', params, options),
    pkbAddEntity: (entity) => post('/pkb/entities', entity),
    pkbEditEntity: (id, changes) => put(`/pkb/entities/${part(id)}`, changes),
    pkbDeleteEntity: (id) => remove(`/pkb/entities/${part(id)}`),
    pkbClaimEntities: (claimId, options) => get(`/pkb/claims/${part(claimId)}/entities`, {}, options),
    pkbLinkEntity: (claimId, entityId, role) => put(`/pkb/claims/${part(claimId)}/entities/${part(entityId)}`, { role }),
    pkbUnlinkEntity: (claimId, entityId) => remove(`/pkb/claims/${part(claimId)}/entities/${part(entityId)}`),
  };
}

function tagCalls({ get, post, put, delete: remove }) {
  return {
    pkbTags: (params = {}, options) => get('/pkb/tags', params, options),
    pkbAddTag: (tag) => post('/pkb/tags', tag),
    pkbEditTag: (id, changes) => put(`/pkb/tags/${part(id)}`, changes),
    pkbDeleteTag: (id) => remove(`/pkb/tags/${part(id)}`),
    pkbClaimTags: (claimId, options) => get(`/pkb/claims/${part(claimId)}/tags`, {}, options),
    pkbLinkTag: (claimId, tagId) => put(`/pkb/claims/${part(claimId)}/tags/${part(tagId)}`),
    pkbUnlinkTag: (claimId, tagId) => remove(`/pkb/claims/${part(claimId)}/tags/${part(tagId)}`),
  };
}

function catalogueCalls({ get, post }) {
  return {
    pkbTypes: (options) => get('/pkb/types', {}, options),
    pkbAddType: (name) => post('/pkb/types', { name }),
    pkbDomains: (options) => get('/pkb/domains', {}, options),
    pkbAddDomain: (name) => post('/pkb/domains', { name }),
    pkbStats: (options) => get('/pkb/stats', {}, options),
  };
}

function conflictCalls({ get, post }) {
  return {
    /** Those that are not decided. */
    pkbConflicts: (options) => get('/pkb/conflicts', {}, options),
    pkbAddConflict: (claimIds, notes) => post('/pkb/conflicts', { claim_ids: claimIds, notes }),
    /** Without a winner all stay as they are. */
    pkbResolveConflict: (id, { winningClaimId, notes = '' } = {}) =>
      post(`/pkb/conflicts/${part(id)}/resolve`, { winning_claim_id: winningClaimId, notes }),
  };
}

function ingestionCalls({ post }) {
  return {
    /** What a statement would be filed under, and what is like it; by rules it is there at once. */
    pkbAnalyze: (statement, options) => post('/pkb/analyze_statement', { statement }, slowly(options)),
    pkbAnalyzeByRules: (statement, options) =>
      post('/pkb/analyze_statement?use_model=false', { statement }, options),
    /** `{plan_id, proposals, summary, expires_at, warnings}`; nothing is stored but the plan. */
    pkbIngest: (text, settings = {}, options) => post('/pkb/ingest_text', { text, ...settings }, slowly(options)),
    /** `approved`: a list of `{index, action?, statement?, claim_type?, context_domain?, tags?}`, or "all". */
    pkbExecuteIngest: (planId, approved) => post('/pkb/execute_ingest', { plan_id: planId, approved }, slowly()),
    pkbProposeUpdates: (conversationId, messageId, options) =>
      post('/pkb/propose_updates', { conversation_id: conversationId, message_id: messageId }, slowly(options)),
    /** The same by rules, which answer at once. */
    pkbProposeUpdatesByRules: (conversationId, messageId, options) =>
      post('/pkb/propose_updates', { conversation_id: conversationId, message_id: messageId, use_model: false }, options),
    pkbExecuteUpdates: (planId, approved) => post('/pkb/execute_updates', { plan_id: planId, approved }, slowly()),
  };
}

function historyCalls({ get, post }) {
  return {
    /** Newest first; `before` the `audit_seq` of a change. */
    pkbAudit: (params = {}, options) => get('/pkb/audit', params, options),
    pkbUndo: (auditId) => post(`/pkb/undo/${part(auditId)}`),
    /** Where the browser downloads everything from. */
    pkbExportAddress: (format = 'json') => `/pkb/export?format=${part(format)}`,
    pkbImport: (payload) => post('/pkb/import', { payload, mode: 'merge' }, slowly()),
  };
}
