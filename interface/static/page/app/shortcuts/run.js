import { bring } from '../../core/api.js';
import { copyText } from '../../core/clipboard.js';
import { shortcutStrings } from '../../strings/en/shortcuts.js';
import { openDialog } from '../../ui/dialog.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { shortcutList } from './list.js';
import { showToast } from '../../ui/toast.js';

const ROWS = '#workspaces-container a[data-conversation-id]';

function press(selector) {
  document.querySelector(selector).click();
}

/** Opens the conversation that is listed `step` rows below the open one; without one, the first or the last. */
function openListed(step, { events, store }) {
  const ids = [...document.querySelectorAll(ROWS)].map((row) => row.dataset.conversationId);
  const place = ids.indexOf(store.openId);
  const from = place === -1 && step < 0 ? ids.length : place;
  const conversationId = ids[from + step];
  if (conversationId) events.emit('conversation:open', { conversationId });
}

async function copyReference({ store }) {
  const friendlyId = store.conversation(store.openId)?.conversation_friendly_id;
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

/** As if somebody had chosen it in the menu of the account. */
function chooseTheme(value) {
  const radio = document.querySelector(`input[name="theme"][value="${value}"]`);
  radio.checked = true;
  radio.dispatchEvent(new Event('change', { bubbles: true }));
}

const JOBS = {
  palette: async (page) => (await bring(() => import('../palette/palette.js'))).openPalette(page),
  search: ({ events }) => events.emit('search:open', null),
  memories: () => press('#open-knowledge'),
  newWorkspace: () => press('#new-workspace'),
  rail: () => press('#rail-toggle'),
  collapseWorkspaces: () => press('#collapse-workspaces'),
  lightTheme: () => chooseTheme('light'),
  darkTheme: () => chooseTheme('dark'),
  systemTheme: () => chooseTheme('system'),
  logOut: () => document.querySelector('form[action="/logout"]').requestSubmit(),
  find: ({ events }) => events.emit('find:open'),
  newConversation: () => press('#new-conversation'),
  previous: (page) => openListed(-1, page),
  next: (page) => openListed(1, page),
  sidebar: () => press('#conversation-header [data-sidebar-toggle]'),
  copyReference,
  settings: () => location.assign('/settings'),
  compose: () => document.getElementById('composer-input').focus(),
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
