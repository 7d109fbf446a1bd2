/** The tags of several conversations at once: which ones all of them have, or some, and what has to change for other ones. */

/** The most characters of a tag, as the server counts them. */
export const LONGEST_TAG = 50;

/** A tag as the server compares tags: `ß` is `ss` there, as it is in capitals. @param {string} tag */
export const foldedTag = (tag) => tag.normalize('NFC').toUpperCase().toLowerCase().normalize('NFC');

/** What somebody wrote into a field for tags. @param {string} written @returns {string[]} */
export const tagsIn = (written) => written.split(/[,，]/).map((tag) => tag.trim().replace(/^#/, '').replace(/\s+/g, ' ').trim()).filter(Boolean);

/** @param {string} tag @returns {boolean} whether the server refuses it */
export const isTooLong = (tag) => [...tag.normalize('NFC')].length > LONGEST_TAG;

const ownSpelling = ({ tags = [] }, tag) => tags.find((each) => foldedTag(each) === foldedTag(tag));
const has = (conversation, tag) => ownSpelling(conversation, tag) !== undefined;
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
 * The state of a tag's box: it goes from half ticked, where only some have the tag, over ticked to empty.
 *
 * @param {{count: number, total: number}} place how many of how many have the tag
 * @returns {{isOn: () => boolean|null, step: () => void, tick: () => void, read: () => boolean|null}} `read`: what the person wants,
 *   null where that is nothing else than there was, which another tab may have changed meanwhile
 */
export function createTagState({ count, total }) {
  const isPartly = count > 0 && count < total;
  const before = isPartly ? null : count === total;
  let isOn = before;
  let isAsked = false;
  return {
    isOn: () => isOn,
    step() {
      isAsked = false;
      if (isOn === false && isPartly) isOn = null;
      else isOn = isOn !== true;
    },
    tick() {
      isAsked = true;
      isOn = true;
    },
    read: () => (isAsked || isOn !== before ? isOn : null),
  };
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

/**
 * @param {Array<{conversation_id: string, tags?: string[]}>} conversations that were changed, as they were before
 * @param {{change: 'tag'|'untag', tag: string}} done
 * @returns {Array<{change: 'tag'|'untag', tag: string, ids: string[]}>} what takes the change back: each has its tag as it was spelled there
 */
export function tagsBack(conversations, { change, tag }) {
  const groups = new Map();
  for (const each of conversations) {
    const spelled = change === 'untag' ? (ownSpelling(each, tag) ?? tag) : tag;
    groups.set(spelled, [...(groups.get(spelled) ?? []), each.conversation_id]);
  }
  return [...groups].map(([spelled, ids]) => ({ change: change === 'tag' ? 'untag' : 'tag', tag: spelled, ids }));
}

/**
 * Does changes one after the other, until one fails.
 *
 * @param {Array<{change: 'tag'|'untag', tag: string, ids: string[]}>} changes
 * @param {{find: (id: string) => object|undefined, change: (each: object, how: {apply: (done: string[]) => void, again: (left: string[]) => void}) => Promise<Error|null>,
 *   apply: (each: object, done: string[]) => void, onEnd: (back: object[]) => void}} page `find`: a conversation as it is; `change` does one and gives
 *   why it failed; `onEnd` is called after each try with all that takes back what was done
 * @param {object[]} [back] what takes back what was done before
 */
export async function retag(changes, page, back = []) {
  const all = [...back];
  for (const [position, each] of changes.entries()) {
    const before = new Map(each.ids.map((id) => [id, page.find(id)]));
    let error = null;
    const again = (left) => retag([{ ...each, ids: left }, ...(error ? changes.slice(position + 1) : [])], page, all);
    error = await page.change(each, {
      again,
      apply(done) {
        all.unshift(...tagsBack(done.map((id) => before.get(id)).filter(Boolean), each));
        page.apply(each, done);
      },
    });
    if (error) break;
  }
  page.onEnd(all);
}

/** @returns {string[]} the tags of a conversation after one of these changes */
export function changedTags(conversation, { change, tag }) {
  const others = (conversation.tags ?? []).filter((each) => foldedTag(each) !== foldedTag(tag));
  return change === 'tag' ? [...others, tag].sort(inOrder) : others;
}
