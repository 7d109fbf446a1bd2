/** Bringing the files of a message to the server, in one tab at a time. */

import { isUploadKept, keepUpload } from '../../core/browser_storage/draft_uploads.js';
import { withLock } from '../outbox_model.js';

/** Why a file is refused whenever it comes. */
const NEVER_TAKEN = new Set(['too_large', 'unsupported_media_type']);

/** @returns {Promise<object|null>} what the server knows of the file; null where another tab has brought it there */
function sent(one, { page, onProgress }) {
  const { signal } = one.controller;
  return withLock(`upload.${one.id}`, async () => {
    if (signal.aborted || !(one.isNew || (await isUploadKept(page.kept, one.id)))) return null;
    return page.api.uploadFile(one.file, {
      signal,
      onProgress(share) {
        one.share = share;
        onProgress(one);
      },
    });
  });
}

/** Keeps a file that the server doesn't have, so that a reload goes on with it. */
export async function keep(one, { page, shownId, onChange }) {
  one.isUnkept = !(await keepUpload(page.kept, shownId(), one));
  if (one.isUnkept) await onChange();
}

/**
 * Brings a file to the server; from then on it is a file of the message. What fails is said in its `problem`; one that
 * `isRefused` would be refused again.
 *
 * @param {{id: string, name: string, file: File, problem: string, isNew?: boolean}} one isNew: no other tab knows it
 * @param {{page: object, shownId: () => string|null,
 *   onProgress: (upload: object) => void, onChange: () => Promise<void>, onEnd: (upload: object, stored: object|null) => Promise<void>}} message
 */
export async function bringToServer(one, message) {
  const wasKept = !one.isNew && !one.problem;
  Object.assign(one, { problem: '', isRefused: false, share: 0, controller: new AbortController() });
  const { signal } = one.controller;
  if (!wasKept) keep(one, message);
  try {
    await message.onChange();
    const stored = await sent(one, message);
    if (!signal.aborted) await message.onEnd(one, stored);
  } catch (error) {
    if (signal.aborted) return;
    Object.assign(one, { problem: error.message, isRefused: NEVER_TAKEN.has(error.code), isNew: false });
    keep(one, message);
    await message.onChange();
  }
}
