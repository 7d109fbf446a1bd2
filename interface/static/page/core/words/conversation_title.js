import { strings } from '../../strings/en/conversation.js';

/** What the server calls a conversation whose first message has no words for a title. */
const NAMED_BY_THE_SERVER = 'New conversation';

/**
 * A conversation's title as people call it here: what the server named has a name in each language.
 *
 * @param {string|null|undefined} title
 * @returns {string} '' where there is none
 */
export const conversationTitle = (title) => {
  const trimmed = title?.trim() ?? '';
  return trimmed === NAMED_BY_THE_SERVER ? strings.transcript.none : trimmed;
};

/** The title as a list shows it: never empty. @param {string|null|undefined} title */
export const shownTitle = (title) => conversationTitle(title) || strings.transcript.untitled;

/**
 * What a list calls a conversation: while its first answer is being written, by the first words of its question.
 *
 * @param {{title?: string|null, first_words?: string}} conversation
 */
export const listedTitle = ({ title, first_words: words }) => shownTitle(conversationTitle(title) ? title : words);
