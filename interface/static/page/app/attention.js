/**
 * Answers that nobody has read yet: the same in all windows of the browser, counted in the window's title, and told by a
 * notification to a person who is elsewhere.
 */

import { conversationTitle } from '../core/words/conversation_title.js';
import { ReadMarks } from '../core/browser_storage/unread.js';
import { offeredNotifications } from '../core/browser_storage/storage.js';
import { shellStrings } from '../strings/en/shell.js';
import { isUndecided, mayNotify, notify, turnOnNotifications } from '../ui/notices/notifications.js';
import { setUnreadCount } from '../ui/notices/page_title.js';
import { showToast } from '../ui/notices/toast.js';

const words = shellStrings.attention;
/** By then another window has said that the answer was read in it. */
const READ_ELSEWHERE_MS = 1000;
const KEPT_MS = 30 * 24 * 3600 * 1000;

const isEnd = ({ kind, change, fields }) => kind === 'turn' && change === 'changed' && fields.status !== 'cancelled';

/** Keeps `unread` of the store's conversations the same in all windows, and over a reload. */
function shareReading(store, marks) {
  function show(conversationId) {
    if (store.isWatched(conversationId)) marks.read(conversationId);
    store.changeConversation(conversationId, { unread: marks.isUnread(conversationId) });
  }

  marks.follow(show);
  store.subscribe(({ lists, conversations, told }) => {
    for (const [conversationId, before] of conversations) {
      if (before?.unread && store.conversation(conversationId)?.unread === false) marks.read(conversationId);
    }
    for (const { conversation_id: conversationId, at } of told.filter(isEnd)) {
      marks.answered(conversationId, at);
      show(conversationId);
    }
    if (lists) marks.unread().forEach(show);
  });
}

/** Notifies of answers that end while the page can't be seen; offers to do so once, when somebody comes back to one. */
function tellElsewhere({ store, events, isMine }) {
  let wasMissed = false;
  const waiting = new Set();

  function tell({ id: messageId, conversation_id: conversationId }) {
    const conversation = store.conversation(conversationId);
    if (!conversation?.unread || !document.hidden || !mayNotify() || !isMine()) return;
    notify(conversationTitle(conversation.title) || words.untitled, {
      body: words.done, tag: conversationId, onClick: () => events.emit('conversation:open', { conversationId, messageId }),
    });
  }

  /** Whoever comes back sees in the lists what has ended. */
  function welcome() {
    if (document.hidden) return;
    waiting.forEach(clearTimeout);
    waiting.clear();
    offer();
  }

  function offer() {
    if (!wasMissed || offeredNotifications.get() || !isUndecided()) return;
    offeredNotifications.set(true);
    showToast(words.offer, { actionLabel: words.accept, onAction: turnOnNotifications });
  }

  store.subscribe(({ told }) => {
    if (!document.hidden) return;
    for (const turn of told.filter(isEnd)) {
      wasMissed = true;
      const timer = setTimeout(() => {
        waiting.delete(timer);
        tell(turn);
      }, READ_ELSEWHERE_MS);
      waiting.add(timer);
    }
  });
  document.addEventListener('visibilitychange', welcome);
}

/**
 * @param {{store: import('../core/store.js').Store, events: object, kept: import('../core/browser_storage/kept.js').Kept, isMine: () => boolean}} page
 *   `isMine`: whether it is for this window to tell what all windows know
 */
export function callAttention({ store, events, kept, isMine }) {
  const marks = new ReadMarks(kept);
  marks.forget(new Date(Date.now() - KEPT_MS).toISOString());
  shareReading(store, marks);
  store.select(({ conversations }) => [...conversations.values()].filter(({ unread }) => unread).length, setUnreadCount);
  tellElsewhere({ store, events, isMine });
}
