/** The entry of the page: makes the parts and ties them together. */

import { createApi } from './lib/api.js';
import { createEvents } from './lib/events.js';
import { shellStrings } from './lib/shell_strings.js';
import { installCopyFallbacks } from './views/copy_fallbacks.js';
import { element } from './views/dom.js';
import { mountModelStatus } from './views/models_status.js';
import { mountSidebar } from './views/sidebar.js';
import { showToast } from './views/toast.js';
import { ConversationPage } from './views/transcript_page.js';

/** Shows the Memories panel in the place of the conversation while the address says so. It is loaded when it first does. */
function offerKnowledge(page) {
  const isWanted = () => new URLSearchParams(location.search).get('panel') === 'knowledge';
  const isShown = () => document.documentElement.dataset.panel === 'knowledge';
  let path = location.pathname;
  let panel = null;

  function load() {
    panel ??= import('./views/knowledge.js').then(({ mountKnowledge }) => mountKnowledge(page)).catch((error) => {
      panel = null;
      throw error;
    });
    return panel;
  }

  async function withPanel(job) {
    try {
      job(await load());
    } catch (error) {
      const again = { actionLabel: shellStrings.sidebar.again, onAction: () => withPanel(job) };
      showToast(shellStrings.sidebar.actionFailed(error.message), { kind: 'error', ...again });
    }
  }

  function follow() {
    if (isWanted() || isShown()) withPanel((shown) => shown.follow());
  }

  const button = document.getElementById('open-knowledge');
  button.addEventListener('pointerenter', () => load().catch(() => {}), { once: true });
  button.addEventListener('click', () => {
    if (!isWanted()) history.pushState(null, '', `${location.pathname}?panel=knowledge`);
    follow();
  });
  addEventListener('popstate', (event) => {
    // Between the panel and the conversation below it: the conversation stays as it is.
    if (path === location.pathname && (isWanted() || isShown())) event.stopImmediatePropagation();
    follow();
  });
  page.events.on('knowledge:open', (target) => withPanel((shown) => shown.open(target)));
  page.events.on('conversation:shown', () => {
    path = location.pathname;
    follow();
  });
}

function start() {
  const bootstrap = JSON.parse(document.getElementById('bootstrap').textContent);
  const events = createEvents();
  const api = createApi({
    onUnauthorized: () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search)}`),
  });
  installCopyFallbacks();
  document.body.append(element('p', { id: 'announcer', class: 'visually-hidden', role: 'status' }));

  const sidebar = mountSidebar({ api, events, bootstrap });
  events.on('conversation:shown', ({ conversationId }) => sidebar.select(conversationId));
  mountModelStatus(document.getElementById('model-status'), api);
  offerKnowledge({ api, events, bootstrap });
  new ConversationPage({ api, events, bootstrap }).openAddress();
}

start();
