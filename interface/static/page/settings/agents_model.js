/** The form of an agent: what it shows of an agent, and what of it is sent. */

/** Stands for the id of an agent that is not made yet. */
export const NEW = 'new';

/**
 * @typedef {{title: string, slug: string, told: string, model: string, ownTools: boolean, tools: string[]}} AgentForm
 *   `model`: '' for that of the conversation; `ownTools`: whether `tools` are all that the agent may call
 */

/**
 * @param {object|null} agent as `GET /api/agents` tells of it; null for one that is not made yet
 * @param {Array<{name: string, on_by_default: boolean}>} tools as `GET /api/tools` tells of them
 * @returns {AgentForm}
 */
export function formOf(agent, tools) {
  const usual = tools.filter(({ on_by_default: isOn }) => isOn).map(({ name }) => name);
  const { title = '', slug = '', system_prompt: told = '', model, enabled_tools: own } = agent ?? {};
  return { title, slug, told, model: model ?? '', ownTools: Boolean(own), tools: own ?? usual };
}

/**
 * @param {AgentForm} form
 * @param {object|null} agent whose inbox stays as it is
 * @returns {object} the body of the request that stores the agent
 */
export function bodyOf({ title, slug, told, model, ownTools, tools }, agent) {
  const { service, rules, hourly_limit: hourlyLimit } = agent ?? {};
  return {
    title: title.trim(),
    slug: slug.trim().replace(/^@?agent_/i, ''),
    system_prompt: told,
    model: model || null,
    enabled_tools: ownTools ? tools : null,
    ...(agent ? { service, rules, hourly_limit: hourlyLimit } : {}),
  };
}

const comparable = (form) => JSON.stringify(bodyOf({ ...form, tools: form.tools.toSorted() }, null));

/** @param {AgentForm} one @param {AgentForm} other @returns {boolean} whether both store the same agent */
export const isSameForm = (one, other) => comparable(one) === comparable(other);

/**
 * @param {string[]} known what can be chosen
 * @param {string[]} chosen
 * @returns {Array<{name: string, isGone: boolean}>} what is shown to choose from: what was chosen and is gone stays, at the end
 */
export function withGone(known, chosen) {
  const gone = chosen.filter((name) => !known.includes(name));
  return [...known.map((name) => ({ name, isGone: false })), ...gone.map((name) => ({ name, isGone: true }))];
}
