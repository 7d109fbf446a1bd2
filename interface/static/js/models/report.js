/** Reading the report on references: the entries that the server stores with a user's message. */

const GIVEN = new Set(['resolved', 'truncated']);
const ICONS = {
  message: 'chat-square-text',
  message_range: 'chat-square-text',
  conversation: 'chat',
  context: 'folder',
  document: 'file-text',
};

/** @param {object} entry */
export function isGiven(entry) {
  return GIVEN.has(entry.status);
}

/** Whether the name was most likely no reference at all (a decorator, a handle), so that it is no failure. */
export function isMuted(entry) {
  return entry.muted === true;
}

/** @param {object|null} entry the name of the icon that stands for what is referred to */
export function iconOf(entry) {
  return ICONS[entry?.kind] ?? 'at';
}

/**
 * @param {object[]} entries
 * @returns {{total: number, problems: Array<[string, number]>}} how many references, and how many fared badly, by status
 */
export function summarise(entries) {
  const counted = entries.filter((entry) => !isMuted(entry));
  const problems = new Map();
  for (const { status } of counted) {
    if (status !== 'resolved') problems.set(status, (problems.get(status) ?? 0) + 1);
  }
  return { total: counted.length, problems: [...problems] };
}

/**
 * @param {object[]} entries
 * @param {typeof import('../lib/strings.js').strings.references} words
 * @returns {string} one line: "2 references · 1 not found"
 */
export function summaryLine(entries, words) {
  const { total, problems } = summarise(entries);
  return [words.summary(total), ...problems.map(([status, n]) => words.problem[status]?.(n) ?? `${n} ${status}`)].join(' · ');
}

/** @param {string} ref with or without its sign @returns {string} the name alone, lowercase for conversations */
export function bareReference(ref) {
  const bare = ref.replace(/^[@#]/, '');
  return /^conv(ersation)?_/i.test(bare) ? bare.toLowerCase() : bare;
}

/**
 * @param {object[]} entries
 * @returns {Map<string, object>} the entries by the bare name of their reference
 */
export function entriesByReference(entries) {
  return new Map(entries.map((entry) => [bareReference(entry.ref), entry]));
}
