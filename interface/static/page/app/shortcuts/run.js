import { bring } from '../../core/api.js';
import { copyText } from '../../core/clipboard.js';
import { shortcutStrings } from '../../strings/en/shortcuts.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { shortcutList } from './list.js';
import { showToast } from '../../ui/notices/toast.js';

async function copyReference({ store }) {
  const friendlyId = store.conversation(store.activeId)?.conversation_friendly_id;
  if (!friendlyId) {
    showToast(shortcutStrings.nothingToCopy);
    return;
  }
  const reference = `@conversation_${friendlyId}`;
  if (await copyText(reference)) showToast(shortcutStrings.copied(reference), { kind: 'success' });
}

async function help() {
  await addPanelStyle('app/shortcuts/shortcuts');
  const close = element('button', { type: 'submit', class: 'btn btn-primary', text: shortcutStrings.close });
  const dialog = openDialog({
    title: shortcutStrings.title, content: [shortcutList()], buttons: [close], className: 'shortcut-dialog', onSubmit: () => dialog.close(),
  });
  // Its only button is at the end: on a small screen the list would begin there.
  dialog.node.scrollTop = 0;
}

/** @param {'light'|'dark'|'system'} theme for `app/theme.js`, which is no module: it runs before the first paint */
const chooseTheme = (theme) => dispatchEvent(new CustomEvent('theme:choose', { detail: theme }));

const JOBS = {
  palette: async (page) => (await bring(() => import('../palette/palette.js'))).openPalette(page),
  search: ({ events }) => events.emit('search:open', null),
  memories: ({ events }) => events.emit('panel:show', { name: 'memories' }),
  documents: ({ events }) => events.emit('panel:show', { name: 'documents' }),
  newWorkspace: ({ events }) => events.emit('workspace:begin'),
  rail: ({ events }) => events.emit('rail:toggle'),
  collapseWorkspaces: ({ events }) => events.emit('workspaces:collapse'),
  lightTheme: () => chooseTheme('light'),
  darkTheme: () => chooseTheme('dark'),
  systemTheme: () => chooseTheme('system'),
  logOut: ({ logOut }) => logOut(),
  find: ({ events }) => events.emit('find:open'),
  newConversation: ({ events }) => events.emit('conversation:begin'),
  previous: ({ events }) => events.emit('conversation:step', { by: -1 }),
  next: ({ events }) => events.emit('conversation:step', { by: 1 }),
  sidebar: ({ events }) => events.emit('sidebar:toggle'),
  copyReference,
  beside: async (page) => (await bring(() => import('../palette/palette.js'))).openPalette(page, { isBeside: true }),
  otherSide: ({ events }) => events.emit('beside:turn'),
  swapSides: ({ events }) => events.emit('beside:swap'),
  closeBeside: ({ events }) => events.emit('beside:close'),
  settings: () => location.assign('/settings'),
  compose: ({ events }) => events.emit('composer:focus'),
  help,
};

/**
 * Does what a shortcut or an entry of the palette stands for. Loaded with the first one.
 *
 * @param {string} name of `ACTIONS` in `app/shortcuts/shortcuts_model.js`
 * @param {object} page what the page's parts share, and `conversationMenu(conversationId)`
 * @returns {Promise<void>}
 */
export async function runShortcut(name, page) {
  await JOBS[name](page);
}
