/** A message as it is read aloud: its words, without the marks of Markdown. */

import { excerpt } from '../../message_model.js';

const CODE = /^ {0,3}(```|~~~)[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|$(?![\s\S]))/gm;

/** @param {string} text Markdown @returns {string} */
export function spokenText(text) {
  return text
    .replace(CODE, '')
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/`([^`]*)`/g, '$1')
    .replace(/^ {0,3}(?:#{1,6}|>|[-*+]|\d+[.)])\s+/gm, '')
    .replace(/(\*\*|__|~~|\*)(?=\S)([^\n]*?\S)\1/g, '$2')
    .replace(/\n{3,}/g, '\n\n')
    .trim();
}

/**
 * @param {string} text Markdown
 * @param {number} length
 * @returns {string} the beginning of it on one line, without the marks; what is nothing but code stays as it is
 */
export function plainExcerpt(text, length) {
  return excerpt(spokenText(text) || text, length);
}
