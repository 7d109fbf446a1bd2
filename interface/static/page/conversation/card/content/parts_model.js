/**
 * A message as parts. Its words are `text`; everything else it has is a part `{id, kind, at, …}`, where `at` says how many
 * characters (code points) of the text come before it.
 */

/**
 * The parts after one more event of the stream.
 *
 * @param {object[]} parts
 * @param {{part?: object, part_text?: {id: number, text: string}}} event `part` adds a part or replaces the one of its id,
 *   `part_text` appends to the text of one
 * @returns {object[]} the same array where the event is about no part
 */
export function reduceParts(parts, { part, part_text: more }) {
  if (!part && !more) return parts;
  const { id } = part ?? more;
  const before = parts.find((each) => each.id === id);
  const now = part ?? { ...before, text: (before?.text ?? '') + more.text };
  return before ? parts.map((each) => (each === before ? now : each)) : [...parts, now];
}

/** @returns {number} the code points of a text */
export function lengthOf(text) {
  let length = text.length;
  for (let i = 0; i < text.length - 1; i += 1) {
    if (text.codePointAt(i) > 0xffff) {
      length -= 1;
      i += 1;
    }
  }
  return length;
}

/** Where the first `points` code points of a text end, in the units that strings are sliced by. */
function offsetAfter(text, points) {
  let offset = 0;
  for (let left = points; left > 0 && offset < text.length; left -= 1) offset += text.codePointAt(offset) > 0xffff ? 2 : 1;
  return offset;
}

/** @param {object[]} parts that stand among the words @returns {number[]} where the words are cut, in order, each place once */
export function cutsOf(parts) {
  return [...new Set(parts.map(({ at }) => at))].filter((at) => at > 0).sort((a, b) => a - b);
}

/**
 * Cuts words where parts stand among them.
 *
 * @param {string} text which begins at code point `from` of its message
 * @param {number} from
 * @param {number[]} cuts
 * @returns {Array<{at: number, text: string}>} `at`: where the whole piece of the message begins
 */
export function cutText(text, from, cuts) {
  const pieces = [];
  let at = cuts.findLast((cut) => cut <= from) ?? 0;
  let rest = text;
  let begin = from;
  for (const cut of cuts) {
    if (cut <= from) continue;
    const end = offsetAfter(rest, cut - begin);
    if (end > 0) pieces.push({ at, text: rest.slice(0, end) });
    rest = rest.slice(end);
    if (!rest) return pieces;
    begin = cut;
    at = cut;
  }
  return rest ? [...pieces, { at, text: rest }] : pieces;
}

/** The part that holds the words from code point `at` on. While they are being written it says nothing of them. */
export const textPart = (at, text) => ({ id: `text-${at}`, kind: 'text', at, text });

/**
 * Parts in the order in which they are read: those among the words by their places, the others behind.
 *
 * @param {object[]} texts parts of the kind `text`
 * @param {object[]} others
 * @param {(part: object) => boolean} isInline whether a part stands among the words
 * @returns {object[]}
 */
export function ordered(texts, others, isInline) {
  const isText = ({ kind }) => (kind === 'text' ? 1 : 0);
  // Sorting is stable: parts at one place keep their order, and the words that begin there follow them.
  const among = [...others.filter(isInline), ...texts].sort((a, b) => a.at - b.at || isText(a) - isText(b));
  return [...among, ...others.filter((part) => !isInline(part))];
}

/**
 * All parts of a message in the order in which they are read: its words become parts of the kind `text`, at least one.
 *
 * @param {string} text
 * @param {object[]} parts
 * @param {(part: object) => boolean} isInline
 * @returns {object[]}
 */
export function inReadingOrder(text, parts, isInline) {
  const texts = cutText(text, 0, cutsOf(parts.filter(isInline))).map((piece) => textPart(piece.at, piece.text));
  return ordered(texts.length > 0 ? texts : [textPart(0, '')], parts, isInline);
}
