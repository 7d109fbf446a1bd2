/** Files of drafts that the server doesn't have yet, and what removes them. Loaded with the first one. */

import { createDrafts, UPLOAD } from './drafts.js';

/**
 * @param {import('./kept.js').Kept} kept
 * @param {string|null} conversationId
 * @returns {Promise<boolean>} whether it is kept beyond the page
 */
export const keepUpload = (kept, conversationId, { id, name, file, place, problem, isRefused = false }) =>
  kept.set(UPLOAD, id, { conversation: conversationId ?? '', id, name, file, place, problem, isRefused, at: Date.now() });

/** Whether the server still lacks a file, as far as any tab knows. */
export const isUploadKept = async (kept, id) => (await kept.fresh(UPLOAD, id)) !== null;

/** What removes all that was written in a conversation which is gone, for `Kept.change`. */
export function forgetting(kept, conversationId) {
  const drafts = createDrafts(kept);
  return [...drafts.removal(conversationId), ...drafts.uploads(conversationId).map(({ id }) => [UPLOAD, id, null])];
}
