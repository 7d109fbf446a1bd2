/** The English words that a translation lacks, and its words that English does not have, as `group.name`. Tests look at them. */
export const gaps = { missing: [], leftover: [] };

const isGroup = (value) => typeof value === 'object' && !Array.isArray(value);

/**
 * A translation in which everything is said: what it lacks is English.
 *
 * @template T
 * @param {T} english words by name: texts, lists, functions that return a text, and groups of those
 * @param {object} own
 * @param {string} [path] of the group, for `gaps`
 * @returns {T}
 */
export function fill(english, own, path = '') {
  const below = (name) => (path ? `${path}.${name}` : name);
  for (const name of Object.keys(own)) if (!(name in english)) gaps.leftover.push(below(name));
  return Object.fromEntries(Object.entries(english).map(([name, value]) => {
    if (isGroup(value)) return [name, fill(value, own[name] ?? {}, below(name))];
    if (own[name] === undefined) gaps.missing.push(below(name));
    return [name, own[name] ?? value];
  }));
}
