import { createShareApi, linkOf } from './api.js';
import { shareStrings } from '../../strings/en/sharing.js';
import { shownTitle } from '../../core/words/conversation_title.js';
import { shortTime } from '../../core/words/times.js';
import { element, replaceWithFocus } from '../../ui/dom.js';
import { confirmWithdrawal, copyButton, loadShareStyle, openLink, problemNotice } from './links.js';
import { showToast } from '../../ui/notices/toast.js';

const words = shareStrings.list;

function note(text) {
  return element('p', { class: 'share-status', role: 'status', text });
}

function row(share, onWithdraw) {
  const title = shownTitle(share.title);
  const link = share.in_bin ? '' : linkOf(share);
  const about = [words.about(share.message_count, shortTime(share.created_at)), ...(share.in_bin ? [words.inBin] : [])].join(' · ');
  const text = element('div', { class: 'share-list-words' },
    element('div', { class: 'share-list-title', text: title }), element('div', { class: 'share-list-about', text: about }));
  const withdraw = element('button', {
    type: 'button', class: 'btn btn-quiet', text: shareStrings.withdraw.confirm, 'aria-label': words.withdraw(title), onclick: () => onWithdraw(share, withdraw),
  });
  const buttons = [...(link ? [copyButton(link, words.copy(title)), openLink(link, words.open(title))] : []), withdraw];
  return element('li', { class: 'share-list-row' }, text, element('div', { class: 'share-list-buttons' }, ...buttons));
}

/**
 * Shows the links that the person has given out, each with what copies, opens and withdraws it.
 *
 * @param {HTMLElement} place which the list fills
 * @param {{api: object}} page
 * @returns {Promise<void>} when the list, or what failed, is shown
 */
export async function mountShareList(place, { api }) {
  const shareApi = createShareApi(api);

  async function withdraw(share, button) {
    if (button.hasAttribute('aria-disabled') || !(await confirmWithdrawal())) return;
    await end(share, button);
  }

  async function end(share, button) {
    button.setAttribute('aria-disabled', 'true');
    button.textContent = shareStrings.withdraw.running;
    try {
      await shareApi.withdraw(share.conversation_id);
      showToast(shareStrings.withdraw.done, { kind: 'success' });
    } catch (error) {
      button.removeAttribute('aria-disabled');
      button.textContent = shareStrings.withdraw.confirm;
      if (error.code !== 'share_not_found') {
        showToast(shareStrings.withdraw.failed(error.message), { kind: 'error', actionLabel: shareStrings.again, onAction: () => end(share, button) });
        return;
      }
    }
    await show();
  }

  async function show() {
    replaceWithFocus(place, note(words.looking));
    try {
      const [shares] = await Promise.all([shareApi.listShares(), loadShareStyle()]);
      const rows = shares.map((share) => row(share, withdraw));
      replaceWithFocus(place, rows.length ? element('ul', { class: 'share-list' }, ...rows) : note(words.none));
    } catch (error) {
      replaceWithFocus(place, problemNotice(words.failed(error.message), show));
    }
  }

  await show();
}
