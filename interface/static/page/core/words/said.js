/** What the server says to the person, in the language of the page. */

import { agentName } from './agent_name.js';
import { errorWords } from '../../strings/en/errors.js';
import { betweenSentences, isServersLanguage, saidWords } from '../../strings/en/said.js';

/**
 * @typedef {object} Saying one sentence of the server
 * @property {string} [code] of its `sentences.py`
 * @property {Object<string, string|number>} [values]
 * @property {string} [text] a sentence without a code, which is the same in each language
 */

/** The words that come with the first answer that needs them; null until then. */
let further = null;
let loading = null;
/** So long, an answer waits for its words. */
const PATIENCE_MS = 5000;
const CODE = /"code": ?"(\w+)"/g;

/**
 * @param {string} text of an answer, or lines of a stream
 * @returns {boolean} whether the server says something in it for which the words that the page begins with are not enough
 */
export const needsFurtherWords = (text) => [...text.matchAll(CODE)].some(([, code]) => !Object.hasOwn(saidWords, code) && !Object.hasOwn(errorWords, code));

function load() {
  // eslint-disable-next-line no-restricted-syntax -- of words that don't come, nobody is told: the server's own sentence is shown
  loading ??= import('../../strings/en/said_later.js').then((words) => {
    further = words;
  }, () => {
    loading = null;
  });
  return loading;
}

/**
 * Brings the words for what the server says in an answer, where the page did not begin with them: to be awaited before
 * anybody reads the answer. Where they don't come, the server's own sentence is shown, and the next answer asks for them again.
 *
 * @param {string} text of the answer, JSON
 * @returns {Promise<void>}
 */
export async function bringWordsFor(text) {
  if (isServersLanguage || further || !needsFurtherWords(text)) return;
  let timer;
  await Promise.race([load(), new Promise((resolve) => {
    timer = setTimeout(resolve, PATIENCE_MS);
  })]);
  clearTimeout(timer);
}

const own = (words, code) => (Object.hasOwn(words ?? {}, code) ? words[code] : undefined);

/** @param {string|undefined} code of an error @returns {string|((message: string) => string)|undefined} */
export const wordsOfError = (code) => own(errorWords, code ?? '') ?? own(further?.laterErrors, code ?? '');

function sentenceOf({ code = '', values, text }) {
  const words = own(saidWords, code) ?? own(further?.laterWords, code) ?? text;
  return typeof words === 'function' ? words({ ...values, agent: agentName(values?.agent) }) : words;
}

/**
 * What could not be done, as an answer of the server tells it.
 *
 * @param {{warnings?: string[], warnings_said?: Saying[][]}} answer
 * @returns {string[]} in the page's language
 */
export const warningsIn = ({ warnings = [], warnings_said: said = [] }) => warnings.map((text, place) => saidText(text, said[place]));

/**
 * @param {string} text as the server says it, in English
 * @param {Saying[]|null} [said] the sentences of it; what was stored by an earlier version has none
 * @returns {string} in the page's language; the server's own text where that has no words for one of the sentences
 */
export function saidText(text, said) {
  const sentences = (said ?? []).map(sentenceOf);
  return sentences.length > 0 && sentences.every(Boolean) ? sentences.join(betweenSentences) : text;
}
