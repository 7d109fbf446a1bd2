/** Mathematics in Markdown: `$…$`, `\(…\)` in a line; `$$…$$`, `\[…\]` for themselves. As extensions for the lexer. */

import { escapeHtml } from '../core/html.js';

const BLOCK = [/^ {0,3}\$\$([\s\S]+?)\$\$ *(?:\n|$)/, /^ {0,3}\\\[([\s\S]+?)\\\] *(?:\n|$)/];
// A dollar opens when no space follows and closes when no space precedes and no digit follows: prices stay prices. No
// backtick stands between: code is code, also where it holds a dollar.
const INLINE = [
  [/^\$\$([^$\n]+?)\$\$/, true],
  [/^\\\[([^\n]+?)\\\]/, true],
  [/^\\\(([\s\S]+?)\\\)/, false],
  [/^\$(?![\s$])((?:\\.|[^\\$\n`])*?[^\s\\$`])\$(?!\d)/, false],
  [/^\$(\\.)\$(?!\d)/, false],
];

function firstOf(source, signs) {
  const found = signs.map((sign) => source.indexOf(sign)).filter((index) => index >= 0);
  return found.length > 0 ? Math.min(...found) : undefined;
}

const mathBlock = {
  name: 'mathBlock',
  level: 'block',
  start: (source) => {
    const found = /(?:^|\n) {0,3}(?:\$\$|\\\[)/.exec(source);
    return found ? found.index + (found[0].startsWith('\n') ? 1 : 0) : undefined;
  },
  tokenizer(source) {
    for (const pattern of BLOCK) {
      const found = pattern.exec(source);
      if (found && !/\n\s*\n/.test(found[1])) return { type: 'mathBlock', raw: found[0], text: found[1].trim() };
    }
    return undefined;
  },
  renderer: (token) => `<div class="math math-display">${escapeHtml(token.text)}</div>\n`,
};

const mathInline = {
  name: 'mathInline',
  level: 'inline',
  start: (source) => firstOf(source, ['$', '\\(', '\\[']),
  tokenizer(source) {
    for (const [pattern, display] of INLINE) {
      const found = pattern.exec(source);
      if (found) return { type: 'mathInline', raw: found[0], text: found[1].trim(), display };
    }
    return undefined;
  },
  renderer: (token) =>
    `<span class="math ${token.display ? 'math-display' : 'math-inline'}">${escapeHtml(token.text)}</span>`,
};

/** The extensions, in the shape that `marked.use({extensions})` takes. */
export const mathExtensions = [mathBlock, mathInline];
