/**
 * Files that go with a message. Short text files stand inside of its text, `{name, text}`; all others are stored by the server
 * first, `{name, stored}`, where `stored` is what it knows of them.
 */

export const MOST_FILES = 10;
/** From this length on, pasted text is offered to become a file. */
export const LONG_PASTE = 4000;

const LANGUAGE = /\.([a-z0-9]{1,12})$/i;
// Control characters, line ends and what ends a code span, none of which belongs into a label.
const NOT_IN_NAMES = /[\u0000-\u001f\u007f\u2028\u2029`]+/g;

/** Why a file can't go along: `reason` is 'notText', 'empty', 'tooBig' or 'unreadable'. */
export class RefusedFileError extends Error {
  constructor(reason, name) {
    super(reason);
    this.name = 'RefusedFileError';
    this.reason = reason;
    this.file = name;
  }
}

/** @param {string} name @returns {string} the file's name as it can stand in a line of Markdown */
export function cleanName(name) {
  return name.replace(NOT_IN_NAMES, ' ').trim().slice(0, 120) || 'file';
}

/**
 * The text of a file, by what is in it and not by its name.
 *
 * @param {{name: string, size: number, arrayBuffer: () => Promise<ArrayBuffer>}} file
 * @param {{most: number}} options `most` characters
 * @returns {Promise<{name: string, text: string}>}
 * @throws {RefusedFileError}
 */
export async function readTextFile(file, { most }) {
  const name = cleanName(file.name);
  // A character takes four bytes at most; what is larger need not be read.
  if (file.size > most * 4) throw new RefusedFileError('tooBig', name);
  let bytes;
  try {
    bytes = await file.arrayBuffer();
  } catch {
    throw new RefusedFileError('unreadable', name);
  }
  const text = decoded(bytes, name);
  if (text.trim() === '') throw new RefusedFileError('empty', name);
  if (text.length > most) throw new RefusedFileError('tooBig', name);
  return { name, text };
}

function decoded(bytes, name) {
  try {
    const text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
    // A small PDF may well be text; what it says, the server reads.
    if (!text.includes('\0') && !text.startsWith('%PDF-')) return text.replace(/\r\n?/g, '\n');
  } catch {
    // It is no UTF-8.
  }
  throw new RefusedFileError('notText', name);
}

/** Whether a file that can't stand in the text is to be stored by the server. @param {Error} error of `readTextFile` */
export const isForServer = (error) => error instanceof RefusedFileError && (error.reason === 'notText' || error.reason === 'tooBig');

/** @param {Array<{stored?: object}>} files @returns {object[]} what the server knows of those that it has stored, in order */
export const storedOf = (files) => files.map(({ stored }) => stored).filter(Boolean);

/**
 * The parts by which a message shows the files that the server has stored.
 *
 * @param {Array<{stored?: object}>} files
 * @param {number} at characters of the message
 */
export const partsOf = (files, at) =>
  storedOf(files).map(({ kind, ...known }, place) => ({ ...known, id: place + 1, at, kind: kind === 'image' ? 'image' : 'file' }));

/** A fence that is longer than any within the text, so that nothing in it ends the block. */
function fenceFor(text) {
  const runs = text.match(/`{3,}/g) ?? [];
  return '`'.repeat(Math.max(3, ...runs.map((run) => run.length + 1)));
}

/** @param {{name: string, text: string}} file @returns {string} the file as Markdown: its name, and a fenced block */
export function fileBlock({ name, text }) {
  const fence = fenceFor(text);
  const language = LANGUAGE.exec(name)?.[1].toLowerCase() ?? '';
  return `Attached file \`${name}\`:\n\n${fence}${language}\n${text.replace(/\n$/, '')}\n${fence}`;
}

/** @param {string} text @param {Array<{name: string, text: string}>} files @returns {string} what is sent */
export function withFiles(text, files) {
  const inside = files.filter(({ stored }) => !stored);
  if (inside.length > 0) return [text.trimEnd(), ...inside.map(fileBlock)].filter(Boolean).join('\n\n');
  // A message may be files alone.
  return text.trim() === '' ? '' : text;
}

/** Files in the order in which they were chosen, not in that in which their uploads ended. */
export const inPlace = (files) => files.toSorted((one, other) => (one.place ?? 0) - (other.place ?? 0));

/** A file that is chosen now: it comes behind `files`. */
export const withPlace = (file, files) => ({ ...file, place: Math.max(0, ...files.map(({ place }) => place ?? 0)) + 1 });
