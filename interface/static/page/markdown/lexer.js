import { Lexer, Marked, Parser } from '../../vendor/marked.esm.js';
import { escapeHtml } from '../core/html.js';
import { mathExtensions } from './math_model.js';

/** Code as it was written: copied, it is that very code, and not a line end longer. */
function codeBlock({ text, lang = '' }) {
  const language = lang.trim().split(/\s+/)[0];
  // The lexer adds a line end to code that ends in one.
  const code = escapeHtml(text.replace(/\n$/, ''));
  return `<pre><code${language ? ` class="language-${escapeHtml(language)}"` : ''}>${code}</code></pre>`;
}

/**
 * The one configuration of Markdown: GitHub's flavour, mathematics, and no HTML (a tag is shown as it was typed).
 *
 * @param {{breaks?: boolean}} [options] `breaks`: a line end is a line break, as people expect of what they type
 * @returns {{lex: (text: string, links: object) => object[], html: (token: object) => string}} `html` is not yet safe
 */
export function createMarkdown({ breaks = false } = {}) {
  const { defaults } = new Marked({
    gfm: true,
    breaks,
    extensions: mathExtensions,
    renderer: { code: codeBlock },
    tokenizer: { html: () => undefined, tag: () => undefined },
  });

  function lex(text, links) {
    const lexer = new Lexer(defaults);
    lexer.tokens.links = links;
    return lexer.lex(text);
  }

  return { lex, html: (token) => Parser.parse([token], defaults) };
}
