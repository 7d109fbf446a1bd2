/**
 * Markdown as it is read: its words, without the marks. What may be code or arithmetic (`__init__`, `2*3*4`, `f(*args)`) stays as it was
 * typed, also where Markdown takes it for a mark.
 */

import { codeRanges } from './code_ranges_model.js';
import { excerpt } from '../core/words/excerpt.js';

/** Characters of a preview. */
const PREVIEW_LENGTH = 200;
const CODE = /^ {0,3}(```|~~~)[^\n]*\n[\s\S]*?(?:^ {0,3}\1[^\n]*$|$(?![\s\S]))/gm;
const FENCE = /`{3,}|~{3,}/;
const LINK = /(?<![\w)\]])!?\[([^[\]\n]+)\]\((<[^<>\n]{0,999}>|(?:[^\s()]|\([^\s()]{0,99}\)){1,999})(?: "[^"\n]{0,999}")?\)/g;
/** What the target of a link has in it: `[&](auto)` and `steps[at](event)` are code. */
const ADDRESS = /[/.#:@]/;
/**
 * The mark at the beginning of a line. What a search found is on one line: two spaces are what is left of an empty line there, and a single "#" behind
 * them may begin a comment.
 */
const LINE = /^ {0,3}(?:#{1,6}|>|[-*+]|\d+[.)])[ \t]+|(?<=\s\s)#{2,6}[ \t]+(?=\S)/gm;
/** What marks stand beside: not the letters, digits and signs of code. Scripts that do not part words by spaces have marks within a line of letters. */
const BEFORE = String.raw`(?<![\w/\\=$@#%&+<)\]])`;
const AFTER = String.raw`(?![\w/\\=$@#%&+>(\[])`;
const BEGIN = String.raw`(?=[\p{L}\p{N}"'“‘„«([¿¡])`;
/** Answers like to begin bold words with a picture or a sign. */
const SIGN = String.raw`(?=[\p{L}\p{N}\p{Extended_Pictographic}\p{Sc}"'“‘„«([¿¡#@…→–-])`;
const END = String.raw`(?<![\s(\[{])`;
const CUT = /^…|…$/;
/** A longer text is no piece of one. */
const LONGEST_PIECE = 1000;
const PAIRS = [
  { pattern: pair('\\*\\*', String.raw`(?:(?!\*\*)[^\n])+`, SIGN), isMark: () => true },
  { pattern: pair('~~', String.raw`(?:(?!~~)[^\n])+`, SIGN), isMark: () => true },
  // A word alone between these is a name in Python.
  { pattern: pair('__', String.raw`[^_\n]+`), isMark: (inner) => /\s/.test(inner) },
  { pattern: pair(String.raw`(?<!\*)\*(?!\*)`, String.raw`[^*\n]+`), isMark: (inner) => inner.length > 1 && /^\P{N}/u.test(inner) },
];
/**
 * Marks whose other half was cut off, in a piece of a text that says so by "…" where it was cut. `group`: which group of the pattern is words and stays;
 * without it, all that matches goes.
 */
const HALVES = [
  { pattern: /(?<![\w)\]])!?\[([^[\]\n]+)\]\([^\s()]*(?=\s?…$)/g, group: 1 },
  { pattern: /(?<![\w)\]])!?\[(?=\p{L}[^[\]\n]*…$)/gu },
  { pattern: /(?<=^…[^[\]\n]*)\]\([^\s()]*[/.#:@][^\s()]*\)/g },
  { pattern: /(?<![`\w])`(?=[^\s`][^`\n]*…$)/g },
  { pattern: /(?<=^…[^`\n]*[^\s`])`(?![`\w])/g },
  ...['\\*\\*', '~~'].flatMap((mark) => [
    { pattern: new RegExp(`${BEFORE}${mark}${SIGN}(?=(?:(?!${mark})[^\\n])*…$)`, 'gu') },
    { pattern: new RegExp(`(?<=^…(?:(?!${mark})[^\\n])*)${END}${mark}${AFTER}`, 'gu') },
  ]),
];
/** Behind an open bracket, what looks like half a mark may be code: `f(**options, …`. */
const IN_BRACKETS = /[([{][^)\]}]*$/;
/** In the place of what is no mark of emphasis: a letter that may stand on either side of such a mark. */
const FILLER = 'é';

function pair(mark, inner, begin = BEGIN) {
  return new RegExp(`${BEFORE}(${mark})${begin}(${inner})${END}${mark}${AFTER}`, 'gu');
}

/** `text` with each of `ranges`, which do not overlap, as `filling` makes it of its length. */
function replaced(text, ranges, filling) {
  let made = '';
  let position = 0;
  for (const [begin, end] of ranges.toSorted((one, other) => one[0] - other[0])) {
    made += text.slice(position, begin) + filling(end - begin);
    position = end;
  }
  return made + text.slice(position);
}

const covered = (text, ranges) => replaced(text, ranges, (length) => FILLER.repeat(length));

/** The code of a text; of a piece of a text that begins or ends within code, all that may be code. */
function codeOf(text) {
  const found = [...codeRanges(text)];
  const fence = FENCE.exec(covered(text, found));
  if (!fence) return found;
  // With the name of a language it begins code; else nobody knows on which side of it the code is.
  const isBeginning = /^\w/.test(text.slice(fence.index + fence[0].length));
  const begin = isBeginning ? fence.index : 0;
  return [...found.filter(([start]) => start < begin), [begin, text.length]];
}

/** The marks around a piece of code, none where they are not seen. */
function marksOfCode(text, [begin, end]) {
  const code = text.slice(begin, end);
  const opening = /^[^`~\w]*?(`+|~{3,})/.exec(code);
  if (!opening) return [];
  const closing = /(`+|~{3,})\s*$/.exec(code);
  const marks = [[begin + opening[0].length - opening[1].length, begin + opening[0].length]];
  if (closing && closing.index >= opening[0].length) marks.push([begin + closing.index, begin + closing.index + closing[1].length]);
  return marks;
}

/** The marks that stand in a text as a whole, and the text with neither these nor code. */
function wholeMarks(text) {
  const code = codeOf(text);
  const marks = code.map((range) => marksOfCode(text, range));
  let rest = covered(text, code);
  function take(pattern, rangesOf) {
    const found = [...rest.matchAll(pattern)].map(rangesOf).filter((ranges) => ranges.length > 0);
    marks.push(...found);
    rest = covered(rest, found.flat());
  }
  take(LINK, ({ 0: link, 1: words, 2: target, index }) => {
    if (!ADDRESS.test(target)) return [];
    const begin = index + link.indexOf('[') + 1;
    return [[index, begin], [begin + words.length, index + link.length]];
  });
  take(LINE, ({ 0: mark, index }) => [[index, index + mark.length]]);
  for (const { pattern, isMark } of PAIRS) {
    take(pattern, ({ 0: whole, 1: mark, 2: inner, index }) => {
      const end = index + whole.length;
      return isMark(inner) ? [[index, index + mark.length], [end - mark.length, end]] : [];
    });
  }
  return { marks, rest };
}

/** @param {string} text @param {string} rest the text without code and whole marks */
function halvesIn(text, rest) {
  if (text.length > LONGEST_PIECE || !CUT.test(text)) return [];
  return HALVES.flatMap(({ pattern, group }) => [...rest.matchAll(pattern)].flatMap((match) => {
    const { 0: whole, index } = match;
    if (IN_BRACKETS.test(rest.slice(0, index))) return [];
    if (!group) return [[[index, index + whole.length]]];
    const begin = index + whole.indexOf('[') + 1;
    return [[[index, begin], [begin + match[group].length, index + whole.length]]];
  }));
}

/**
 * Where the marks of a text stand.
 *
 * @param {string} text Markdown, or a piece of it on one line
 * @returns {Array<Array<[number, number]>>} those that belong together, such as two asterisks before and two behind; a link's address belongs to its
 *   marks. Of a piece that says by "…" where it was cut, halves of marks, too
 */
export function marksOf(text) {
  const { marks, rest } = wholeMarks(text);
  return [...marks, ...halvesIn(text, rest)];
}

/** @param {string} text @param {Array<[number, number]>} marks that do not overlap @returns {string} */
export const withoutMarks = (text, marks) => replaced(text, marks, () => '');

/** @param {string} text Markdown @returns {string} */
export function plainText(text) {
  const words = text.replace(CODE, '');
  return withoutMarks(words, marksOf(words).flat()).replace(/\n{3,}/g, '\n\n').trim();
}

/**
 * @param {string} text Markdown
 * @param {number} length
 * @returns {string} the beginning of it on one line, without the marks; what is nothing but code stays as it is
 */
export function plainExcerpt(text, length) {
  return excerpt(plainText(text) || text, length);
}

/** `plainExcerpt` of what the server has cut to `PREVIEW_LENGTH` without saying so. */
export function plainPreview(preview, length) {
  return plainExcerpt(Array.from(preview).length < PREVIEW_LENGTH ? preview : `${preview}…`, length);
}

/** Markdown that was cut, to be shown as Markdown: without the marks whose other half is gone. @param {string} text @returns {string} */
export const withoutHalves = (text) => withoutMarks(text, halvesIn(text, wholeMarks(text).rest).flat());
