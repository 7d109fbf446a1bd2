/** What the Search panel shows, as the address of the page says it, and how results are laid out. */

import { marksOf, withoutMarks } from '../markdown/plain_text_model.js';
import { iconOf, permalinkOf } from '../references/report_model.js';

export const PANEL = 'search';
export const KINDS = ['all', 'message', 'file', 'document', 'conversation', 'memory'];
/**
 * In the order in which they are shown, before other kinds and messages, where one of them says what was sought; those that were found by what they
 * mean alone come last. Of all but messages a search of everything brings at most `FEW`.
 */
const ORDER = ['conversation', 'memory', 'document', 'file'];
const FEW = 5;

/**
 * @param {string} search of the address, `?panel=search&…`
 * @returns {{q: string, kind: string}|null} null: the address shows no such panel
 */
export function parseSearch(search) {
  const given = new URLSearchParams(search);
  if (given.get('panel') !== PANEL) return null;
  const kind = given.get('kind');
  return { q: given.get('q') ?? '', kind: KINDS.includes(kind) ? kind : KINDS[0] };
}

/**
 * @param {{q?: string, kind?: string}} state
 * @returns {string} the search part of an address; what is as usual is left out
 */
export function formatSearch({ q = '', kind = KINDS[0] }) {
  const said = [['panel', PANEL], ...(q ? [['q', q]] : []), ...(kind === KINDS[0] ? [] : [['kind', kind]])];
  return `?${new URLSearchParams(said)}`;
}

/**
 * @param {string} text
 * @param {Array<[number, number]>} ranges in characters, as the server counts them: an emoji is one
 * @returns {Array<{text: string, isMatch: boolean}>} the text in pieces
 */
export function piecesOf(text, ranges) {
  const characters = Array.from(text);
  const pieces = [];
  let position = 0;
  const add = (end, isMatch) => {
    if (end > position) pieces.push({ text: characters.slice(position, end).join(''), isMatch });
    position = Math.max(position, end);
  };
  for (const [begin, end] of ranges) {
    add(begin, false);
    add(end, true);
  }
  add(characters.length, false);
  return pieces;
}

/** Whether a mark says what was sought, as a link's address may. */
const says = (text, mark, matches) => matches.some((match) => {
  const [begin, end] = [Math.max(mark[0], match[0]), Math.min(mark[1], match[1])];
  return begin < end && /[\p{L}\p{N}]/u.test(text.slice(begin, end));
});

/**
 * `piecesOf` a piece of Markdown without its marks. Marks that say what was sought stay.
 *
 * @param {string} text
 * @param {Array<[number, number]>} ranges
 * @returns {Array<{text: string, isMatch: boolean}>}
 */
export function readablePiecesOf(text, ranges) {
  let end = 0;
  const pieces = piecesOf(text, ranges).map((piece) => {
    const begin = end;
    end += piece.text.length;
    return { ...piece, place: [begin, end] };
  });
  const matches = pieces.filter(({ isMatch }) => isMatch).map(({ place }) => place);
  const marks = marksOf(text).filter((group) => !group.some((mark) => says(text, mark, matches))).flat();
  return pieces
    .map(({ text: piece, isMatch, place: [from, to] }) => {
      const within = marks.filter((mark) => mark[0] < to && mark[1] > from);
      return { text: withoutMarks(piece, within.map((mark) => [Math.max(mark[0], from) - from, Math.min(mark[1], to) - from])), isMatch };
    })
    .filter(({ text: piece }) => piece);
}

/** What a result of a kind that the page doesn't know says of itself; `href`: where the server shows it, null for nowhere. @param {object} hit */
export const aboutOther = (hit) => ({ title: hit.title === hit.snippet ? null : hit.title, about: [hit.reference], href: permalinkOf(hit), target: null, icon: iconOf(hit) });

const MAY_BE_MEANT = new Set(['memory', 'document', 'file']);
const bare = (name) => (name ?? '').trim().replace(/^@|^\[\[|\]\]$/g, '').toLowerCase();

/** Whether no result of a group says a word that was sought, or has the name that was given. */
const isByMeaning = ({ kind, results }, q) =>
  MAY_BE_MEANT.has(kind) && results.every(({ ranges, title, reference }) => ranges?.length === 0 && ![bare(title), bare(reference)].includes(bare(q)));

/**
 * @param {object[]} results
 * @param {string} kind that was asked for
 * @param {string} [q] what was sought
 * @returns {Array<{kind: string, results: object[], hasMore: boolean}>} `hasMore`: there may be more when asked for alone, which is offered of known kinds
 */
export function groupsOf(results, kind, q = '') {
  const others = new Set(results.map((result) => result.kind).filter((name) => !KINDS.includes(name)));
  const groups = [...ORDER, ...others, 'message'].map((name) => ({ kind: name, results: results.filter((result) => result.kind === name) }));
  return groups
    .filter((group) => group.results.length > 0)
    .toSorted((one, other) => Number(isByMeaning(one, q)) - Number(isByMeaning(other, q)))
    .map((group) => ({ ...group, hasMore: kind === 'all' && ORDER.includes(group.kind) && group.results.length >= FEW }));
}
