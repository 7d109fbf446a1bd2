import { mayPass } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { isFromUser, senderName } from '../message_model.js';
import { element, setHidden } from '../../ui/dom.js';

/** The message that is replied to, on the page or on the server; null when it is not there any more, undefined when nobody knows. */
async function findTarget(replyToId, page) {
  const here = page.find(replyToId);
  if (here) return here;
  try {
    const around = await page.api.listMessages(page.conversationId(), { around: replyToId, limit: 1 }, { quiet: true });
    return around.find((message) => message.message_id === replyToId) ?? null;
  } catch (error) {
    return mayPass(error) ? undefined : null;
  }
}

/** An answer right below its question: that it replies to it goes without saying. */
function isPlainAnswer(message, page) {
  if (isFromUser(message)) return false;
  return page.find(message.reply_to_id)?.message_index === message.message_index - 1;
}

/**
 * The line "Replying to You (#121248)" above a reply: a click goes there, hovering lights the target up.
 *
 * @param {object} page
 */
export function createReplyLine(page) {
  const link = element('button', { type: 'button', class: 'message-reply-link' });
  const node = element('p', { class: 'message-reply', hidden: true }, link);
  let replyToId = null;

  link.addEventListener('click', () => page.goTo({ conversation_id: page.conversationId(), message_id: replyToId }));
  const light = (on) => page.light(replyToId, on);
  link.addEventListener('pointerenter', () => light(true));
  link.addEventListener('pointerleave', () => light(false));
  link.addEventListener('focus', () => light(true));
  link.addEventListener('blur', () => light(false));

  async function update(message) {
    const target = isPlainAnswer(message, page) ? null : message.reply_to_id ?? null;
    setHidden(node, !target);
    if (!target || target === replyToId) return;
    replyToId = target;
    link.textContent = strings.reply.to(strings.reply.unknown, '');
    const found = await findTarget(target, page);
    if (found === undefined) return;
    const name = found ? senderName(found, strings.sender) : strings.reply.deleted;
    link.textContent = strings.reply.to(name, found?.short_id ?? '');
    link.disabled = !found;
  }

  return { node, update };
}
