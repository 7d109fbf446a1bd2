/**
 * The parts of the page that are loaded when they are first needed, where set-up has joined them in one file: there, each
 * `import('…')` of such a part has become `later('…')`.
 */

import { importAsset } from './assets.js';

/**
 * @param {string} name of the part's module, below the page's folder: `memories/panel.js`
 * @returns {Promise<object>} its exports
 */
export const later = async (name) => (await importAsset('built/later.js')).modules[name];
