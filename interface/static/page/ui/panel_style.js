import { addStyle, once } from './assets.js';

/** What loads each style sheet, by name. */
const loads = new Map();

/**
 * The looks of a panel, before it is shown: nothing may jump. They are brought once; what failed is tried again when they
 * are next asked for.
 *
 * @param {string} name of the file below the page's folder, without its suffix: `search/search`
 * @returns {Promise<void>}
 */
export function addPanelStyle(name) {
  if (!loads.has(name)) loads.set(name, once(() => addStyle(`page/${name}.css`)));
  return loads.get(name)();
}
