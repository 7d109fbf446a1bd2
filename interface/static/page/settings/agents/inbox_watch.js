/** Tells when inboxes changed, as `GET /events` does: also by agents that answer by themselves. */

import { openChangeFeed } from '../../ui/change_feed.js';

const TOGETHER_MS = 250;

/**
 * @param {{api: object, bootstrap: object}} page
 * @param {(isChanged: (agentId: string) => boolean) => void} onChange some changed, those of a burst told at once
 */
export function watchInboxes(page, onChange) {
  let changed = new Set();
  let isAnyChanged = false;
  let timer = null;

  function tell() {
    timer ??= setTimeout(() => {
      const [agentIds, isAny] = [changed, isAnyChanged];
      [timer, changed, isAnyChanged] = [null, new Set(), false];
      onChange((agentId) => isAny || agentIds.has(agentId));
    }, TOGETHER_MS);
  }

  const on = {
    changes(changes) {
      const inboxes = changes.filter(({ kind }) => kind === 'inbox');
      inboxes.forEach(({ id }) => changed.add(id));
      if (inboxes.length > 0) tell();
    },
    reset() {
      isAnyChanged = true;
      tell();
    },
    alive() {
      // Nothing here waits for the server.
    },
    end() {
      // The session has ended: the next request says so.
    },
  };
  openChangeFeed(page, { on });
}
