/** A memory that is about to be added: what the person wrote, what is suggested for it, what is asked of the server. */

/** What every knowledge base has; a person's own come from the server. */
export const TYPES = ['fact', 'preference', 'decision', 'memory', 'task', 'reminder', 'habit', 'observation'];
export const DOMAINS = ['health', 'personal', 'work', 'relationships', 'learning', 'finance', 'life_ops'];

/**
 * @param {string} statement
 * @returns {{statement: string, claim_type: string, context_domain: string, tags: string[], entities: object[]}}
 */
export function draftOf(statement) {
  return { statement, claim_type: 'fact', context_domain: 'personal', tags: [], entities: [] };
}

/**
 * The draft with what the analysis of its statement suggests, wherever the person has not decided.
 *
 * @param {object} draft
 * @param {object} analysis of `POST /pkb/analyze_statement`
 * @param {Set<string>} decided the fields that the person changed
 */
export function withSuggestions(draft, analysis, decided) {
  const suggested = Object.keys(draft).filter((field) => field !== 'statement' && !decided.has(field) && analysis[field]?.length > 0);
  return { ...draft, ...Object.fromEntries(suggested.map((field) => [field, analysis[field]])) };
}

/**
 * @param {object} draft
 * @param {{analysis?: object|null, analysed?: string, supersedes?: string|null}} [more] `analysed` is the statement that was
 *   analysed: what was found for another one (its questions, what it contradicts) is left out
 * @returns {object} the body of `POST /pkb/claims`; what is added is what was shown, so that nothing more is extracted
 */
export function claimFrom(draft, { analysis = null, analysed = '', supersedes = null } = {}) {
  const statement = draft.statement.trim();
  const found = analysis && statement === analysed ? analysis : {};
  return {
    ...draft,
    statement,
    auto_extract: false,
    ...(found.possible_questions?.length > 0 ? { possible_questions: found.possible_questions } : {}),
    ...related(nearestQuestion(found.similar), supersedes),
  };
}

/** What the new memory replaces, else what it is in conflict with. */
function related(nearest, supersedes) {
  if (supersedes) return { supersedes };
  return nearest?.kind === 'contradiction' ? { contradicts: nearest.claim.claim_id } : {};
}

/** @param {string} text names with commas between @returns {string[]} each once */
export function tagsIn(text) {
  return [...new Set(text.split(',').map((tag) => tag.trim().replace(/^#/, '')).filter(Boolean))];
}

/**
 * @param {object[]} similar of the analysis
 * @returns {{claim: object, kind: string}|null} the nearest claim that says the same or otherwise
 */
export function nearestQuestion(similar) {
  const asked = (similar ?? []).filter(({ kind }) => kind === 'duplicate' || kind === 'contradiction');
  return asked.reduce((nearest, each) => (!nearest || each.similarity > nearest.similarity ? each : nearest), null);
}
