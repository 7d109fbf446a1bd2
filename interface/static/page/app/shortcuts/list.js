import { sendsWithEnter } from '../../core/storage.js';
import { shortcutStrings } from '../../strings/en/shortcuts.js';
import { allKeys } from './shortcuts_model.js';
import { element } from '../../ui/dom.js';

const isMac = () => /^Mac|^iP/.test(navigator.platform);

/** Every key that does something, as a list of terms. @returns {HTMLElement} */
export function shortcutList() {
  const named = isMac() ? shortcutStrings.macKeys : shortcutStrings.keys;
  const rows = allKeys({ sendsOnEnter: sendsWithEnter.get() }).map(({ name, keys }) => {
    const pressed = keys.flatMap((key, place) => [...(place ? [' + '] : []), element('kbd', { text: named[key] ?? key })]);
    return element('div', { class: 'shortcut' },
      element('dt', { class: 'shortcut-name', text: shortcutStrings.of[name] }), element('dd', { class: 'shortcut-keys' }, ...pressed));
  });
  return element('dl', { class: 'shortcut-list' }, ...rows);
}
