import { createLatest } from '../../core/latest.js';
import { createThreadsApi } from './api.js';

/**
 * How many replies the threads of the open conversation have, by their roots.
 *
 * @param {object} page
 * @param {{onChange: () => void}} options
 */
export function followThreadCounts(page, { onChange }) {
  /** @type {Map<string, object>} the threads, as the server lists them, by the ids of their roots */
  const threads = new Map();
  let conversationId = null;

  const latest = createLatest((id, options) => createThreadsApi(page.api).listThreads(id, options), {
    delay: 0,
    onAnswer(listed, id) {
      if (id !== page.conversationId()) return;
      threads.clear();
      for (const thread of listed) threads.set(thread.root_activity_id, thread);
      onChange();
    },
  });

  /** Nothing is asked where nothing is in a thread. */
  const hasThreads = () => threads.size > 0 || page.transcript().threadIds.length > 0;

  function look() {
    if (page.conversationId() && hasThreads()) latest.request(page.conversationId());
  }

  page.events.on('conversation:shown', ({ conversationId: shown }) => {
    if (shown === conversationId) return;
    conversationId = shown;
    latest.cancel();
    threads.clear();
  });
  page.events.on('conversation:settled', look);
  page.events.on('activities:posted', ({ isThreaded }) => page.conversationId() && (isThreaded || hasThreads()) && latest.request(page.conversationId()));

  return { of: (activityId) => threads.get(activityId) ?? null, look };
}
