import { bring, mayPass } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { attempt } from '../../ui/notices/attempts.js';
import { importOffer } from '../../imports/offer.js';
import { element, whenReleased } from '../../ui/dom.js';

/** So long after the network has come back what failed for want of it is tried again. */
const ONLINE_MS = 1000;

/** @returns {object} the open conversation with what the server tells of it; what it does not tell stays */
export function withDetails({ conversationId, friendlyId, title, stateless }, details) {
  return {
    conversationId,
    title: details.title || title || '',
    friendlyId: details.conversation_friendly_id || friendlyId,
    stateless: details.stateless ?? stateless,
  };
}

/**
 * What a conversation without messages shows: how to begin, what can be referred to, and a way in for history from elsewhere.
 *
 * @param {{api: object}} page
 */
export function emptyState(page) {
  const { title, intro, temporary, steps, models } = strings.empty;
  const rows = steps.map(([what, then, needs]) => element('li', { class: needs === 'keyboard' ? 'needs-keyboard' : null }, element('strong', { text: what }), ` ${then}`));
  // Which of these is true changes while the page is open: the style sheet shows one.
  const lines = Object.entries(models).map(([phase, text]) => element('p', { class: 'empty-model', 'data-model': phase, text }));
  return element('section', { class: 'empty-state' },
    element('p', { class: 'empty-name', text: strings.product }), element('h2', { text: title }), element('p', { class: 'empty-temporary', text: temporary }),
    element('p', { text: intro }), element('ul', {}, ...rows), ...lines, importOffer(page));
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
  /** Counts what was asked: the newest answer counts. */
  let asked = 0;

  async function refresh(options) {
    const conversationId = page.conversationId();
    asked += 1;
    const mine = asked;
    const pinned = await page.api.listPinnedMessages(conversationId, options);
    if (mine !== asked || conversationId !== page.conversationId()) return;
    const { createPinnedBar } = pinned.length > 0 && !bar ? await bring(() => import('./pinned_bar.js')) : {};
    const show = () => {
      if (mine !== asked || conversationId !== page.conversationId()) return;
      if (createPinnedBar) bar ??= createPinnedBar(transcript, page);
      bar?.show(pinned);
    };
    // It moves all that stands below it. Nothing else waits for that.
    const released = whenReleased();
    if (released) released.then(show);
    else show();
  }

  function load() {
    return attempt(() => refresh(), { failed: strings.pins.loadFailed, again: load });
  }

  return { load, refresh, clear: () => bar?.show([]) };
}

/** @returns {boolean} whether there is no such conversation, or none any more */
export const isGone = (error) => error.code === 'conversation_not_found';

/**
 * Calls `then` once, unless `signal` ends that: when the server is heard again, or the network is back, or after so many seconds as the
 * server has said.
 */
function onceServerIsHeard(events, then, { signal, seconds }) {
  const done = new AbortController();
  const once = () => {
    if (done.signal.aborted) return;
    done.abort();
    stop();
    if (!signal.aborted) then();
  };
  const stop = events.on('changes:alive', once);
  // In the first moment, some requests still fail.
  addEventListener('online', () => setTimeout(once, ONLINE_MS), { signal: done.signal });
  if (seconds !== null) setTimeout(once, seconds * 1000);
}

/**
 * Says that a conversation's messages are not there, and why. Where the server, or a gateway before it, may give them later, they are
 * asked for again once it is heard.
 *
 * @param {Error} error
 * @param {{onAgain: () => void, onNew: () => void, events: object, signal: AbortSignal}} ways out: where trying again helps, or where the
 *   conversation is gone; `signal`: something else is open
 */
export function loadingFailure(error, { onAgain, onNew, events, signal }) {
  if (mayPass(error)) onceServerIsHeard(events, onAgain, { signal, seconds: error.retryAfter ?? null });
  const [text, label, onclick] = isGone(error)
    ? [strings.transcript.gone, strings.transcript.none, onNew] : [strings.transcript.failed(error.message), strings.transcript.again, onAgain];
  return element('section', { class: 'failure-state', role: 'alert' },
    element('p', { text }), element('button', { type: 'button', class: 'btn btn-quiet', text: label, onclick }));
}
