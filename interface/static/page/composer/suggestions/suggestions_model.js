/** What `@` offers: the answers of several sources as one list in groups. */

import { agentName } from '../../core/words/agent_name.js';
import { spoken } from '../../memories/memory_model.js';
import { isKnownKind } from '../../references/report_model.js';

/** In the order in which they are shown; `part` is where an answer of `/pkb/autocomplete` has them. */
const MEMORIES = { kind: 'claim', part: 'memories' };
const FILED = [
  { kind: 'context', part: 'contexts' },
  { kind: 'entity', part: 'entities' },
  { kind: 'tag', part: 'tags' },
  { kind: 'domain', part: 'domains' },
];
const AGENT_PREFIX = 'agent_';
const CLAIM_NUMBER = /^(?:#|claim_)/i;
/** An answer of `/pkb/autocomplete` without what is no group. @param {object} memories */
export const groupsAmong = (memories) => ({ ...memories, [MEMORIES.part]: [] });
/** Words that messages are searched for: of fewer characters nearly every message has some. */
const WORDS = /[^\s_-]{3}/u;

/** Several words, also where a script has no spaces between them. */
const SEVERAL = /\S\s+\S|[\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff]{4}/u;

/** Whether what is typed can say what a thing is about, and is not only what it is called. @param {string} query */
export const saysMeaning = (query) => SEVERAL.test(query) && WORDS.test(query) && !CLAIM_NUMBER.test(query);

/** Whether what is typed is `agent_`, with a name behind it, or two letters or more of its beginning. */
function meansAgents(query) {
  const typed = query.toLowerCase();
  return typed.startsWith(AGENT_PREFIX) || (typed.length > 1 && AGENT_PREFIX.startsWith(typed));
}

/**
 * @param {string} query
 * @returns {Array<'agents'|'conversations'|'memories'|'messages'>} which sources can know a thing of that name: no conversation
 *   has a number, and messages have words alone
 */
export function sourcesFor(query) {
  if (CLAIM_NUMBER.test(query)) return ['memories'];
  return [...(meansAgents(query) ? ['agents'] : []), 'conversations', 'memories', ...(WORDS.test(query) ? ['messages'] : [])];
}

/**
 * @param {Array<{kind: string, reference: string, title: string}>} suggested what `/references/suggest` says
 * @returns {Array<{friendly_id: string, name: string}>} the agents among it
 */
export function agentsOf(suggested) {
  return suggested.filter(({ kind }) => kind === 'agent').map(({ reference, title }) => ({ friendly_id: reference, name: agentName(title) }));
}

/**
 * Conversations and memories that a search found, as completion of their names has them. `isMeant`: by meaning, not by a name.
 *
 * @param {object[]} results of `GET /search`
 */
export const conversationsFound = (results) => results.map(({ conversation_friendly_id: friendlyId, ...hit }) => ({ ...hit, friendly_id: friendlyId }));
export const memoriesFound = (results) => results.map(({ claim }) => ({ ...claim, isMeant: true }));

/** What other sources than `/references/suggest` are asked for. */
const ASKED_ELSEWHERE = ['conversation', 'message', 'message_range', 'file', 'claim', 'context', 'entity', 'tag', 'domain'];

/** @param {string} query @returns {string[]} the kinds that `/references/suggest` need not look for: agents, too, unless they are meant */
export const askedElsewhere = (query) => (meansAgents(query) ? ASKED_ELSEWHERE : [...ASKED_ELSEWHERE, 'agent']);

/** What is suggested of kinds that the page doesn't know. @param {Array<{kind: string, reference: string}>} suggested */
export const othersOf = (suggested) => suggested.filter(({ kind }) => !isKnownKind(kind)).map((hit) => ({ ...hit, friendly_id: hit.reference }));

/** Hits in groups, a kind each, in the order of the first of each. @param {Array<{kind: string}>} hits */
export function byKind(hits) {
  const kinds = [...new Set(hits.map(({ kind }) => kind))];
  return kinds.map((kind) => ({ kind, hits: hits.filter((hit) => hit.kind === kind) }));
}

/**
 * @param {{agents?: object[], conversations?: object[], memories?: object, messages?: {results: object[]}, others?: object[]}} answers of those sources that answered
 * @param {string} query
 * @returns {Array<{kind: string, hits: object[]}>} groups that have something in them, messages by their words as `found`,
 *   before memories that only mean it; one whose first hit bears the very name that was typed comes first
 */
export function suggestionGroups({ agents = [], conversations = [], memories = {}, messages = { results: [] }, others = [] }, query) {
  const known = ({ kind, part }) => ({ kind, hits: memories[part] ?? [] });
  const found = { kind: 'found', hits: messages.results.filter(({ reference }) => reference) };
  const claims = known(MEMORIES);
  const isMeant = claims.hits.some((claim) => claim.isMeant);
  const all = [{ kind: 'agent', hits: agents }, { kind: 'conversation', hits: conversations }, ...(isMeant ? [] : [claims]), ...byKind(others), found, ...(isMeant ? [claims] : []), ...FILED.map(known)];
  const groups = all.filter(({ hits }) => hits.length > 0);
  return groups.toSorted((a, b) => Number(isNamed(b, query)) - Number(isNamed(a, query)));
}

function isNamed({ hits: [first] }, query) {
  return query !== '' && first.friendly_id?.toLowerCase() === query.trim().toLowerCase();
}

/**
 * What stands below the name of a hit.
 *
 * @param {string} kind
 * @param {object} hit
 * @param {(n: number) => string} memories how so many memories are called
 * @returns {string}
 */
export function aboutSuggestion(kind, hit, memories) {
  const details = {
    claim: [hit.claim_number ? `#${hit.claim_number}` : '', spoken(hit.claim_type)],
    entity: [spoken(hit.entity_type)],
    context: [Number.isInteger(hit.claim_count) ? memories(hit.claim_count) : ''],
    domain: [Number.isInteger(hit.claim_count) ? memories(hit.claim_count) : ''],
  };
  return [hit.friendly_id, ...(details[kind] ?? [])].filter(Boolean).join(' · ');
}
