/**
 * Beginning conversations: those that are kept, and temporary ones. Where one was begun and never used, that is the new one:
 * nobody needs two. Of temporary ones, a window has one of these at most, and it is gone
 * when the window turns to another conversation. A reload is no leaving, so that the window's own storage names it; what
 * is left by closing the window ends after its day.
 */

import { newId } from '../core/ids.js';
import { VIEW } from '../core/browser_storage/kept.js';
import { windowOnly } from '../core/browser_storage/storage.js';
import { shellStrings } from '../strings/en/shell.js';
import { createDrafts } from '../core/browser_storage/drafts.js';
import { tellFailure } from '../ui/notices/attempts.js';

const KEY = 'anaphora.temporary';

function createSlot() {
  // Where storage is forbidden, what a reload leaves behind ends after its day.
  let held = windowOnly.get(KEY);
  return {
    get held() {
      return held;
    },
    hold(conversationId) {
      held = conversationId;
      windowOnly.set(KEY, held);
    },
  };
}

/** This page among those of the browser. */
const me = newId();
/** What the browser keeps, once it is known. */
let kept = null;

const holderOf = (conversationId, tab) => `temporary:${conversationId}:${tab}`;
const setHolder = (conversationId, value) => kept?.set(VIEW, holderOf(conversationId, me), value);
/** Whether another window shows it: a duplicated tab brings the storage of the first one. */
const isHeldElsewhere = (conversationId) => kept?.all(VIEW).some(([id]) => id.startsWith(holderOf(conversationId, '')));

/** One for the window, whoever began what it holds: sidebar or composer. */
const slot = createSlot();

addEventListener('pagehide', () => slot.held !== null && setHolder(slot.held, null));
addEventListener('pageshow', ({ persisted }) => persisted && slot.held !== null && setHolder(slot.held, true));
/** As of the slot: what a workspace holds, as the sidebar knows it. */
let inside = () => [];
/** The one on its way, null where none is: who asks for it twice gets one. */
let awaited = null;

/** Whether nothing was said in a conversation, or done with it. */
function isUntouched({ title, message_count: count, pinned, flag, stateless, archived, temporary }) {
  const isMarked = pinned || stateless || archived || temporary || (flag ?? 'none') !== 'none';
  return !title && !count && !isMarked;
}

/** Tells of a conversation whether nothing was written for it that waits to be sent. */
function isUnwritten(store) {
  const drafts = createDrafts(store);
  const isSending = (id) => store.all('outbox').some(([, entry]) => entry.conversationId === id);
  return (id) => drafts.isEmpty(id) && !isSending(id);
}

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {object} parts.events
 * @param {string} parts.domain
 * @param {(conversationId: string) => boolean} parts.isShown whether a conversation is on the page
 * @param {() => void} parts.onBegin called before the page turns
 * @param {(conversation: object) => Promise<void>} parts.onMade takes a new conversation in
 * @param {{kept: import('../core/browser_storage/kept.js').Kept, inside: (workspaceId?: string) => object[]}} [parts.known] what the browser keeps, and what a workspace
 *   holds; told once, by who knows it
 * @returns {{begin: (workspaceId?: string) => void, beginTemporary: () => void,
 *            shown: (conversationId: string|null) => void}}
 */
export function createBeginning({ api, events, domain, isShown, onBegin, onMade, known }) {
  let open = null;
  if (known) ({ kept } = known);
  if (known) inside = (workspaceId) => known.inside(workspaceId).filter((each) => isUntouched(each) && isUnwritten(kept)(each.conversation_id));

  async function leave() {
    const left = slot.held;
    slot.hold(null);
    await setHolder(left, null);
    // Where something is written that is not sent, it ends after its day.
    if (isHeldElsewhere(left) || !isUnwritten(kept)(left)) return;
    try {
      await api.deleteConversation(left);
    } catch {
      // It ends by itself after its day.
    }
  }

  /** @returns {Promise<string|null>} the id of the new conversation; null where there is none, which has been said */
  async function make(create, options) {
    try {
      const conversation = await create(options.beginning);
      await onMade(conversation);
      if (conversation.temporary) slot.hold(conversation.conversation_id);
      return conversation.conversation_id;
    } catch (error) {
      tellFailure(error, { failed: shellStrings.sidebar.actionFailed, again: () => turnTo(create, options) });
      return null;
    }
  }

  /** The page turns to the conversation at once, so that what is typed meanwhile is written in it. */
  function turnTo(create, { isTemporary = false, beginning = newId() } = {}) {
    onBegin();
    events.emit('conversation:begun', { made: make(create, { isTemporary, beginning }), isTemporary, beginning });
  }

  /** The conversation of a workspace that was begun and never used, else one more. */
  async function unused(workspaceId, clientId) {
    const [found] = inside(workspaceId);
    // Another window may have used it since, or thrown it away.
    const details = found && (await api.getConversationDetails(found.conversation_id).catch(() => null));
    return details && isUntouched(details) ? details : api.createConversation(domain, { clientId, workspaceId });
  }

  async function unusedOnce(workspaceId, clientId) {
    // Whoever asks the second time is in no conversation, and so names no workspace.
    if (awaited && [undefined, awaited.workspaceId].includes(workspaceId)) return awaited.coming;
    const mine = { workspaceId, coming: unused(workspaceId, clientId) };
    awaited = mine;
    try {
      return await mine.coming;
    } finally {
      if (awaited === mine) awaited = null;
    }
  }

  function begin(workspaceId) {
    if (!inside(workspaceId).some(({ conversation_id: id }) => id === open)) {
      turnTo((clientId) => unusedOnce(workspaceId, clientId));
      return;
    }
    onBegin();
    events.emit('composer:focus');
  }

  return {
    begin,
    beginTemporary: () => turnTo((clientId) => api.createTemporaryConversation(domain, { clientId }), { isTemporary: true }),
    shown(conversationId) {
      open = conversationId;
      if (slot.held !== null && slot.held !== conversationId && !isShown(slot.held)) leave();
      else if (slot.held !== null) setHolder(slot.held, true);
    },
  };
}
