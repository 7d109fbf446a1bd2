import { bring } from '../core/api.js';

const SIGNS = /[@#]/;

/** The server finds the references in the text too, so that a part that can't be loaded loses nothing. */
async function referencesIn(text) {
  if (!SIGNS.test(text)) return {};
  try {
    const { parseMemoryReferences } = await bring(() => import('../references/grammar.js'));
    const { claimIds, friendlyIds } = parseMemoryReferences(text);
    return { referenced_friendly_ids: friendlyIds, referenced_claim_ids: claimIds };
  } catch {
    return {};
  }
}

async function withFilesIn(text, files) {
  if (files.length === 0) return { messageText: text };
  const { withFiles, storedOf } = await bring(() => import('./attachments/attachments_model.js'));
  const ids = storedOf(files).map(({ attachment_id: id }) => id);
  return { messageText: withFiles(text, files), ...(ids.length > 0 ? { files: ids } : {}) };
}

/** @returns {Promise<object[]>} the parts by which the message shows its files until the server lists it */
export async function filePartsOf({ files, text }) {
  if (files.length === 0) return [];
  const { partsOf } = await bring(() => import('./attachments/attachments_model.js'));
  return partsOf(files, text.length);
}

/**
 * @param {import('./outbox_model.js').Entry} entry
 * @returns {Promise<object>} the body of the request that sends it: the same one each time
 */
export async function requestOf({ id, text, files, fields }) {
  return { ...(await withFilesIn(text, files)), ...(await referencesIn(text)), ...fields, client_message_id: id };
}
