import { agentName } from '../../core/words/agent_name.js';
import { mayPass } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { placeOfActivity } from '../activity_model.js';
import { isFromUser, senderName } from '../message_model.js';
import { element, setHidden } from '../../ui/dom.js';

/**
 * The message or other activity that is replied to, as the server has it; null when it is not there any more, undefined when
 * nobody knows.
 */
async function askFor(activityId, page) {
  try {
    const activity = await page.api.getActivity(activityId, { quiet: true });
    if (!activity.is_message || activity.conversation_id !== page.conversationId()) return activity;
    const around = await page.api.listMessages(page.conversationId(), { around: activityId, limit: 1 }, { quiet: true });
    return around.find((message) => message.message_id === activityId) ?? activity;
  } catch (error) {
    return mayPass(error) ? undefined : null;
  }
}

/** Who said it, or what it is where it is no message. */
function nameOf(target) {
  if (!target) return strings.reply[target === null ? 'deleted' : 'unknown'];
  if (target.message_id) return senderName(target, strings.sender);
  if (!target.is_message) return target.heading;
  return target.actor.type === 'user' ? strings.sender.user : agentName(target.actor.name);
}

/** An answer right below its question: that it replies to it goes without saying. */
const isPlainAnswer = (message, target) => !isFromUser(message) && target?.message_index === message.message_index - 1;

/**
 * The line "Replying to You (#121248)" above a reply: a click goes there, hovering lights the target up.
 *
 * @param {object} page
 */
export function createReplyLine(page) {
  const link = element('button', { type: 'button', class: 'message-reply-link' });
  const node = element('p', { class: 'message-reply', hidden: true }, link);
  let replyToId = null;
  /** What the server told of what is replied to, where the page does not have it. */
  let elsewhere = undefined;
  let isAsking = false;

  function go() {
    const isKnown = elsewhere?.conversation_id && elsewhere.is_message !== undefined;
    page.goTo(isKnown ? placeOfActivity(elsewhere) : { conversation_id: page.conversationId(), message_id: replyToId });
  }

  link.addEventListener('click', go);
  const light = (on) => page.light(replyToId, on);
  link.addEventListener('pointerenter', () => light(true));
  link.addEventListener('pointerleave', () => light(false));
  link.addEventListener('focus', () => light(true));
  link.addEventListener('blur', () => light(false));

  async function turnTo(messageId) {
    replyToId = messageId;
    elsewhere = undefined;
    isAsking = !page.find(messageId);
    if (!isAsking) return;
    const found = await askFor(messageId, page);
    if (replyToId !== messageId) return;
    elsewhere = found;
    isAsking = false;
  }

  function show(message) {
    const target = page.find(replyToId) ?? elsewhere;
    setHidden(node, isPlainAnswer(message, target));
    link.textContent = strings.reply.to(nameOf(target), target?.short_id ?? '');
    link.disabled = target === null;
  }

  async function update(message) {
    const { reply_to_id: messageId = null } = message;
    if (!messageId) {
      setHidden(node, true);
      return;
    }
    const isUnknown = !isAsking && elsewhere === undefined && !page.find(messageId);
    if (messageId !== replyToId || isUnknown) await turnTo(messageId);
    // Before the target is known, an answer may stand right below it.
    if (messageId === replyToId && !isAsking) show(message);
  }

  return { node, update };
}
