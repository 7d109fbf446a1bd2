/** Tells the sections what other tabs, devices and programs change, as `GET /events` does: one stream for all of them. */

import { openChangeFeed } from '../ui/change_feed.js';

const TOGETHER_MS = 250;

/**
 * @param {{api: object, bootstrap: object}} page
 * @returns {(kind: string, onChange: (isChanged: (id: string) => boolean) => void) => void} calls `onChange` when things of that kind
 *   changed, those of a burst told at once
 */
export function createChangeWatch(page) {
  /** @type {Array<{kind: string, tell: (ids: string[]|null) => void}>} */
  const watchers = [];

  function createTeller(onChange) {
    let changed = new Set();
    let isAnyChanged = false;
    let timer = null;
    const tellAll = () => {
      const [ids, isAny] = [changed, isAnyChanged];
      [timer, changed, isAnyChanged] = [null, new Set(), false];
      onChange((id) => isAny || ids.has(id));
    };
    return (ids) => {
      isAnyChanged ||= ids === null;
      ids?.forEach((id) => changed.add(id));
      timer ??= setTimeout(tellAll, TOGETHER_MS);
    };
  }

  const on = {
    changes(changes) {
      for (const { kind, tell } of watchers) {
        const ids = changes.filter((change) => change.kind === kind).map(({ id }) => id);
        if (ids.length > 0) tell(ids);
      }
    },
    reset: () => watchers.forEach(({ tell }) => tell(null)),
    alive() {
      // Nothing here waits for the server.
    },
    end() {
      // The session has ended: the next request says so.
    },
  };

  return (kind, onChange) => {
    if (watchers.length === 0) openChangeFeed(page, { on });
    watchers.push({ kind, tell: createTeller(onChange) });
  };
}
