/** The models that a conversation may be answered by, as `GET /models` tells of them. */

import { saidText } from '../../core/words/said.js';

const UNDER_WAY = new Set(['fetching', 'loading']);
const TO_BE_FETCHED = new Set(['absent', 'failed']);

/** What stands for the model that the server's settings name. */
export const MAIN = 'main';

const percentOf = ({ progress }) => (typeof progress === 'number' ? Math.floor(progress * 100) : null);

/** @returns {boolean} whether its state is about to change by itself */
export const isUnderWay = ({ state }) => UNDER_WAY.has(state.phase);

/** @returns {boolean} whether choosing it has to begin its fetching */
export const mustBeFetched = ({ kind, state }) => kind === 'embedded' && TO_BE_FETCHED.has(state.phase);

/**
 * @param {{choices: object[]}} models
 * @returns {Array<{kind: string, choices: object[]}>} 'own' first, then by where they run; groups that have something in them
 */
export function choiceGroups({ choices }) {
  const groups = ['own', 'embedded', 'openai', 'anthropic'].map((kind) => ({
    kind, choices: choices.filter((choice) => (choice.role ? 'own' : choice.kind) === kind),
  }));
  return groups.filter((group) => group.choices.length > 0);
}

/**
 * The model that answers where `id` is chosen (null: the server's own), and whether that one is gone.
 *
 * A name that the provider has not told of may be right all the same.
 *
 * @param {{choices: object[], providers?: object[]}} models
 * @param {string|null} id
 * @returns {{choice: object|null, name: string, isGone: boolean}}
 */
export function answeringModel({ choices, providers = [] }, id) {
  const main = choices.find((choice) => choice.id === MAIN) ?? null;
  const choice = choices.find((each) => each.id === (id ?? MAIN)) ?? null;
  if (choice) return { choice, name: choice.name, isGone: false };
  const [kind] = id.split(':', 1);
  const provider = providers.find((each) => each.kind === kind);
  if (provider && provider.phase !== 'ready') return { choice: null, name: id.slice(kind.length + 1), isGone: false };
  return { choice: main, name: main?.name ?? id, isGone: true };
}

/**
 * @param {{choices: object[]}} models
 * @param {string} typed an id, a name, or a part that only one has
 * @returns {object[]} the choices that it can mean
 */
export function choicesCalled({ choices }, typed) {
  const wanted = typed.trim().toLowerCase();
  const exact = choices.filter(({ id, name }) => id.toLowerCase() === wanted || name.toLowerCase() === wanted);
  if (exact.length > 0) return exact.slice(0, 1);
  return choices.filter(({ id, name }) => `${id} ${name}`.toLowerCase().includes(wanted));
}

/**
 * What stands below a model's name.
 *
 * @param {object} choice
 * @param {object} words `composerStrings.models`
 * @returns {string}
 */
export function aboutChoice({ role, state, size_bytes: bytes, context_window: tokens }, words) {
  const phase = state.phase === 'absent' ? words.absent(bytes) : words.phase[state.phase];
  const how = state.phase === 'fetching' ? words.fetching(percentOf(state)) : phase;
  const parts = [role ? words.role[role] : '', how, tokens ? words.window(tokens) : ''];
  if (state.phase === 'failed' || state.phase === 'none') parts.push(saidText(state.detail, state.said));
  return parts.filter(Boolean).join(' · ');
}

/** @returns {string} how far a model is, as a few characters; '' where there is nothing to wait for */
export function shortProgress({ state }, words) {
  return isUnderWay({ state }) ? words.shortly(percentOf(state)) : '';
}

/**
 * @param {object} settings a conversation's
 * @returns {string|null} the model that it has chosen
 */
export function chosenModel(settings) {
  const id = settings?.model_overrides?.main;
  return typeof id === 'string' && id !== '' && id !== MAIN ? id : null;
}
