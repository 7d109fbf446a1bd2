/** How many proposals wait for the person: a button above the sidebar, which is there while there are some. */

import { bring } from '../core/api.js';
import { createLatest } from '../core/latest.js';
import { shellStrings } from '../strings/en/shell.js';
import { attempt } from '../ui/notices/attempts.js';
import { setHidden } from '../ui/dom.js';

const words = shellStrings.proposals;
/** A model that proposes several changes does so at once. */
const DELAY_MS = 100;

/**
 * @param {HTMLButtonElement} button
 * @param {{api: object, store: object, events: object, bootstrap: {open_proposals?: number}}} page
 */
export function mountProposalCount(button, page) {
  const { api, store, events, bootstrap } = page;
  let isKnown = false;

  function show(open) {
    isKnown = true;
    button.textContent = words.open(open);
    const hadFocus = document.activeElement === button;
    setHidden(button, open === 0);
    if (hadFocus && button.hidden) events.emit('composer:focus');
  }

  const latest = createLatest((_, options) => api.get('/api/proposals/count', {}, options), {
    delay: DELAY_MS,
    onAnswer: ({ open }) => show(open),
    onError: () => {
      isKnown = false;
    },
  });

  function renew() {
    isKnown = true;
    latest.request(null);
  }

  if (bootstrap.open_proposals !== undefined) show(bootstrap.open_proposals);
  store.subscribe(({ told }) => told.some(({ kind }) => kind === 'proposal') && renew());
  events.on('changes:lost', renew);
  // What could not be asked for, and the page that came without a network, ask once the server is heard.
  events.on('changes:alive', () => isKnown || renew());

  let isOpen = false;
  async function openAll() {
    if (isOpen) return;
    isOpen = true;
    await attempt(async () => {
      const { openProposals } = await bring(() => import('./dialog.js'));
      await openProposals(page);
    }, { failed: words.failed, again: openAll });
    isOpen = false;
    if (button.hidden) events.emit('composer:focus');
  }

  button.addEventListener('click', openAll);
}
