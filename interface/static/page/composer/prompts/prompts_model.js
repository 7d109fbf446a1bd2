/** Prompts: texts that somebody keeps under a name, with fields like `{{language}}` to be filled in. */

const FIELD = /\{\{\s*([\p{L}\p{N}_][\p{L}\p{N}_ -]{0,49}?)\s*\}\}/gu;
const NAME = /^\p{L}[\p{L}\p{N}_-]{0,49}$/u;

/** @param {string} text @returns {string[]} the names of its fields, each once, in order */
export function fieldsOf(text) {
  return [...new Set([...text.matchAll(FIELD)].map(([, name]) => name))];
}

/**
 * @param {string} text
 * @param {Object<string, string>} values by the name of the field; a field without one stays as it is
 * @returns {string}
 */
export function filled(text, values) {
  return text.replace(FIELD, (whole, name) => (Object.hasOwn(values, name) ? values[name] : whole));
}

/** @param {string} name @returns {boolean} whether a prompt can have this name */
export const isPromptName = (name) => NAME.test(name);

/**
 * @param {Array<{name: string}>} prompts
 * @param {string} query the beginning of a name
 */
export function promptsLike(prompts, query) {
  return prompts.filter(({ name }) => name.startsWith(query.toLowerCase()));
}

/** @param {Array<{name: string}>} prompts @param {string} name */
export function promptNamed(prompts, name) {
  return prompts.find((prompt) => prompt.name === name.toLowerCase());
}
