/** Icons from the one sprite that set-up builds from `interface/icons.txt`. */

import { assetAddress } from './assets.js';

const SVG = 'http://www.w3.org/2000/svg';

/** Font Awesome's names, where clients know them, and the sprite's symbols that stand for them. */
const FONT_AWESOME = {
  'fa-at': 'at',
  'fa-quote-right': 'quote',
  'fa-external-link': 'box-arrow-up-right',
  'fa-columns': 'layout-split',
  'fa-pencil': 'pencil',
  'fa-clone': 'copy',
  'fa-code-fork': 'signpost-split',
  'fa-download': 'download',
  'fa-eye': 'eye',
  'fa-eye-slash': 'eye-slash',
  'fa-file-text-o': 'file-text',
  'fa-link': 'link-45deg',
  'fa-folder': 'folder',
  'fa-folder-plus': 'folder-plus',
  'fa-arrow-right': 'arrow-right',
  'fa-trash': 'trash',
  'fa-plus': 'plus-lg',
  'fa-palette': 'palette',
  'fa-circle': 'circle-fill',
  'fa-circle-o': 'circle',
  'fa-house': 'house',
  'fa-comment-o': 'chat',
  'fa-thumb-tack': 'pin-angle',
  'fa-flag': 'flag',
  'fa-tag': 'tag',
  'fa-archive': 'archive',
  'fa-hourglass-half': 'hourglass-split',
  'fa-chevron-down': 'chevron-down',
  'fa-ellipsis-v': 'three-dots-vertical',
};

const drawn = new Map();

/**
 * @param {string} name a symbol of the sprite
 * @returns {SVGElement} decoration: hidden from assistive technology
 */
export function icon(name) {
  if (!drawn.has(name)) {
    const svg = document.createElementNS(SVG, 'svg');
    svg.setAttribute('class', 'icon');
    svg.setAttribute('aria-hidden', 'true');
    svg.setAttribute('focusable', 'false');
    const use = document.createElementNS(SVG, 'use');
    use.setAttribute('href', `${assetAddress('vendor/icons.svg')}#${name}`);
    svg.append(use);
    drawn.set(name, svg);
  }
  return drawn.get(name).cloneNode(true);
}

/** @param {string} classes with a name of Font Awesome's @returns {string|undefined} the sprite's symbol for it */
export const spriteName = (classes) => classes.split(' ').map((each) => FONT_AWESOME[each]).find(Boolean);

/**
 * Draw the icon that an element's `fa-…` class names, once.
 *
 * @param {Element} element
 */
export function drawNamedIcon(element) {
  if (element.firstElementChild) return;
  const name = spriteName(element.className);
  if (name) element.append(icon(name));
}
