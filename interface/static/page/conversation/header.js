import { conversationTitle } from '../core/words/conversation_title.js';
import { strings } from '../strings/en/conversation.js';

/**
 * What stands above a conversation: its title, and what it is besides.
 *
 * @param {HTMLElement} node of the header
 * @param {object} options
 * @param {import('../core/store.js').Store} options.store
 * @param {(title: string) => void} options.onTitle called with the title, '' where there is none
 * @returns {{show: (conversation: {conversationId: string, title: string|null, stateless?: boolean, isGone?: boolean}|null) => void}}
 *   a title of null: nobody knows it yet
 */
export function createHeader(node, { store, onTitle }) {
  const heading = node.querySelector('.conversation-title');
  const [temporaryMark, statelessMark, archivedMark] = ['temporary', 'stateless', 'archived'].map((name) => node.querySelector(`.${name}-mark`));
  let shown = null;

  function showMarks() {
    const { temporary = false, archived = false } = store.conversation(shown?.conversationId) ?? {};
    statelessMark.hidden = !shown?.stateless;
    temporaryMark.hidden = !temporary || Boolean(shown?.isGone);
    archivedMark.hidden = !archived;
  }

  store.subscribe(showMarks);

  return {
    show(conversation) {
      shown = conversation;
      const own = conversationTitle(conversation?.title);
      const title = conversation?.title === null ? '' : own || strings.transcript.none;
      heading.textContent = title;
      heading.title = title;
      showMarks();
      onTitle(own);
    },
  };
}
