/** The activities of a thread as a tree: replies below what they reply to, siblings in their order. */

/** How far replies are indented at most. */
const DEEPEST = 6;

/**
 * @typedef {object} PlacedActivity
 * @property {object} activity as the server gives it
 * @property {number} depth how many activities it stands below
 */

/**
 * @param {object[]} activities of one thread, in order
 * @returns {PlacedActivity[]} in the order in which a tree of them reads. What replies to an activity that is not among them
 *   stands at the edge.
 */
export function nested(activities) {
  const known = new Set(activities.map(({ id }) => id));
  const below = new Map();
  for (const activity of activities) {
    const parent = known.has(activity.reply_to_id) ? activity.reply_to_id : null;
    if (!below.has(parent)) below.set(parent, []);
    below.get(parent).push(activity);
  }
  const placed = [];
  const waiting = (below.get(null) ?? []).toReversed().map((activity) => ({ activity, depth: 0 }));
  while (waiting.length > 0) {
    const { activity, depth } = waiting.pop();
    placed.push({ activity, depth: Math.min(depth, DEEPEST) });
    for (const reply of (below.get(activity.id) ?? []).toReversed()) waiting.push({ activity: reply, depth: depth + 1 });
  }
  return placed;
}

/** @param {object[]} activities @returns {string[]} the recipes that they are of, each once, in order of appearance */
export function recipesOf(activities) {
  return [...new Set(activities.map(({ recipe }) => recipe))];
}
