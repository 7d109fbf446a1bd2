/** A message as it is read aloud: its words, without the marks of Markdown. */

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
