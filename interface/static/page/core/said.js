/** What the server says to the person, in the language of the page. */

import { agentName } from './agent_name.js';
import { betweenSentences, saidWords } from '../strings/en/said.js';

/**
 * @typedef {object} Saying one sentence of the server
 * @property {string} [code] of its `sentences.py`
 * @property {Object<string, string|number>} [values]
 * @property {string} [text] a sentence without a code, which is the same in each language
 */

function sentenceOf({ code, values, text }) {
  const words = Object.hasOwn(saidWords, code ?? '') ? saidWords[code] : text;
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
