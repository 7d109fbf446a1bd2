/** The big libraries, loaded when a message first needs them. */

import { bring } from '../core/api.js';
import { strings } from '../strings/en/conversation.js';

const base = new URL('../../vendor/', import.meta.url);

/** The page that draws diagrams, apart from everything else. */
export const MERMAID_FRAME = new URL('../../mermaid_frame.html', import.meta.url).href;

/** @template T @param {() => Promise<T>} load @returns {() => Promise<T>} loads once; a failed load is tried again */
function once(load) {
  let loading = null;
  return () => {
    loading ??= load().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}

function addStyle(path) {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = new URL(path, base).href;
  return new Promise((resolve, reject) => {
    link.addEventListener('load', resolve);
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(strings.unreachable));
    });
    document.head.append(link);
  });
}

/** @returns {Promise<object>} highlight.js */
export const loadHighlighter = once(async () => (await bring(() => import('../../vendor/highlight.min.js'))).default);

/** @returns {Promise<object>} KaTeX, with its style sheet */
export const loadKatex = once(async () => {
  const [katex] = await Promise.all([bring(() => import('../../vendor/katex/katex.mjs')), addStyle('katex/katex.min.css')]);
  return katex.default;
});
