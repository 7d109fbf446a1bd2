/**
 * Beginning conversations: those that are kept, and temporary ones. A window has one of these at most, and it is gone
 * when the window turns to another conversation. A reload is no leaving, so that the window's own storage names it; what
 * is left by closing the window ends after its day.
 */

import { shellStrings } from '../lib/shell_strings.js';
import { tellFailure } from './attempts.js';

const KEY = 'anaphora.temporary';

function createSlot() {
  let held = null;
  try {
    held = sessionStorage.getItem(KEY);
  } catch {
    // Storage may be forbidden: what a reload leaves behind then ends after its day.
  }
  return {
    get held() {
      return held;
    },
    hold(conversationId) {
      held = conversationId;
      try {
        if (held === null) sessionStorage.removeItem(KEY);
        else sessionStorage.setItem(KEY, held);
      } catch {
        // As above.
      }
    },
  };
}

/** One for the window, whoever began what it holds: sidebar or composer. */
const slot = createSlot();

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {object} parts.events
 * @param {string} parts.domain
 * @param {() => void} parts.onBegin called before the page turns
 * @param {(conversation: object) => Promise<void>} parts.onMade takes a new conversation in
 * @returns {{begin: (workspaceId?: string) => void, beginTemporary: () => void,
 *            shown: (conversationId: string|null) => void}}
 */
export function createBeginning({ api, events, domain, onBegin, onMade }) {
  async function leave() {
    const left = slot.held;
    slot.hold(null);
    try {
      await api.deleteConversation(left);
    } catch {
      // It ends by itself after its day.
    }
  }

  /** @returns {Promise<string|null>} the id of the new conversation; null where there is none, which has been said */
  async function make(create) {
    try {
      const conversation = await create();
      await onMade(conversation);
      if (conversation.temporary) slot.hold(conversation.conversation_id);
      return conversation.conversation_id;
    } catch (error) {
      tellFailure(error, { failed: shellStrings.sidebar.actionFailed, again: () => turnTo(create), creates: true });
      return null;
    }
  }

  /** The page turns to the conversation at once, so that what is typed meanwhile is written in it. */
  function turnTo(create) {
    onBegin();
    events.emit('conversation:begun', { made: make(create) });
  }

  return {
    begin: (workspaceId) => turnTo(() => api.createConversation(domain, workspaceId)),
    beginTemporary: () => turnTo(() => api.createTemporaryConversation(domain)),
    shown(conversationId) {
      if (slot.held !== null && slot.held !== conversationId) leave();
    },
  };
}
