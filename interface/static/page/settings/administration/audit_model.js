/** What administrators did, in words: to whom or what, and what changed by it. */

import { administrationStrings } from '../../strings/en/administration.js';
import { number } from '../../strings/en/count.js';
import { shortTime } from '../../core/words/times.js';
import { megabytes } from './usage_model.js';

const words = administrationStrings.audit;
const { kinds } = administrationStrings.jobs;
/** What is done to these has a name of its own; all other acts are done to an account. */
const NAMED = new Set(['model_fetched', 'store_restored', 'store_moved', 'store_compacted']);

/** An account, by its address; one that was erased is known by its id alone. @param {string} account */
export const accountText = (account) => (account === '' || account.includes('@') ? account : words.erased(account.slice(0, 8)));

function subjectText(act, subject, { addressed }) {
  if (NAMED.has(act)) return subject;
  return act.startsWith('invitation_') && !addressed && !subject.includes('@') ? words.anybody : accountText(subject);
}

const limit = (value) => (value === null ? words.usual : number(value));
const span = (values, said) => values.map(said).join(' → ');

/** How each detail of an act is said; those of a quota are its limits. */
const SAID = {
  is_admin: (is) => words.role[is ? 'administrator' : 'member'],
  role: (role) => words.role[role],
  because: (reason) => words.because[reason],
  name: (name) => words.named(name),
  read_only: (is) => (is ? words.readOnly : words.writing),
  issuer: (issuer) => words.issuer(issuer),
  uses: (count) => words.uses(count),
  days: (count, act) => (act === 'memories_forgotten' ? words.olderThan(count) : words.validFor(count)),
  kind: (kind) => kinds[kind],
  made: (at) => words.backup(shortTime(at)),
  memories: (count) => words.memories(count),
  changes: (count) => words.changes(count),
  bytes: (sizes) => span(sizes, (size) => administrationStrings.megabytes(megabytes(size))),
  rows: (count) => words.rows(count),
  // Said by the subject.
  addressed: () => '',
};

function detailText(act, name, value) {
  const ofQuota = administrationStrings.quota.of[name];
  if (ofQuota) return words.detail(ofQuota, span(value, limit));
  // Of an act of a newer server, what it noted.
  return SAID[name]?.(value, act) ?? words.detail(name, span([value].flat(), String));
}

/**
 * @param {{act: string, subject: string, details: object}} row of the audit log
 * @returns {{name: string, note: string}} what was done; to whom, and how
 */
export function actText({ act, subject, details }) {
  const said = Object.entries(details).map(([name, value]) => detailText(act, name, value));
  return { name: words.acts[act] ?? act, note: [subjectText(act, subject, details), ...said].filter(Boolean).join(' · ') };
}
