/** Drafts of conversations that don't exist any more. Loaded where there are any that the sidebar does not know. */

import { forgetting } from '../core/browser_storage/draft_uploads.js';

/**
 * Removes drafts of conversations that are in no list of the server's, and not in the bin.
 *
 * @param {{api: object, kept: object, domain: string, ids: string[]}} page `ids`: of conversations with drafts
 */
export async function dropForgottenDrafts({ api, kept, domain, ids }) {
  const lists = await Promise.all([api.listBriefly(domain, { include_archived: true }), api.listBin(domain)]);
  const there = new Set(lists.flat().map(({ conversation_id: id }) => id));
  await kept.change(ids.filter((id) => !there.has(id)).flatMap((id) => forgetting(kept, id)));
}
