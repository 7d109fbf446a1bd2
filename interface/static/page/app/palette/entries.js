/** The entries of the palette: what shortcuts, commands, the menu of the open conversation and the settings offer. */

import { ALSO_ELSEWHERE, COMMANDS } from '../../composer/commands/commands_model.js';
import { composerStrings } from '../../strings/en/composer.js';
import { strings } from '../../strings/en/conversation.js';
import { paletteStrings } from '../../strings/en/palette.js';
import { shortcutStrings } from '../../strings/en/shortcuts.js';
import { listedTitle } from '../../core/words/conversation_title.js';
import { ACTIONS } from '../shortcuts/shortcuts_model.js';
import { runShortcut } from '../shortcuts/run.js';
import { spriteName } from '../../ui/icons.js';

/** Items of the conversation's menu that a shortcut does, too. */
const ALSO_SHORTCUTS = new Set(['copyFullReference']);

/** What the list of shortcuts says otherwise: of a key, or of itself. */
const NAMES = { find: strings.find.label, help: shortcutStrings.title };

const isOffered = ({ name, needsBeside = false }, { store }) => name !== 'palette' && (!needsBeside || store.besideId !== null);

const actionEntries = (page) => ACTIONS.filter((action) => isOffered(action, page)).map(({ name, keys, icon }) => ({
  key: `action:${name}`, group: 'actions', icon, label: NAMES[name] ?? shortcutStrings.of[name], keys, run: () => runShortcut(name, page),
}));

const commandEntries = ({ events }) => COMMANDS.filter(({ name }) => !ALSO_ELSEWHERE.has(name)).map(({ name }) => ({
  key: `command:${name}`, group: 'actions', icon: 'slash-square', label: composerStrings.commands.about[name], about: `/${name}`,
  run: () => events.emit('command:run', { text: `/${name}` }),
}));

function menuEntry([name, { text, icon, action }], above) {
  const label = above ? paletteStrings.within(above.text, text) : text;
  const key = above ? `menu:${above.name}:${text}` : `menu:${name}`;
  return { key, group: 'conversation', icon: spriteName(icon) ?? 'chat', label, isDeep: Boolean(above), run: action };
}

/** The items of a menu; those of a submenu come after the name of the menu that they are in. */
function menuEntries(items) {
  const open = Object.entries(items).filter(([name, { _disabled: isClosed }]) => !isClosed && !ALSO_SHORTCUTS.has(name));
  return open.flatMap(([name, item]) => {
    if (!item.submenu) return [menuEntry([name, item])];
    const inside = Object.entries(item.submenu).filter(([, { _disabled: isClosed }]) => !isClosed);
    return inside.map((each) => menuEntry(each, { name, text: item.text }));
  });
}

/** @param {object} conversation @param {{events: object}} page */
export function conversationEntry({ conversation_id: conversationId, tags = [], ...named }, { events }) {
  return {
    key: `conversation:${conversationId}`, group: 'conversations', icon: 'chat', label: listedTitle(named), words: tags.join(' '),
    run: () => events.emit('conversation:open', { conversationId }),
    runBeside: () => events.emit('conversation:beside', { conversationId }),
  };
}

function settingsEntries() {
  const sections = JSON.parse(document.getElementById('settings-sections').textContent);
  return sections.map(([name, title, icon]) => ({
    key: `settings:${name}`, group: 'settings', icon, label: title, run: () => location.assign(`/settings#${name}`),
  }));
}

/** The way to everything that was said. @param {string} query */
export function searchEntry(query, { events }) {
  return { key: 'search', group: 'search', icon: 'search', label: paletteStrings.searchFor(query), run: () => events.emit('search:open', { q: query }) };
}

/**
 * @param {object} page what the page's parts share, and `conversationMenu(conversationId)`
 * @returns {Promise<import('./palette_model.js').Entry[]>} all but the conversations
 */
export async function fixedEntries(page) {
  const { activeId: openId } = page.store;
  // One that was left meanwhile, or never was in a list, has no menu.
  const menu = openId && page.store.conversation(openId) ? await page.conversationMenu(openId) : {};
  return [...menuEntries(menu), ...actionEntries(page), ...commandEntries(page), ...settingsEntries()];
}
