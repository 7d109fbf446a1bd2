import { bring } from '../lib/api.js';
import { strings } from '../lib/strings.js';
import { attempt } from './attempts.js';
import { element } from './dom.js';

/**
 * Shows what conversation is open, in the page and in the window's title, and whether what is said in it is kept.
 *
 * @param {{title?: string, stateless?: boolean}|null} conversation
 */
export function showConversationTitle(conversation) {
  const heading = document.getElementById('conversation-title');
  const title = conversation?.title || strings.transcript.none;
  heading.textContent = title;
  heading.title = title;
  document.getElementById('stateless-mark').hidden = !conversation?.stateless;
  document.title = conversation?.title ? `${conversation.title} · ${strings.product}` : strings.product;
}

/** What a conversation without messages shows: how to begin, and what can be referred to. */
export function emptyState() {
  const { title, intro, steps, models } = strings.empty;
  const rows = steps.map(([what, then]) => element('li', {}, element('strong', { text: what }), ` ${then}`));
  // Which of these is true changes while the page is open: the style sheet shows one.
  const lines = Object.entries(models).map(([phase, text]) => element('p', { class: 'empty-model', 'data-model': phase, text }));
  return element('section', { class: 'empty-state' },
    element('p', { class: 'empty-name', text: strings.product }), element('h2', { text: title }), element('p', { text: intro }),
    element('ul', {}, ...rows), ...lines);
}

/**
 * The pinned messages of the open conversation; what shows them is fetched when there are any.
 *
 * @param {HTMLElement} transcript
 * @param {object} page
 * @returns {{load: () => Promise<void>, refresh: (options?: {quiet?: boolean}) => Promise<void>, clear: () => void}} `load` says what
 *   failed, `refresh` throws it
 */
export function createPins(transcript, page) {
  let bar = null;

  async function refresh(options) {
    const conversationId = page.conversationId();
    const pinned = await page.api.listPinnedMessages(conversationId, options);
    if (conversationId !== page.conversationId()) return;
    if (pinned.length > 0) bar ??= (await bring(() => import('./pinned_messages.js'))).createPinnedBar(transcript, page);
    if (conversationId === page.conversationId()) bar?.show(pinned);
  }

  function load() {
    return attempt(() => refresh(), { failed: strings.pins.loadFailed, again: load });
  }

  return { load, refresh, clear: () => bar?.show([]) };
}

/**
 * Says that a conversation's messages are not there, and why.
 *
 * @param {Error} error
 * @param {() => void} onAgain what a button "Try again" does, where that may help
 */
export function loadingFailure(error, onAgain) {
  const isGone = error.status === 404;
  const again = element('button', { type: 'button', class: 'btn btn-quiet', text: strings.transcript.again, onclick: onAgain });
  return element('section', { class: 'failure-state', role: 'alert' },
    element('p', { text: isGone ? strings.transcript.gone : strings.transcript.failed(error.message) }), isGone ? null : again);
}
