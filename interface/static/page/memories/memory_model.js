/** What is said about a memory: how it is referred to, what marks it bears, where it came from. */

import { categoryNames } from '../strings/en/categories.js';

/** @param {{friendly_id: string}} thing a claim, context, entity, tag or domain @returns {string} what a message names it by */
export function referenceTo({ friendly_id: friendlyId }) {
  return `@${friendlyId}`;
}

/** The kind of what is dragged when memories are: a JSON list of `{claim_id, friendly_id, statement}`. */
export const DRAGGED_MEMORIES = 'application/x-anaphora-memories';

/**
 * The marks of a claim, most important first: `{kind, by?}`; `by` the friendly id of what superseded it. `pinned_here` is the
 * page's own: the claim is pinned to the open conversation.
 *
 * @param {object} claim
 * @returns {Array<{kind: string, by?: string}>}
 */
export function marksOf(claim) {
  const marks = [];
  if (claim.pinned) marks.push({ kind: 'pinned' });
  if (claim.pinned_here) marks.push({ kind: 'pinned_here' });
  if (claim.is_contested || claim.status === 'contested') marks.push({ kind: 'contested' });
  if (claim.superseded_by) marks.push({ kind: 'superseded', by: claim.superseded_by });
  else if (claim.status === 'superseded') marks.push({ kind: 'superseded' });
  if (['retracted', 'historical', 'draft', 'expired'].includes(claim.status)) marks.push({ kind: claim.status });
  return marks;
}

/** Whether a claim still counts: what is retracted or superseded is shown, and not offered for use. */
export function isCurrent(claim) {
  return !['retracted', 'superseded', 'expired'].includes(claim.status);
}

/**
 * @param {string} text
 * @param {number} [length]
 * @returns {string} its beginning, cut between words where there are any
 */
export function excerpt(text, length = 60) {
  if (text.length <= length) return text;
  const cut = text.slice(0, length);
  const space = cut.lastIndexOf(' ');
  return `${(space > length / 2 ? cut.slice(0, space) : cut).trimEnd()}…`;
}

const capitalised = (name) => {
  const words = String(name ?? '').replaceAll('_', ' ').trim();
  return words ? words[0].toUpperCase() + words.slice(1) : '';
};

/** A name of the server's as people read it: `life_ops` is "Life ops". */
export function spoken(name) {
  return Object.hasOwn(categoryNames, name) ? categoryNames[name] : capitalised(name);
}

/** A type or a domain as people read it: by the label that a person gave it, where they did. */
export function categoryLabel({ name, label }) {
  return label && label !== capitalised(name) ? label : spoken(name);
}

/** `fitness, running` as the names of tags: trimmed, without `#`, each once. @returns {string[]} */
export function splitNames(text) {
  const names = text.split(',').map((name) => name.trim().replace(/^#/, '')).filter(Boolean);
  return [...new Map(names.map((name) => [name.toLowerCase(), name])).values()];
}

/** What of `after` differs from `before`, field by field; null where nothing does. */
export function differences(before, after) {
  const entries = Object.entries(after).filter(([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]));
  return entries.length ? Object.fromEntries(entries) : null;
}
