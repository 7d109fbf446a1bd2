import DOMPurify from '../../vendor/purify.es.mjs';
import { createMarkdown } from './lexer.js';

const ALLOWED = {
  ALLOWED_TAGS: [
    'p', 'br', 'hr', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'ul', 'ol', 'li', 'blockquote', 'pre', 'code', 'strong', 'em', 'del',
    'a', 'img', 'table', 'thead', 'tbody', 'tr', 'th', 'td', 'input', 'div', 'span',
  ],
  ALLOWED_ATTR: ['href', 'title', 'src', 'alt', 'start', 'type', 'checked', 'disabled', 'align', 'class'],
  ALLOW_DATA_ATTR: false,
  FORBID_ATTR: ['style', 'id', 'name'],
  RETURN_DOM_FRAGMENT: true,
};
const SPANS_ALONE = { ALLOWED_TAGS: ['span'], ALLOWED_ATTR: ['class'], ALLOW_DATA_ATTR: false, RETURN_DOM_FRAGMENT: true };
const LINK_PROTOCOLS = new Set(['http:', 'https:', 'mailto:']);
const DIRECTED = ':is(.md-block > :is(p, h1, h2, h3, h4, h5, h6, ul, ol, blockquote), td, th)';
const DATA_IMAGE = /^data:image\/(?:png|jpeg|gif|webp);base64,/i;

/** A sanitiser that reads its rules once: reading them costs as much as sanitising a short message. */
function createSanitiser(rules) {
  let own = null;
  return (html) => {
    if (!own) {
      own = DOMPurify();
      own.setConfig(rules);
    }
    return own.sanitize(html);
  };
}

const sanitised = createSanitiser(ALLOWED);

/** @type {(html: string) => DocumentFragment} text and spans with classes alone */
export const sanitisedSpans = createSanitiser(SPANS_ALONE);

function parseUrl(text) {
  try {
    return new URL(text, document.baseURI);
  } catch {
    return null;
  }
}

function inert(anchor) {
  const span = document.createElement('span');
  span.className = 'inert-link';
  span.append(...anchor.childNodes);
  anchor.replaceWith(span);
}

function tameLink(anchor) {
  const url = parseUrl(anchor.getAttribute('href') ?? '');
  if (!anchor.hasAttribute('href') || !url || !LINK_PROTOCOLS.has(url.protocol)) {
    inert(anchor);
    return;
  }
  anchor.rel = 'noopener noreferrer';
  anchor.target = '_blank';
}

/** Only pictures that are in the text itself are shown: any other would make the reader's browser ask for an address. */
function tameImage(image) {
  const source = image.getAttribute('src') ?? '';
  if (DATA_IMAGE.test(source)) {
    image.loading = 'lazy';
    return;
  }
  const anchor = document.createElement('a');
  anchor.textContent = image.alt || source;
  anchor.setAttribute('href', source);
  image.replaceWith(anchor);
  tameLink(anchor);
}

/**
 * @param {{breaks?: boolean}} [options] `breaks`: line ends are line breaks
 * @returns {{lex: (text: string, links: object) => object[], render: (tokens: object[]) => HTMLElement[]}}
 */
export function createRenderer(options) {
  const markdown = createMarkdown(options);

  function safe(html) {
    const fragment = sanitised(html);
    fragment.querySelectorAll('img').forEach(tameImage);
    fragment.querySelectorAll('a').forEach((anchor) => anchor.rel || tameLink(anchor));
    // Each block is written in the direction of its first letter; what is in it follows.
    for (const node of fragment.querySelectorAll(DIRECTED)) node.dir = 'auto';
    for (const box of fragment.querySelectorAll('input')) {
      if (box.type === 'checkbox') box.disabled = true;
      else box.remove();
    }
    return fragment;
  }

  function block(html) {
    return `<div class="md-block">${html}</div>`;
  }

  /** Blocks of a text, each in an element of its own; safe to show. All in one go, since parsing has its price each time. */
  function render(tokens) {
    const htmls = tokens.map(markdown.html);
    const together = [...safe(htmls.map(block).join('')).children];
    if (together.length === tokens.length) return together;
    return htmls.map((html) => safe(block(html)).firstElementChild);
  }

  return { lex: markdown.lex, render };
}
