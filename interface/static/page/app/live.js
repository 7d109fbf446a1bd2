/** Keeps the page true to what other tabs, devices and programs do: the stream of changes feeds the store. */

import { ChangeFeed } from '../core/changes.js';
import { callAttention } from './attention.js';

const WATCH_MS = 20_000;

/** Once the page is there: WebKit takes a page as loading until the requests end that it began while it was loading. */
const loaded = new Promise((resolve) => {
  if (document.readyState === 'complete') resolve();
  else addEventListener('load', () => resolve(), { once: true });
});

/** The states in which an import of history is over: of many conversations, only the first are told one by one. */
const IMPORT_ENDS = new Set(['done', 'failed', 'cancelled', 'undone']);
const endsImport = ({ kind, fields }) => kind === 'import' && IMPORT_ENDS.has(fields.state);

/**
 * @param {{api: object, store: import('../core/store.js').Store, events: object, bootstrap: object, kept: object, onReset: () => void}} page
 *   `onReset`: too much has changed to be told one by one
 */
export function followChanges({ api, store, events, bootstrap, kept, onReset }) {
  const feed = new ChangeFeed({
    name: `anaphora.changes.${bootstrap.user_email}`,
    position: bootstrap.changes,
    open: async (query, options) => {
      await loaded;
      return api.watchChanges(query, options);
    },
    on: {
      changes(changes) {
        store.apply(changes);
        if (changes.some(endsImport)) onReset();
      },
      reset() {
        store.forgetTurns();
        onReset();
        events.emit('changes:lost');
      },
      alive: () => events.emit('changes:alive'),
      end() {
        // The session has ended: the next request says so. The feed goes on when the page wakes, or when another tab can read it.
      },
    },
  });
  callAttention({ store, events, kept, isMine: () => feed.leads });
  const wake = () => {
    if (document.hidden) return;
    feed.wake();
    store.markRead();
  };
  document.addEventListener('visibilitychange', wake);
  document.addEventListener('resume', wake);
  addEventListener('online', wake);
  setInterval(() => document.hidden || feed.watch(), WATCH_MS);
  addEventListener('pageshow', ({ persisted }) => persisted && wake());
}
