/** What keys do: one table for what listens, for the list that `?` shows, and for the settings. */

/** `Mod` is Ctrl, and ⌘ on a Mac. The last key is the one that is pressed with the others held. */
export const SHORTCUTS = [
  { name: 'search', keys: ['Mod', 'K'] },
  { name: 'newConversation', keys: ['Mod', 'Shift', 'O'] },
  { name: 'previous', keys: ['Alt', '↑'] },
  { name: 'next', keys: ['Alt', '↓'] },
  { name: 'sidebar', keys: ['Mod', 'B'] },
  { name: 'copyReference', keys: ['Mod', 'Shift', '.'] },
  { name: 'settings', keys: ['Mod', 'Shift', ','] },
  { name: 'compose', keys: ['/'] },
  { name: 'help', keys: ['?'] },
];

/** Where these stand on the keyboard: with Shift they give other characters. */
const CODES = { ',': 'Comma', '.': 'Period', '↑': 'ArrowUp', '↓': 'ArrowDown' };
const HELD = ['Mod', 'Shift', 'Alt'];
const WRITTEN_IN = 'input, textarea, select, [contenteditable]';

function isPressed(event, keys) {
  const key = keys.at(-1);
  const [mod, shift, alt] = HELD.map((held) => keys.includes(held));
  if ((event.ctrlKey || event.metaKey) !== mod || event.altKey !== alt) return false;
  // What is typed alone is a character, however the keyboard gives it.
  if (!mod && !alt) return event.key === key;
  return event.shiftKey === shift && (event.code === CODES[key] || event.key.toUpperCase() === key);
}

/**
 * @param {KeyboardEvent} event
 * @returns {string|null} the name of the shortcut that was pressed; characters that are written into a field are none
 */
export function shortcutOf(event) {
  if (event.defaultPrevented || event.isComposing) return null;
  const found = SHORTCUTS.find(({ keys }) => isPressed(event, keys));
  if (!found || (found.keys.length === 1 && event.target?.closest?.(WRITTEN_IN))) return null;
  return found.name;
}

/**
 * Everything that keys do, for people to read: the shortcuts, and what other parts of the page listen to.
 *
 * @param {{sendsOnEnter: boolean}} settings
 * @returns {Array<{name: string, keys: string[]}>}
 */
export function allKeys({ sendsOnEnter }) {
  return [
    ...SHORTCUTS,
    { name: 'send', keys: sendsOnEnter ? ['Enter'] : ['Mod', 'Enter'] },
    { name: 'newLine', keys: sendsOnEnter ? ['Shift', 'Enter'] : ['Enter'] },
    { name: 'mention', keys: ['@'] },
    { name: 'command', keys: ['/'] },
    { name: 'close', keys: ['Esc'] },
  ];
}
