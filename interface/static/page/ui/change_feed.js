/** The stream of changes, for a page: read as long as it is there, and looked after when it is seen again. */

import { ChangeFeed } from '../core/changes.js';

const WATCH_MS = 20_000;

/** Once the page is there: WebKit takes a page as loading until the requests end that it began while it was loading. */
const loaded = new Promise((resolve) => {
  if (document.readyState === 'complete') resolve();
  else addEventListener('load', () => resolve(), { once: true });
});

/**
 * @param {{api: object, bootstrap: {user_email: string, changes: import('../core/changes.js').Position}}} page
 * @param {{on: object, onWake?: () => void}} options `on`: as of `ChangeFeed`; `onWake`: the page is seen again
 * @returns {ChangeFeed}
 */
export function openChangeFeed({ api, bootstrap }, { on, onWake = () => {} }) {
  const feed = new ChangeFeed({
    name: `anaphora.changes.${bootstrap.user_email}`,
    position: bootstrap.changes,
    open: async (query, options) => {
      await loaded;
      return api.watchChanges(query, options);
    },
    on,
  });
  const wake = () => {
    if (document.hidden) return;
    feed.wake();
    onWake();
  };
  document.addEventListener('visibilitychange', wake);
  document.addEventListener('resume', wake);
  addEventListener('online', wake);
  setInterval(() => document.hidden || feed.watch(), WATCH_MS);
  addEventListener('pageshow', ({ persisted }) => persisted && wake());
  return feed;
}
