/** The big libraries, loaded when a message first needs them. */

import { bring } from '../core/api.js';
import { addStyle, assetAddress, importAsset, once } from '../ui/assets.js';

/** @returns {string} the address of the page that draws diagrams, apart from everything else */
export const diagramFrame = () => assetAddress('mermaid_frame.html');

/** @returns {string} the address of the page that shows code of pages and pictures, apart from everything else */
export const previewFrame = () => assetAddress('preview_frame.html');

/** @returns {Promise<object>} highlight.js */
export const loadHighlighter = once(async () => (await bring(() => importAsset('vendor/highlight.min.js'))).default);

/** @returns {Promise<object>} KaTeX, with its style sheet */
export const loadKatex = once(async () => {
  const [katex] = await Promise.all([bring(() => importAsset('vendor/katex/katex.mjs')), addStyle('vendor/katex/katex.min.css')]);
  return katex.default;
});
