/** Unsent texts, and changes of messages that are not saved, as `core/browser_storage/kept.js` keeps them. */

const DRAFT = 'draft';
/** Files are large, and not written again with each letter of the text. */
const FILES = 'draft-files';
/** Files that the server doesn't have yet: an entry each, since they are the largest. */
export const UPLOAD = 'draft-upload';
export const EDIT = 'edit';
/** A draft that was touched since then stays, even where the page does not know its conversation. */
export const YOUNG_DRAFT_MS = 2 * 24 * 3600 * 1000;
/** So many characters are not written anew with each letter, but once nobody has typed for a moment. */
const LONG = 20_000;
/** What is written where there is no conversation yet has an id too. */
const idOf = (conversationId) => conversationId ?? '';

/** All that a message says and brings, as one text. */
function saidBy({ text, files, attached, replyTo }) {
  return JSON.stringify([text, files, attached, replyTo?.message_id]);
}

/**
 * Unsent texts, the memories and the files attached to them, and the message that they reply to, for each conversation.
 *
 * @param {import('./kept.js').Kept} kept
 */
export function createDrafts(kept) {
  const draft = (conversationId) => kept.get(DRAFT, idOf(conversationId)) ?? {};
  const uploads = (conversationId) => kept.all(UPLOAD).map(([, upload]) => upload)
    .filter(({ conversation }) => conversation === idOf(conversationId))
    .toSorted((one, other) => (one.place ?? 0) - (other.place ?? 0));

  /** The entry of a draft; null where nothing is in it. */
  function entryOf(conversationId, text, attached = [], replyTo = null) {
    if (text.trim() === '' && attached.length === 0 && replyTo === null) return null;
    const { resend } = draft(conversationId);
    return { text, attached, at: Date.now(), ...(replyTo ? { replyTo } : {}), ...(resend ? { resend } : {}) };
  }

  function set(conversationId, text, ...more) {
    const entry = entryOf(conversationId, text, ...more);
    if (entry === null && kept.get(DRAFT, idOf(conversationId)) === null) return;
    kept[text.length < LONG ? 'set' : 'setSoon'](DRAFT, idOf(conversationId), entry);
  }

  const removal = (conversationId) => [[DRAFT, idOf(conversationId), null], [FILES, idOf(conversationId), null]];

  return {
    get: (conversationId) => draft(conversationId).text ?? '',
    /** @returns {Array<{claim_id: string, friendly_id: string, statement: string}>} */
    attached: (conversationId) => draft(conversationId).attached ?? [],
    /** @returns {{message_id: string, sender: string, short_id: string, name: string, text: string}|null} */
    replyTo: (conversationId) => draft(conversationId).replyTo ?? null,
    set,
    /** As `set`, written at once, however long it is: what it comes from is gone. */
    setNow(conversationId, ...said) {
      set(conversationId, ...said);
      kept.flush();
    },
    /** As `setNow`, in the place of another draft: both change, or none. */
    move: (from, conversationId, ...said) => kept.change([...removal(from), [DRAFT, idOf(conversationId), entryOf(conversationId, ...said)]]),
    /** The id of a message that was taken back although the server may have it: with the same in it, it is the same message. */
    resendId(conversationId, message) {
      const { resend } = draft(conversationId);
      return resend?.said === saidBy(message) ? resend.id : undefined;
    },
    /** @param {{id: string, text: string, files: object[], attached: object[], replyTo: object|null}} message */
    setResend: (conversationId, message) =>
      kept.set(DRAFT, idOf(conversationId), { ...draft(conversationId), resend: { id: message.id, said: saidBy(message) } }),
    /** @returns {Array<{name: string, text: string}>} */
    files: (conversationId) => kept.get(FILES, idOf(conversationId)) ?? [],
    /**
     * @param {string[]} uploaded ids of uploads that have ended with it
     * @returns {Promise<boolean>} whether they are kept beyond the page
     */
    setFiles: (conversationId, files, uploaded = []) =>
      kept.change([[FILES, idOf(conversationId), files.length > 0 ? files : null], ...uploaded.map((id) => [UPLOAD, id, null])]),
    /** @returns {Array<{id: string, name: string, file: File, place: number, problem: string}>} files that the server doesn't have yet, in the order in which they were chosen */
    uploads,
    isEmpty: (conversationId) => [DRAFT, FILES].every((kind) => kept.get(kind, idOf(conversationId)) === null) && uploads(conversationId).length === 0,
    /** @returns {string[]} conversations whose drafts nobody touched since `moment`, in milliseconds */
    untouchedSince(moment) {
      const touched = new Map();
      const note = (id, at = 0) => id && touched.set(id, Math.max(at, touched.get(id) ?? 0));
      for (const [id, { at }] of kept.all(DRAFT)) note(id, at);
      for (const [, { conversation, at }] of kept.all(UPLOAD)) note(conversation, at);
      return [...touched].filter(([, at]) => at < moment).map(([id]) => id);
    },
    /** What removes a draft that was sent, for `Kept.change`. */
    removal,
    /** Calls `listener(conversationId)` when another tab changed a draft. */
    followElsewhere: (listener) => kept.follow(({ kind, id, isElsewhere }) => isElsewhere && [DRAFT, FILES].includes(kind) && listener(id || null)),
  };
}

/**
 * Changes of messages that are not saved yet, by the message's id: what is typed, and the text that it began with.
 *
 * @param {import('./kept.js').Kept} kept
 */
export function createEditDrafts(kept) {
  const get = (messageId) => kept.get(EDIT, messageId);
  return {
    /** @returns {{text: string, basedOn: string}|null} */
    get,
    set: (messageId, text, basedOn) => kept.set(EDIT, messageId, { text, basedOn, at: Date.now() }),
    /** @param {string} [text] what was typed: what another tab has typed since stays */
    drop(messageId, text = get(messageId)?.text) {
      if (get(messageId)?.text === text) kept.set(EDIT, messageId, null);
    },
    /** What removes it, for `Kept.change`. */
    removal: (messageId, text) => (get(messageId)?.text === text ? [[EDIT, messageId, null]] : []),
  };
}
