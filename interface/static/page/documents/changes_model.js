/**
 * What changes of documents, as the server tells them, mean for what the Documents panel shows. A change names the document by its path
 * and tells its title and version, not its text.
 *
 * @typedef {import('../core/changes.js').Change} Change of the kind `document`
 */

/** In the place of a path: so many documents changed that they are not named. */
const MANY = '*';
/** A rename is told as a document that is gone and one that was created, on a busy machine some seconds later. Further apart, these are two things. */
const RENAMED_WITHIN_MS = 20_000;

/** Whether some of the changed documents are not named. */
export const areManyChanged = (changes) => changes.some(({ id }) => id === MANY);

/**
 * The list of all documents after changes.
 *
 * @param {Array<{path: string, title: string}>} documents by path
 * @param {Change[]} changes in order
 * @returns {Array<{path: string, title: string}>|null} the same array where nothing changes in it; null: it has to be asked for
 */
export function listAfter(documents, changes) {
  if (areManyChanged(changes)) return null;
  const entries = new Map(documents.map((entry) => [entry.path, entry]));
  let isSame = true;
  for (const { change, id: path, fields: { title } } of changes) {
    if (change === 'gone') isSame = !entries.delete(path) && isSame;
    else if (entries.get(path)?.title !== title) {
      entries.set(path, { ...entries.get(path), path, title });
      isSame = false;
    }
  }
  return isSame ? documents : [...entries.values()].sort((one, other) => (one.path < other.path ? -1 : 1));
}

/**
 * What became of the document that is shown.
 *
 * @param {{path: string, version: string|null}} shown
 * @param {Change[]} told the latest changes, in order; `fresh` are the last of them
 * @param {Change[]} fresh those that were not looked at yet
 * @returns {{path: string|null, version: string|null|undefined}|null} where it lies now and its version, both null where it was deleted;
 *   the version is undefined where it was not told; null: nothing was told of it
 */
export function fateOf({ path, version }, told, fresh) {
  const last = told.findLast(({ id }) => id === path);
  const successor = last?.change === 'gone' ? successorOf(last, version, told) : undefined;
  if (fresh.some((each) => each === last || each === successor)) return fate(last, successor);
  return areManyChanged(fresh) ? { path, version: undefined } : null;
}

function successorOf(gone, version, told) {
  const isNear = ({ at }) => Math.abs(Date.parse(at) - Date.parse(gone.at)) <= RENAMED_WITHIN_MS;
  return told.findLast((each) => each.change === 'created' && each.id !== gone.id && each.fields.version === version && isNear(each));
}

function fate(last, successor) {
  if (successor) return { path: successor.id, version: successor.fields.version };
  return last.change === 'gone' ? { path: null, version: null } : { path: last.id, version: last.fields.version };
}

/**
 * Whether changes of other documents may change the links of a document, or those that lead to it. A new document that says the same is
 * the document itself, which was renamed: that it is gone is told next.
 *
 * @param {{version: string, links: Array<{target: string|null}>, backlinks: Array<{source: string}>}} found
 * @param {Change[]} changes
 */
export function mayChangeLinks({ version, links, backlinks }, changes) {
  const linked = new Set([...links.map(({ target }) => target), ...backlinks.map(({ source }) => source)]);
  return changes.some(({ change, id, fields }) => (change === 'gone' ? linked.has(id) : change === 'changed' || fields.version !== version));
}
