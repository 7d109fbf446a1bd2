import { strings } from '../lib/strings.js';
import { element } from './dom.js';

/**
 * The looks of a panel, before it is shown: nothing may jump.
 *
 * @param {string} name of the file
 * @returns {Promise<void>}
 */
export function addPanelStyle(name) {
  const link = element('link', { rel: 'stylesheet', href: new URL(`../../css/${name}.css`, import.meta.url).pathname });
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(strings.unreachable));
    });
    document.head.append(link);
  });
}
