/** What was typed and is of no use any more, since what it was typed for is gone for good. Loaded where anything typed waits. */

import { createDrafts, YOUNG_DRAFT_MS } from '../core/browser_storage/drafts.js';
import { forgetting } from '../core/browser_storage/draft_uploads.js';
import { VIEW } from '../core/browser_storage/kept.js';

/** The server says of what lies in a bin that it is not there; after this time no bin has it. */
const LONGEST_IN_BIN_MS = 31 * 24 * 3600 * 1000;
const MISSING = 'missing:';

/** @returns {Array<{name: string, code: string, ask: () => Promise<any>, removal: Array<[string, string, null]>}>} `code`: of the error that says that it is gone */
function forgettable({ api, kept, store }, before) {
  return createDrafts(kept).untouchedSince(before).filter((id) => !store.conversation(id)).map((id) => ({
    name: id, code: 'conversation_not_found', ask: () => api.getConversationDetails(id, { quiet: true }), removal: forgetting(kept, id),
  }));
}

/** @returns {Promise<boolean|null>} null where the server does not say it */
async function isMissing({ ask, code }) {
  try {
    await ask();
    return false;
  } catch (error) {
    return error.code === code || null;
  }
}

/**
 * Removes what is old and was typed for something that the server did not have, both now and longer ago than a bin keeps anything.
 *
 * @param {{api: object, kept: import('../core/browser_storage/kept.js').Kept, store: object}} page
 */
export async function dropForgotten(page, now = Date.now()) {
  const { kept } = page;
  for (const thing of forgettable(page, now - YOUNG_DRAFT_MS)) {
    const mark = [VIEW, MISSING + thing.name];
    const missing = await isMissing(thing);
    const since = kept.get(...mark);
    if (missing === false) await kept.set(...mark, null);
    else if (missing && since === null) await kept.set(...mark, now);
    else if (missing && since < now - LONGEST_IN_BIN_MS) await kept.change([...thing.removal, [...mark, null]]);
  }
}
