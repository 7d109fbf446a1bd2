/** What the analysis of a statement offers to a form that a person is filling in. */

const same = (a, b) => a.toLowerCase() === b.toLowerCase();

const missing = (offered, present) => (offered ?? []).filter((name) => name && !present.some((each) => same(each, name)));

/**
 * What is offered and not in the form yet. Nothing that the person chose or typed is offered to be replaced.
 *
 * @param {object|null} analysis of `POST /pkb/analyze_statement`
 * @param {{claim_type: string, context_domain: string, tags: string[], entities: Array<{name: string}>, friendly_id: string}} form
 * @param {{touched: Set<string>, dismissed?: Set<string>}} person `touched`: the fields that the person filled in;
 *   `dismissed`: keys of offers that were refused
 * @returns {Array<{key: string, field: string, value: any, label: string}>}
 */
export function openSuggestions(analysis, form, { touched, dismissed = new Set() }) {
  if (!analysis) return [];
  const offers = [];
  const offerOne = (field) => {
    const value = analysis[field];
    if (value && value !== form[field] && !touched.has(field)) offers.push({ field, value, label: value });
  };
  offerOne('claim_type');
  offerOne('context_domain');
  for (const name of missing(analysis.tags, form.tags)) offers.push({ field: 'tags', value: name, label: name });
  const names = form.entities.map(({ name }) => name);
  const entities = analysis.entities ?? [];
  for (const name of missing(entities.map((entity) => entity.name), names)) {
    offers.push({ field: 'entities', value: entities.find((entity) => entity.name === name), label: name });
  }
  offerOne('friendly_id');
  return offers.map((offer) => ({ ...offer, key: `${offer.field}:${offer.label}` })).filter(({ key }) => !dismissed.has(key));
}

/** The form with an offer taken. */
export function accept(form, { field, value }) {
  if (field === 'tags' || field === 'entities') return { ...form, [field]: [...form[field], value] };
  return { ...form, [field]: value };
}

/**
 * What is like a new statement and worth a question, nearest first.
 *
 * @param {Array<{claim: object, similarity: number, kind: string}>} similar
 */
export function worthAsking(similar) {
  const asked = (similar ?? []).filter(({ kind }) => kind === 'duplicate' || kind === 'contradiction');
  return asked.sort((a, b) => b.similarity - a.similarity);
}

/**
 * Lines as statements for adding many at once: list marks and blank lines are dropped, each statement once.
 *
 * @param {string} text
 * @returns {string[]}
 */
export function statementsIn(text) {
  const lines = text.split('\n').map((line) => line.replace(/^\s*(?:[-*+•]|\d+[.)])\s+/, '').trim());
  return [...new Set(lines.filter(Boolean))];
}
