/** Keeps the page true to what other tabs, devices and programs do: the stream of changes feeds the store. */

import { openChangeFeed } from '../ui/change_feed.js';
import { callAttention } from './attention.js';

/** The states in which an import of history is over: of many conversations, only the first are told one by one. */
const IMPORT_ENDS = new Set(['done', 'failed', 'cancelled', 'undone']);
const endsImport = ({ kind, fields }) => kind === 'import' && IMPORT_ENDS.has(fields.state);
const renamesAccount = ({ kind, id }) => kind === 'settings' && id === 'name';

/**
 * @param {{api: object, store: import('../core/store.js').Store, events: object, bootstrap: object, kept: object, onReset: () => void}} page
 *   `onReset`: too much has changed to be told one by one
 */
export function followChanges({ api, store, events, bootstrap, kept, onReset }) {
  const on = {
    changes(changes) {
      store.apply(changes);
      if (changes.some(endsImport)) onReset();
      if (changes.some(renamesAccount)) events.emit('account:renamed');
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
  };
  const feed = openChangeFeed({ api, bootstrap }, { on, onWake: () => store.markRead() });
  callAttention({ store, events, kept, isMine: () => feed.leads });
}
