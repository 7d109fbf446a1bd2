import { listensToCharacters } from '../../core/browser_storage/storage.js';

/** What the page can do: one table for what listens to keys, for the list that `?` shows, for the settings and the palette. */

/**
 * `Mod` is Ctrl, and ⌘ on a Mac. The last key is the one that is pressed with the others held. `icon`: in the palette, which
 * offers what `needsBeside` only where two conversations are open.
 */
export const ACTIONS = [
  { name: 'palette', keys: ['Mod', 'K'], icon: 'slash-square' },
  { name: 'search', keys: ['Mod', 'Shift', 'F'], icon: 'search' },
  { name: 'find', keys: ['Mod', 'F'], icon: 'search' },
  { name: 'newConversation', keys: ['Mod', 'Shift', 'O'], icon: 'plus-lg' },
  { name: 'newWorkspace', icon: 'folder-plus' },
  { name: 'memories', icon: 'bookmark' },
  { name: 'documents', icon: 'file-text' },
  { name: 'previous', keys: ['Alt', '↑'], icon: 'arrow-up' },
  { name: 'next', keys: ['Alt', '↓'], icon: 'arrow-down' },
  { name: 'beside', keys: ['Mod', '\\'], icon: 'layout-split' },
  { name: 'otherSide', keys: ['F6'], icon: 'layout-split', needsBeside: true },
  { name: 'swapSides', icon: 'arrow-left-right', needsBeside: true },
  { name: 'closeBeside', icon: 'x-lg', needsBeside: true },
  { name: 'sidebar', keys: ['Mod', 'B'], icon: 'layout-sidebar' },
  { name: 'rail', icon: 'layout-sidebar-reverse' },
  { name: 'collapseWorkspaces', icon: 'arrows-collapse' },
  { name: 'copyReference', keys: ['Mod', 'Shift', '.'], icon: 'at' },
  { name: 'settings', keys: ['Mod', 'Shift', ','], icon: 'gear' },
  { name: 'compose', keys: ['/'], icon: 'pencil' },
  { name: 'lightTheme', icon: 'sun' },
  { name: 'darkTheme', icon: 'moon' },
  { name: 'systemTheme', icon: 'circle-half' },
  { name: 'help', keys: ['?'], icon: 'keyboard' },
  { name: 'logOut', icon: 'box-arrow-right' },
];

export const SHORTCUTS = ACTIONS.filter(({ keys }) => keys);

/** Where these stand on the keyboard: with Shift they give other characters. */
const CODES = { '\\': 'Backslash', ',': 'Comma', '.': 'Period', '↑': 'ArrowUp', '↓': 'ArrowDown' };
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
 * @returns {string|null} the name of the shortcut that was pressed; characters are none where they are written into a field, or switched off
 */
export function shortcutOf(event) {
  if (event.defaultPrevented || event.isComposing) return null;
  const found = SHORTCUTS.find(({ keys }) => isPressed(event, keys));
  if (!found) return null;
  const isCharacter = found.keys.length === 1 && found.keys[0].length === 1;
  return isCharacter && (!listensToCharacters.get() || event.target?.closest?.(WRITTEN_IN)) ? null : found.name;
}

/**
 * Everything that keys do, for people to read: the shortcuts, and what other parts of the page listen to.
 *
 * @param {{sendsOnEnter: boolean}} settings
 * @returns {Array<{name: string, keys: string[]}>}
 */
export function allKeys({ sendsOnEnter }) {
  return [
    ...SHORTCUTS.map(({ name, keys }) => ({ name, keys })),
    { name: 'send', keys: sendsOnEnter ? ['Enter'] : ['Mod', 'Enter'] },
    { name: 'newLine', keys: sendsOnEnter ? ['Shift', 'Enter'] : ['Enter'] },
    { name: 'mention', keys: ['@'] },
    { name: 'command', keys: ['/'] },
    { name: 'editLast', keys: ['↑'] },
    { name: 'stop', keys: ['Esc'] },
    { name: 'close', keys: ['Esc'] },
  ];
}
