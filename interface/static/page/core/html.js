/** HTML as text, for the two libraries that take nothing else: the lexer of Markdown and the tree's menus. */

const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/** @param {string} text @returns {string} as HTML that shows it */
export const escapeHtml = (text) => text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
