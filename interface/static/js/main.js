/** The entry of the page: makes the parts and ties them together. */

import { createApi } from './lib/api.js';
import { createEvents } from './lib/events.js';
import { installCopyFallbacks } from './views/copy_fallbacks.js';
import { element } from './views/dom.js';
import { mountModelStatus } from './views/models_status.js';
import { mountSidebar } from './views/sidebar.js';
import { ConversationPage } from './views/transcript_page.js';

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
  new ConversationPage({ api, events, bootstrap }).openAddress();
}

start();
