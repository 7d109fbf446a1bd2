/** The tags of several conversations at once: which ones all of them have, or some, and what has to change for other ones. */

/** A tag as tags are compared. @param {string} tag */
export const foldedTag = (tag) => tag.normalize('NFC').toLowerCase();

/** What somebody wrote into a field for tags. @param {string} written @returns {string[]} */
export const tagsIn = (written) => written.split(/[,，]/).map((tag) => tag.trim().replace(/^#/, '').replace(/\s+/g, ' ').trim()).filter(Boolean);

const has = ({ tags = [] }, tag) => tags.some((each) => foldedTag(each) === foldedTag(tag));
const inOrder = (one, other) => foldedTag(one).localeCompare(foldedTag(other));

/**
 * @param {Array<{tags?: string[]}>} conversations
 * @returns {Array<{tag: string, count: number}>} each tag that some of them have, and how many do
 */
export function tagsOfMany(conversations) {
  const found = new Map();
  for (const tag of conversations.flatMap(({ tags = [] }) => tags)) if (!found.has(foldedTag(tag))) found.set(foldedTag(tag), tag);
  return [...found.values()].sort(inOrder).map((tag) => ({ tag, count: conversations.filter((each) => has(each, tag)).length }));
}

/**
 * @param {Array<{conversation_id: string, tags?: string[]}>} conversations
 * @param {Array<{tag: string, isOn: boolean|null}>} wanted null: as it is with each of them
 * @returns {Array<{change: 'tag'|'untag', tag: string, ids: string[]}>} only for those that it changes
 */
export function tagChanges(conversations, wanted) {
  const changes = wanted.filter(({ isOn }) => isOn !== null).map(({ tag, isOn }) => ({
    change: isOn ? 'tag' : 'untag', tag,
    ids: conversations.filter((each) => has(each, tag) !== isOn).map(({ conversation_id: id }) => id),
  }));
  // What is taken makes room for what is given.
  return changes.filter(({ ids }) => ids.length > 0).sort((one, other) => other.change.localeCompare(one.change));
}

/** @returns {string[]} the tags of a conversation after one of these changes */
export function changedTags(conversation, { change, tag }) {
  const others = (conversation.tags ?? []).filter((each) => foldedTag(each) !== foldedTag(tag));
  return change === 'tag' ? [...others, tag].sort(inOrder) : others;
}
