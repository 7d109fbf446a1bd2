import { shortTime } from '../../core/words/times.js';
import { threadStrings as words } from '../../strings/en/threads.js';
import { element, setHidden } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';

/**
 * The button "3 replies · last 14:05" of the root of a thread: it opens the thread beside the conversation.
 *
 * @param {() => string} current id of the message or other activity
 * @param {object} page
 */
export function createThreadCount(current, page) {
  const label = element('span');
  const node = element('button', { type: 'button', class: 'thread-count', hidden: true, onclick: open }, icon('reply'), label);

  function open() {
    const thread = page.threadOf(current());
    if (thread) page.events.emit('rail:show', { tab: 'threads', threadId: thread.thread_id });
  }

  function update() {
    const thread = page.threadOf(current());
    const { reply_count: replies = 0, last_reply_at: last = null } = thread?.thread_metadata ?? {};
    setHidden(node, replies === 0);
    label.textContent = [words.replies(replies), last ? words.last(shortTime(last)) : ''].filter(Boolean).join(' · ');
    node.title = words.openThread;
  }

  return { node, update };
}
