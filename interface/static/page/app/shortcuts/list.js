import { sendsWithEnter } from '../../core/browser_storage/storage.js';
import { shortcutStrings } from '../../strings/en/shortcuts.js';
import { allKeys } from './shortcuts_model.js';
import { element } from '../../ui/dom.js';

const isMac = () => /^Mac|^iP/.test(navigator.platform);

/** @param {string[]} keys @returns {Array<Node|string>} the keys of a shortcut, as this machine names them */
export function keyNodes(keys) {
  const named = isMac() ? shortcutStrings.macKeys : shortcutStrings.keys;
  return keys.flatMap((key, place) => [...(place ? [' + '] : []), element('kbd', { text: named[key] ?? key })]);
}

/** Every key that does something, as a list of terms. @returns {HTMLElement} */
export function shortcutList() {
  const rows = allKeys({ sendsOnEnter: sendsWithEnter.get() }).map(({ name, keys }) => element('div', { class: 'shortcut' },
    element('dt', { class: 'shortcut-name', text: shortcutStrings.of[name] }), element('dd', { class: 'shortcut-keys' }, ...keyNodes(keys))));
  return element('dl', { class: 'shortcut-list' }, ...rows);
}
