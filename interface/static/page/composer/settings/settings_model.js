/** The options of a conversation's answers: as the server stores them, as a form shows them, as a preset names them. */

import { chosenModel, MAIN } from '../models/choices_model.js';

export const LONGEST_SYSTEM_PROMPT = 12_000;
export const HIGHEST_TEMPERATURE = 2;
const OPTIONS = ['system_prompt', 'temperature', 'answer_tokens', 'use_tools', 'tools', 'allow_writing'];

const text = (value) => (value === null || value === undefined ? '' : String(value));

/**
 * @typedef {{systemPrompt: string, temperature: string, answerTokens: string, model: string}} Fields what the form's fields
 *   hold; '' for the default, `model` is an id of `GET /models`
 */

/** @param {object} settings a conversation's @returns {Fields} */
export function fieldsOfSettings(settings) {
  const [systemPrompt, temperature, answerTokens] = OPTIONS.map((name) => text(settings[name]));
  return { systemPrompt, temperature, answerTokens, model: chosenModel(settings) ?? MAIN };
}

/** @param {object} preset as `GET /presets` has it @returns {Fields} */
export function fieldsOfPreset(preset) {
  return { ...fieldsOfSettings(preset), model: preset.model ?? MAIN };
}

/** What a number field holds; null where it is empty. A browser hands in '' for what is no number. */
const numberIn = (value) => (value.trim() === '' ? null : Number(value));

/**
 * @param {Fields} fields
 * @returns {'temperature'|'answerTokens'|'systemPrompt'|null} the first field that can't be saved
 */
export function wrongField({ systemPrompt, temperature, answerTokens }) {
  const heat = numberIn(temperature);
  const tokens = numberIn(answerTokens);
  if (systemPrompt.length > LONGEST_SYSTEM_PROMPT) return 'systemPrompt';
  if (heat !== null && !(heat >= 0 && heat <= HIGHEST_TEMPERATURE)) return 'temperature';
  if (tokens !== null && !(Number.isSafeInteger(tokens) && tokens > 0)) return 'answerTokens';
  return null;
}

/** @param {Fields} fields @returns {object} what `POST /presets` takes, but for the name */
export function presetOf({ systemPrompt, temperature, answerTokens, model }) {
  return {
    system_prompt: systemPrompt.trim() || null,
    temperature: numberIn(temperature),
    answer_tokens: numberIn(answerTokens),
    model: model === MAIN ? null : model,
  };
}

/** @param {Fields} fields @returns {object} what `PATCH /conversations/<id>/settings` takes; null takes a setting away */
export function settingsOf(fields) {
  const { model, ...options } = presetOf(fields);
  return { ...options, model_overrides: model === null ? null : { main: model } };
}

/**
 * The tools that models may call.
 *
 * @typedef {{use: string, chosen: Object<string, boolean>, mayWrite: boolean}} Tools `use`: '' where the server decides, 'on' or
 *   'off'; `chosen`: tools switched on or off by name, where that differs from their default; `mayWrite`: documents are changed at
 *   once, in the place of a proposal
 */

/** @param {object} settings a conversation's @returns {Tools} */
export function toolsOfSettings({ use_tools: use, tools, allow_writing: mayWrite }) {
  return { use: use === true ? 'on' : (use === false ? 'off' : ''), chosen: { ...tools }, mayWrite: mayWrite === true };
}

/** @param {Tools} tools @returns {object} settings, as `settingsOf` gives those of the other fields */
export function settingsOfTools({ use, chosen, mayWrite }) {
  return { use_tools: use === '' ? null : use === 'on', tools: Object.keys(chosen).length > 0 ? chosen : null, allow_writing: mayWrite || null };
}

/**
 * What may be called in a conversation without asking.
 *
 * @typedef {{tool: string, agentId: string|null}} Consent `agentId`: who may call it; null for the conversation's own model
 */

/** @param {object} settings a conversation's @returns {Consent[]} */
export function consentOf({ allowed_tools: own, agents_allowed_tools: byAgent }) {
  const listed = (tools, agentId) => (Array.isArray(tools) ? tools : []).map((tool) => ({ tool: String(tool), agentId }));
  return [...listed(own, null), ...Object.entries(byAgent ?? {}).flatMap(([agentId, tools]) => listed(tools, agentId))];
}

/** @param {Consent[]} consent @returns {object} settings, as `settingsOf` gives those of the other fields */
export function settingsOfConsent(consent) {
  const toolsOf = (id) => consent.filter(({ agentId }) => agentId === id).map(({ tool }) => tool);
  const agents = [...new Set(consent.map(({ agentId }) => agentId))].filter((id) => id !== null);
  return {
    allowed_tools: toolsOf(null).length > 0 ? toolsOf(null) : null,
    agents_allowed_tools: agents.length > 0 ? Object.fromEntries(agents.map((id) => [id, toolsOf(id)])) : null,
  };
}

/**
 * @param {object} before @param {object} wanted both as `settingsOf` gives them
 * @returns {object} the settings that are to change: another window may have changed the others
 */
export function changedSettings(before, wanted) {
  const same = (name) => JSON.stringify(before[name]) === JSON.stringify(wanted[name]);
  return Object.fromEntries(Object.entries(wanted).filter(([name]) => !same(name)));
}

/** @param {object} settings as `settingsOf` gives them @returns {object} the `options` of a message that is sent with them */
export function optionsOf(settings) {
  const chosen = OPTIONS.filter((name) => settings[name] !== null && settings[name] !== undefined);
  return Object.fromEntries(chosen.map((name) => [name, settings[name]]));
}
