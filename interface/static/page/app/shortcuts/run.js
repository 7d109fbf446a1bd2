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

const JOBS = {
  search: ({ events }) => events.emit('search:open', null),
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
 * Does what a shortcut stands for. Loaded with the first one that is pressed.
 *
 * @param {string} name of `app/shortcuts/shortcuts_model.js`
 * @param {{events: object, store: import('../../core/store.js').Store}} page
 * @returns {Promise<void>}
 */
export async function runShortcut(name, page) {
  await JOBS[name](page);
}
