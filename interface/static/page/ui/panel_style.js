import { strings } from '../strings/en/conversation.js';
import { element } from './dom.js';

/** What was brought, or is on its way, by name. */
const brought = new Map();

function add(name) {
  const link = element('link', { rel: 'stylesheet', href: new URL(`../${name}.css`, import.meta.url).pathname });
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(strings.unreachable));
    });
    document.head.append(link);
  });
}

/**
 * The looks of a panel, before it is shown: nothing may jump. They are brought once; what failed is tried again when they
 * are next asked for.
 *
 * @param {string} name of the file below the page, without its suffix: `search/search`
 * @returns {Promise<void>}
 */
export function addPanelStyle(name) {
  if (!brought.has(name)) {
    brought.set(name, add(name).catch((error) => {
      brought.delete(name);
      throw error;
    }));
  }
  return brought.get(name);
}
