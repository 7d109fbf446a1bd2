/** Files to be imported: which of them may be documents, how they are sent, and what became of them. */

const DOCUMENT = /\.(?:md|markdown|txt)$/i;
const ARCHIVE = /\.zip$/i;
/** Few enough that progress is seen, many enough that a large folder takes no hour. */
const MOST_FILES = 100;
const MOST_BYTES = 4 * 1024 * 1024;

/** @param {string} name of a file @returns {boolean} whether it may be a document */
export const isDocument = (name) => DOCUMENT.test(name);

/** What a file input accepts. */
export const ACCEPTED = '.md,.markdown,.txt,.zip';

/**
 * @param {Iterable<File>} files those of a folder with their path in it
 * @returns {{wanted: Array<{name: string, file: File}>, others: number}} documents and archives, and how many other files there are
 */
export function importable(files) {
  const named = [...files].map((file) => ({ name: file.webkitRelativePath || file.name, file }));
  const isHidden = (name) => name.split('/').some((part) => part.startsWith('.'));
  const seen = named.filter(({ name }) => !isHidden(name));
  const wanted = seen.filter(({ name }) => isDocument(name) || ARCHIVE.test(name));
  return { wanted, others: named.length - wanted.length };
}

/**
 * @param {Array<{name: string, file: {size: number}}>} wanted
 * @returns {Array<Array<{name: string, file: object}>>} what goes in one request each; an archive goes alone
 */
export function portionsOf(wanted) {
  const portions = [];
  let bytes = 0;
  let last = null;
  for (const each of wanted) {
    const isAlone = ARCHIVE.test(each.name);
    bytes += each.file.size;
    if (!last || isAlone || last.length >= MOST_FILES || bytes > MOST_BYTES) {
      last = [];
      bytes = each.file.size;
      portions.push(last);
    }
    last.push(each);
    if (isAlone) last = null;
  }
  return portions;
}

/** @returns {{imported: string[], unchanged: string[], refused: object[], passed_over: number}} what became of nothing */
export const emptyReport = () => ({ imported: [], unchanged: [], refused: [], passed_over: 0 });

/** Both reports as one. */
export function joined(one, other) {
  const both = (name) => (name === 'passed_over' ? one[name] + other[name] : [...one[name], ...other[name]]);
  return Object.fromEntries(Object.keys(one).map((name) => [name, both(name)]));
}

/** The report on a portion that the server did not take. @param {{code: string, message: string}} error */
export function refusedWhole(portion, { code, message }) {
  return { ...emptyReport(), refused: portion.map(({ name }) => ({ path: name, reason: message, code })) };
}

/** Whether the server refuses these files, and would refuse them again. */
export const isRefusal = ({ status }) => status === 400 || status === 413;
