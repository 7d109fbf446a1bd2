import { mayPass } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { isFromUser, senderName } from '../message_model.js';
import { element, setHidden } from '../../ui/dom.js';

/** The message that is replied to, as the server has it; null when it is not there any more, undefined when nobody knows. */
async function askFor(messageId, page) {
  try {
    const around = await page.api.listMessages(page.conversationId(), { around: messageId, limit: 1 }, { quiet: true });
    return around.find((message) => message.message_id === messageId) ?? null;
  } catch (error) {
    return mayPass(error) ? undefined : null;
  }
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
  /** What the server told of the message that is replied to, where the page does not have it. */
  let elsewhere = undefined;
  let isAsking = false;

  link.addEventListener('click', () => page.goTo({ conversation_id: page.conversationId(), message_id: replyToId }));
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
    const name = target ? senderName(target, strings.sender) : strings.reply[target === null ? 'deleted' : 'unknown'];
    link.textContent = strings.reply.to(name, target?.short_id ?? '');
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
