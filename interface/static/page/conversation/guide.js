import { strings } from '../strings/en/conversation.js';
import { attempt, tellFailure } from '../ui/notices/attempts.js';
import { showToast } from '../ui/notices/toast.js';
import { watchWriting } from '../ui/dom.js';
import { placeOfActivity } from './activity_model.js';

/**
 * Leads to messages and other activities of the open conversation. Who has begun to write before they come goes on writing.
 *
 * @param {object} page
 */
export function createGuide(page) {
  /** @param {string|null} messageId null: the newest */
  async function toMessage(messageId) {
    const transcript = page.transcript();
    if (!messageId) return transcript.toNewest();
    if (transcript.reveal(messageId)) return undefined;
    const writes = watchWriting();
    try {
      await transcript.loadAround(messageId);
      transcript.reveal(messageId, { takesFocus: !writes() });
    } catch (error) {
      if (error.code === 'message_not_found') showToast(strings.transcript.messageGone);
      else tellFailure(error, { failed: strings.transcript.failed, again: () => toMessage(messageId) });
    }
    return undefined;
  }

  /** The id of the message that an activity stands behind; null: it stands before all. */
  async function messageBefore({ seq }, conversationId) {
    const [activity] = await page.api.listActivities(conversationId, { before: seq + 1, limit: 1 });
    return activity?.after_message_id ?? null;
  }

  /** Leads to the line of an activity that is no message; where lines are hidden, to the message that it stands behind. */
  async function toActivity(activityId, { writes = watchWriting() } = {}) {
    const [transcript, conversationId] = [page.transcript(), page.conversationId()];
    if (transcript.revealActivity(activityId, { takesFocus: !writes() })) return;
    await attempt(async () => {
      const activity = await page.api.getActivity(activityId);
      // What led here may be older than the last move of the activity.
      if (activity.conversation_id !== conversationId) {
        if (conversationId === page.conversationId()) await page.goTo(placeOfActivity(activity));
        return;
      }
      const messageId = await messageBefore(activity, conversationId);
      if (conversationId !== page.conversationId()) return;
      await (messageId ? transcript.loadAround(messageId) : transcript.load({ around: 1 }));
      const takesFocus = !writes();
      if (conversationId !== page.conversationId() || transcript.revealActivity(activityId, { takesFocus })) return;
      if (messageId) transcript.reveal(messageId, { takesFocus });
    }, { failed: strings.transcript.failed, again: () => conversationId === page.conversationId() && toActivity(activityId) });
  }

  return { toMessage, toActivity };
}
