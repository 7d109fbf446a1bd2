/** What was typed and is of no use any more, since what it was typed for is gone for good. Loaded where anything typed waits. */

import { createDrafts, EDIT, YOUNG_DRAFT_MS } from '../core/browser_storage/drafts.js';
import { forgetting } from '../core/browser_storage/draft_uploads.js';
import { VIEW } from '../core/browser_storage/kept.js';

/** The server says of what lies in a bin that it is not there; after this time no bin has it. */
const LONGEST_IN_BIN_MS = 31 * 24 * 3600 * 1000;
const MISSING = 'missing:';
const OUTBOX = 'outbox';

/** What can be gone: `code` is of the error that says so. Documents are none of it: the disk that they lie on may only be away. */
const quiet = { quiet: true };
const KINDS = {
  conversation: { code: 'conversation_not_found', ask: (api, id) => api.getConversationDetails(id, quiet) },
  message: { code: 'message_not_found', ask: (api, id) => api.listEdits(id, quiet) },
};

/** What nobody touched since then. @returns {Array<{kind: string, id: string, removal: Array<[string, string, null]>}>} `removal`: of what was typed for it */
function typedBefore(moment, { kept, store }) {
  const old = (from) => kept.all(from).filter(([, { at = 0 }]) => at < moment);
  const refused = old(OUTBOX).filter(([, { problem, conversationId }]) => problem?.isRefused && conversationId);
  return [
    ...createDrafts(kept).untouchedSince(moment).map((id) => ({ kind: 'conversation', id, removal: forgetting(kept, id) })),
    ...refused.map(([id, { conversationId }]) => ({ kind: 'conversation', id: conversationId, removal: [[OUTBOX, id, null]] })),
    ...old(EDIT).map(([id]) => ({ kind: 'message', id, removal: [[EDIT, id, null]] })),
  ].filter(({ kind, id }) => kind !== 'conversation' || !store.conversation(id));
}

/** @returns {Promise<boolean|null>} null where the server does not say it */
async function isMissing(api, kind, id) {
  try {
    await KINDS[kind].ask(api, id);
    return false;
  } catch (error) {
    return error.code === KINDS[kind].code || null;
  }
}

/** The same by the marks of what is missing: all that was typed for one thing together. */
function typedByMark(moment, page) {
  const typed = new Map();
  for (const { kind, id, removal } of typedBefore(moment, page)) {
    const mark = `${MISSING}${kind}:${id}`;
    typed.set(mark, { kind, id, removal: [...(typed.get(mark)?.removal ?? []), ...removal] });
  }
  return typed;
}

/**
 * Removes what is old and was typed for something that the server did not have, both now and longer ago than a bin keeps anything.
 *
 * @param {{api: object, kept: import('../core/browser_storage/kept.js').Kept, store: object}} page
 */
export async function dropForgotten(page, now = Date.now()) {
  const { api, kept } = page;
  const answers = new Map();
  for (const [mark, { kind, id }] of typedByMark(now - YOUNG_DRAFT_MS, page)) answers.set(mark, await isMissing(api, kind, id));
  // What was touched meanwhile stays.
  const typed = typedByMark(now - YOUNG_DRAFT_MS, page);
  const changes = kept.all(VIEW).filter(([id]) => id.startsWith(MISSING) && !typed.has(id)).map(([id]) => [VIEW, id, null]);
  for (const [mark, { removal }] of typed) {
    const since = kept.get(VIEW, mark);
    const missing = answers.get(mark);
    if (missing === false && since !== null) changes.push([VIEW, mark, null]);
    else if (missing && since === null) changes.push([VIEW, mark, now]);
    else if (missing && since < now - LONGEST_IN_BIN_MS) changes.push(...removal, [VIEW, mark, null]);
  }
  if (changes.length > 0) await kept.change(changes);
}
