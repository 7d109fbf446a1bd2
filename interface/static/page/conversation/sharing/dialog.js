import { createShareApi, linkOf } from './api.js';
import { createFileChoice } from './file_choice.js';
import { copyText } from '../../core/clipboard.js';
import { shareStrings } from '../../strings/en/sharing.js';
import { shownTitle } from '../../core/words/conversation_title.js';
import { fullTime } from '../../core/words/times.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { confirmWithdrawal, copyButton, loadShareStyle, openLink, problemNotice } from './links.js';

const words = shareStrings.dialog;
const LOOK = { running: words.looking, failed: words.lookFailed };
const CREATE = { running: words.creating, failed: words.createFailed };
const WITHDRAW = { running: shareStrings.withdraw.running, failed: shareStrings.withdraw.failed };

function points({ message_count: count, hidden_count: hidden }) {
  const told = [words.stays, ...(hidden ? [words.hidden(hidden)] : []), words.quotes];
  return count ? [element('ul', { class: 'share-points' }, ...told.map((text) => element('li', { text })))] : [];
}

function beforeSharing(state, files) {
  const text = state.message_count ? words.shows(state.message_count) : words.nothing;
  return [element('p', { class: 'dialog-text', text }), ...points(state), ...files];
}

function linkRow(link) {
  const field = element('input', { class: 'form-control mono', type: 'text', value: link, readonly: true, 'aria-label': words.link });
  field.addEventListener('focus', () => field.select());
  return element('div', { class: 'share-link' }, field, copyButton(link), openLink(link));
}

function whileShared(state, files) {
  const { share } = state;
  const link = linkOf(share);
  return [
    link ? linkRow(link) : element('p', { class: 'dialog-text', text: words.unknown }),
    element('p', { class: 'dialog-text', text: words.since(fullTime(share.created_at), share.message_count) }),
    ...points(state),
    ...files,
  ];
}

/** A dialog whose content changes with what is known. */
function createFrame(title) {
  const body = element('div');
  const status = element('p', { class: 'share-status', role: 'status' });
  const buttons = element('div', { class: 'dialog-buttons' });
  const dialog = openDialog({ title: words.title(shownTitle(title)), content: [body, status, buttons], className: 'share-dialog' });
  return { ...dialog, body, status, buttons };
}

/**
 * Lets the person share a conversation by link, renew what the link shows, and withdraw it.
 *
 * @param {{api: object, conversationId: string, title: string}} page
 * @returns {Promise<void>} when the dialog is closed; rejects where its looks can't be loaded
 */
export async function openShareDialog({ api, conversationId, title }) {
  await loadShareStyle();
  const shareApi = createShareApi(api);
  const { node, form, body, status, buttons, close: leave, closed } = createFrame(title);
  const close = button(words.close, 'btn-quiet', () => leave());
  const choice = createFileChoice();
  let state = null;

  function button(text, look, onclick) {
    return element('button', { type: 'button', class: `btn ${look}`, text, onclick });
  }

  function actions() {
    if (state?.share) return [button(words.withdraw, 'btn-quiet', withdraw), button(words.update, 'btn-quiet', update)];
    return state?.message_count ? [button(words.create, 'btn-primary', create)] : [];
  }

  function show(said) {
    body.replaceChildren(...(state.share ? whileShared : beforeSharing)(state, choice.nodes()));
    status.textContent = said;
    buttons.replaceChildren(close, ...actions());
    (body.querySelector('.share-link input') ?? buttons.querySelector('.btn-primary') ?? close).focus();
  }

  /** Does `job`, which gives the new state, then `onDone`; says that it runs, and what failed. */
  async function run(job, { running, failed, said = '', onDone = () => {} }) {
    status.textContent = running;
    status.classList.remove('is-refused');
    node.setAttribute('aria-busy', 'true');
    for (const each of form.querySelectorAll('button')) each.disabled = each !== close;
    try {
      state = await job();
      show(said);
      await onDone();
    } catch (error) {
      body.replaceChildren();
      status.textContent = '';
      if (state) show('');
      const problem = problemNotice(failed(error.message), () => run(job, { running, failed, said, onDone }));
      body.prepend(problem);
      problem.querySelector('button').focus();
    } finally {
      node.removeAttribute('aria-busy');
    }
  }

  const look = async () => {
    const found = await shareApi.getShare(conversationId);
    choice.know(found.files);
    return found;
  };
  const shareNow = async () => {
    const share = await shareApi.share(conversationId, choice.read());
    return { ...state, share, message_count: share.message_count };
  };

  /** A new link is made to be given to somebody. Where the browser refuses to copy it, it stands there selected. */
  async function copyNew() {
    const link = linkOf(state.share);
    // Who has left the dialog has gone on, perhaps with something else to paste.
    if (!link || !node.open) return;
    const isCopied = await copyText(link, { isShown: true });
    status.textContent = isCopied ? words.made : words.notCopied;
    status.classList.toggle('is-refused', !isCopied);
    body.querySelector('.share-link input')?.select();
  }

  const create = () => run(shareNow, { ...CREATE, onDone: copyNew });
  const update = () => run(shareNow, { ...CREATE, said: words.updated });

  async function endShare() {
    await shareApi.withdraw(conversationId).catch((error) => {
      // Withdrawn already, in another window.
      if (error.code !== 'share_not_found') throw error;
    });
    return { ...state, share: null };
  }

  async function withdraw() {
    if (await confirmWithdrawal()) await run(endShare, { ...WITHDRAW, said: shareStrings.withdraw.done });
  }

  buttons.append(close);
  run(look, LOOK);
  await closed;
}
