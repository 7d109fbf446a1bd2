/** The form of an agent: what it shows of an agent, and what of it is sent. */

import { agentName, agentTitle } from '../../core/words/agent_name.js';

/** Stands for the id of an agent that is not made yet. */
export const NEW = 'new';

/**
 * @typedef {{kind: string, room: string, title?: string, fromAgents: boolean}} RuleForm
 *   `kind`: recipe and type, with a slash between them; `room`: the id of the conversation, '' for all; `title`: what it is called
 * @typedef {{title: string, slug: string, told: string, model: string, ownTools: boolean, tools: string[], service: string, hourlyLimit: string, rules: RuleForm[]}} AgentForm
 *   `model`: '' for that of the conversation; `ownTools`: whether `tools` are all that the agent may call
 */

const HOURLY_LIMIT = 20;
const LONGEST_LINE = 200;

/** @returns {RuleForm} a rule as `GET /api/agents` tells of it, with the title of its conversation */
function ruleForm({ recipe, type, conversation_id: id, from_agents: fromAgents }, titles) {
  return { kind: `${recipe}/${type}`, room: id ?? '', title: id ? titles[id] ?? id : '', fromAgents };
}

/** The rule to send. */
function ruleOf({ kind, room, fromAgents }) {
  const [recipe, type] = kind.split('/');
  return { recipe, type, conversation_id: room || null, from_agents: fromAgents };
}

/**
 * @param {object|null} agent as `GET /api/agents` tells of it; null for one that is not made yet
 * @param {Array<{name: string, on_by_default: boolean}>} tools as `GET /api/tools` tells of them
 * @returns {AgentForm}
 */
export function formOf(agent, tools) {
  const usual = tools.filter(({ on_by_default: isOn }) => isOn).map(({ name }) => name);
  const { title = '', slug = '', system_prompt: told = '', model, enabled_tools: own } = agent ?? {};
  const { service = 'asked', hourly_limit: limit = HOURLY_LIMIT, rules = [], conversations = {} } = agent ?? {};
  const inbox = { service, hourlyLimit: String(limit), rules: rules.map((rule) => ruleForm(rule, conversations)) };
  return { title: agentName(title), slug, told, model: model ?? '', ownTools: Boolean(own), tools: own ?? usual, ...inbox };
}

/**
 * @param {AgentForm} form
 * @returns {object} the body of the request that stores the agent
 */
export function bodyOf({ title, slug, told, model, ownTools, tools, service, hourlyLimit, rules }) {
  return {
    title: agentTitle(title.trim()),
    slug: slug.trim().replace(/^@?agent_/i, ''),
    system_prompt: told,
    model: model || null,
    enabled_tools: ownTools ? tools : null,
    service,
    rules: rules.map(ruleOf),
    hourly_limit: Number(hourlyLimit),
  };
}

const comparable = (form) => JSON.stringify(bodyOf({ ...form, tools: form.tools.toSorted() }));

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

/**
 * @param {Array<{domain: string, title: string, activity_types: Array<{type: string, section: string}>}>} recipes as `GET /api/recipes` tells of them
 * @param {Object<string, string>} names of the kinds that come with the product
 * @returns {Array<{kind: string, label: string}>} what a rule can take, chat messages first
 */
export function activityKinds(recipes, names) {
  const kindOf = ({ domain, title }, { type, section }) => {
    const kind = `${domain}/${type}`;
    return { kind, label: names[kind] ?? `${title}: ${section} (${type})` };
  };
  const kinds = recipes.flatMap((recipe) => recipe.activity_types.map((type) => kindOf(recipe, type)));
  const isChat = ({ kind }) => kind === 'general-discussion/chat_message';
  return [...kinds.filter(isChat), ...kinds.filter((each) => !isChat(each))];
}

/** @param {object} activity as inboxes tell of it @returns {string} the activity in one line */
export function lineOf({ line, actor, content }) {
  const text = line ?? `${actor.name}: ${content}`;
  const [first, ...more] = text.split('\n');
  return first.length > LONGEST_LINE || more.length > 0 ? `${first.slice(0, LONGEST_LINE)}…` : first;
}
