import { createShareApi } from './api.js';
import { filesOf } from './shared_files.js';
import { shareStrings } from '../../strings/en/sharing.js';
import { shownTitle } from '../../core/words/conversation_title.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { badgeText, isFromUser, senderName } from '../message_model.js';
import { element } from '../../ui/dom.js';
import { MarkdownView } from '../../markdown/view.js';

const words = shareStrings.page;

/** A message as it was said. References in it stay words: what they name is not shared. */
function messageCard(message, token, snapshot) {
  const { created_at: createdAt } = message;
  const body = element('div', { class: 'message-body markdown' });
  new MarkdownView(body, { typed: isFromUser(message) }).setText(message.text);
  const header = element('header', { class: 'message-header' },
    element('strong', { class: 'message-sender', text: senderName({ sender: message.sender, config: message }, words.sender) }),
    element('span', { class: 'shared-badge', text: badgeText(message) }),
    element('time', { class: 'message-time', datetime: createdAt, title: fullTime(createdAt), text: shortTime(createdAt) }));
  return element('article', { tabindex: '-1', class: `message-card from-${isFromUser(message) ? 'user' : 'assistant'}` }, header, body, ...filesOf(message, token, snapshot));
}

/**
 * The page behind a shared link: its messages, more of them as one reads on.
 *
 * @param {{api: object, token: string, first: object}} page `first` is the first part of the snapshot, as the server sends it
 */
export function mountSharedPage({ api, token, first }) {
  const { readShared } = createShareApi(api);
  const title = document.getElementById('shared-title');
  const about = document.getElementById('shared-about');
  const cards = document.getElementById('shared-messages');
  const rest = document.getElementById('shared-rest');
  let snapshot = null;
  let next = null;
  let loading = false;

  const comingUp = new IntersectionObserver((entries) => entries.some(({ isIntersecting }) => isIntersecting) && more(), { rootMargin: '800px' });

  function begin(part) {
    ({ snapshot } = part);
    cards.replaceChildren();
    title.textContent = shownTitle(part.title);
    about.textContent = words.about(part.message_count, fullTime(part.created_at));
  }

  function offerMore() {
    const button = element('button', { type: 'button', class: 'btn btn-quiet', text: words.more, onclick: more });
    rest.replaceChildren(...(next === null ? [] : [button]));
    if (next !== null) comingUp.observe(button);
  }

  function show(part) {
    if (part.snapshot !== snapshot) begin(part);
    const added = part.messages.map((message) => messageCard(message, token, snapshot));
    cards.append(...added);
    ({ next } = part);
    offerMore();
    return added[0];
  }

  function showProblem(message) {
    const again = element('button', { type: 'button', class: 'btn btn-quiet', text: shareStrings.again, onclick: more });
    rest.replaceChildren(element('p', { class: 'notice notice-error', role: 'alert', text: words.failed(message) }), again);
  }

  /** A part of a newer snapshot does not go on where the older one stopped: that is read from its beginning. */
  async function nextPart() {
    const part = await readShared(token, next);
    return part.snapshot === snapshot ? part : readShared(token, 0);
  }

  async function more() {
    if (loading) return;
    loading = true;
    const hadFocus = rest.contains(document.activeElement);
    comingUp.disconnect();
    rest.replaceChildren(element('p', { class: 'transcript-note', role: 'status', text: words.loading }));
    try {
      const begun = show(await nextPart());
      // The button that was pressed has gone: reading goes on with what it brought.
      if (hadFocus) begun?.focus({ preventScroll: true });
    } catch (error) {
      showProblem(error.message);
    } finally {
      loading = false;
    }
  }

  show(first);
}
