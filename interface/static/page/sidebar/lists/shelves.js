/** The archive and the bin, each asked for when its section opens. */

import { shownTitle } from '../../core/words/conversation_title.js';
import { icon } from '../../ui/icons.js';
import { shellStrings } from '../../strings/en/shell.js';
import { spokenTitle } from '../tree_nodes_model.js';
import { tellFailure } from '../../ui/notices/attempts.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { element, whenReleased } from '../../ui/dom.js';
import { conversationRow, focusFirst, focusedIn } from './sections.js';
import { nameButton, tellRowsApart } from '../rows.js';
import { showToast } from '../../ui/notices/toast.js';

const PAGE = 100;
const words = shellStrings.shelves;

const note = (text) => element('li', { class: 'sidebar-note', text });

function moreButton(onMore) {
  const button = element('button', { class: 'btn btn-quiet sidebar-more', type: 'button', text: shellStrings.sidebar.more });
  button.addEventListener('click', () => {
    button.disabled = true;
    onMore();
  });
  return element('li', {}, button);
}

function rowButton(name, label, when, onClick) {
  const button = element('button', { class: 'sidebar-row-menu', type: 'button', title: label }, icon(name));
  nameButton(button, label, when);
  button.addEventListener('click', onClick);
  return button;
}

const headOf = (list) => list.closest('details').querySelector('summary');

/** Shows other rows; the focus stays with its conversation, or goes to the next one. */
function replaceRows(list, rows) {
  const focused = focusedIn(list);
  list.replaceChildren(...rows);
  tellRowsApart();
  if (focused) focusFirst(focused, [list], headOf(list));
}

/** Shows more rows in the place of the button that asked for them; the first of them gets its focus. */
function addRows(list, rows) {
  // Since it can't be pressed twice, it may have lost the focus already.
  const hadFocus = [list.lastElementChild.firstElementChild, document.body].includes(document.activeElement);
  list.lastElementChild.replaceWith(...rows);
  tellRowsApart();
  if (hadFocus) rows[0]?.querySelector('a, button').focus({ preventScroll: true });
}

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {string} parts.domain
 * @param {{onOpen: Function, onMenu: Function}} parts.on as for `conversationRow`
 * @param {(conversations: object[]) => void} parts.keep takes in the conversations of the archive that are shown
 * @param {(conversationId: string) => Promise<void>} parts.onRestored
 * @returns {{show: (section: 'archived'|'bin', list: HTMLElement) => Promise<void>}}
 */
export function createShelves({ api, domain, on, keep, onRestored }) {
  const timesAsked = new WeakMap();

  /** A list is asked for anew. @returns {() => boolean} whether it was not since: an older answer may come after a newer one */
  function ask(list) {
    timesAsked.set(list, (timesAsked.get(list) ?? 0) + 1);
    return newest(list);
  }

  function newest(list) {
    const times = timesAsked.get(list);
    return () => timesAsked.get(list) === times;
  }

  async function archivePage(list, cursor = null, isNewest = cursor ? newest(list) : ask(list)) {
    const query = { archived_only: true, limit: PAGE, cursor };
    const { conversations, cursor: next } = await api.listConversationsPage(domain, query);
    if (!isNewest()) return;
    keep(conversations);
    const rows = conversations.map((conversation) => conversationRow(conversation, on));
    if (next) rows.push(moreButton(() => orTell(list, () => archivePage(list, next))));
    if (cursor) addRows(list, rows);
    else replaceRows(list, rows.length ? rows : [note(words.archiveEmpty)]);
  }

  function binRow(conversation, list) {
    const { conversation_id: id, flag, days_left: days } = conversation;
    const title = shownTitle(conversation.title);
    const name = element('span', { class: 'sidebar-link', title, text: title });
    if (flag !== 'none') name.append(element('span', { class: 'visually-hidden', text: spokenTitle(conversation).slice(title.length) }));
    const left = element('span', { class: 'sidebar-row-note', text: words.daysLeft(days) });
    const restore = rowButton('arrow-counterclockwise', words.restore(title), conversation.deleted_at, () =>
      orTell(list, async () => {
        await api.restoreConversation(id);
        showToast(shellStrings.conversation.restored, { kind: 'success' });
        await Promise.all([bin(list), onRestored(id)]);
      }),
    );
    const erase = rowButton('trash', words.erase(title), conversation.deleted_at, async () => {
      const question = { title: words.eraseTitle(title), text: words.eraseText, confirmLabel: words.eraseConfirm };
      if (await confirmAction(question)) {
        await orTell(list, async () => {
          await api.eraseConversation(id);
          await bin(list);
        });
      }
    });
    return element('li', { class: 'sidebar-row sidebar-row-binned', 'data-conversation-id': id, 'data-flag': flag }, name, left, restore, erase);
  }

  function emptyButton(count, list) {
    const button = element('button', { class: 'btn btn-quiet sidebar-more', type: 'button', text: words.empty });
    button.addEventListener('click', async () => {
      const question = { title: words.emptyTitle(count), text: words.eraseText, confirmLabel: words.eraseConfirm };
      if (!(await confirmAction(question))) return;
      button.disabled = true;
      button.textContent = words.emptying;
      await orTell(list, async () => {
        const { erased } = await api.emptyBin(domain);
        showToast(words.emptied(erased), { kind: 'success' });
      });
      await orTell(list, () => bin(list));
      if (document.activeElement === document.body) headOf(list).focus();
    });
    return element('li', {}, button);
  }

  function binRows(found, list, from) {
    const rows = found.slice(from, from + PAGE).map((conversation) => binRow(conversation, list));
    if (from + PAGE < found.length) {
      rows.push(moreButton(() => addRows(list, binRows(found, list, from + PAGE))));
    }
    return rows;
  }

  async function bin(list, isNewest = ask(list)) {
    const found = await api.listBin(domain);
    if (list.matches(':active')) await whenReleased();
    if (!isNewest()) return;
    replaceRows(list, found.length ? [emptyButton(found.length, list), ...binRows(found, list, 0)] : [note(words.binEmpty)]);
  }

  async function orTell(list, job) {
    try {
      await job();
    } catch (error) {
      tellFailure(error, { failed: shellStrings.sidebar.actionFailed, again: () => orTell(list, job) });
      for (const button of list.querySelectorAll('button:disabled')) button.disabled = false;
    }
  }

  return {
    async show(section, list) {
      if (!list.childElementCount) list.replaceChildren(note(words.loading));
      const isNewest = ask(list);
      try {
        await (section === 'bin' ? bin(list, isNewest) : archivePage(list, null, isNewest));
      } catch (error) {
        if (!isNewest()) return;
        const again = element('button', { class: 'btn btn-quiet', type: 'button', text: shellStrings.sidebar.again });
        again.addEventListener('click', () => this.show(section, list));
        const failure = note(words.failed(error.message));
        failure.append(again);
        list.replaceChildren(failure);
      }
    },
  };
}
