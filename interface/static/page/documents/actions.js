/** What is done with a whole document: it is renamed or moved, deleted, brought back. */

import { documentStrings } from '../strings/en/documents.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { askText } from '../ui/controls/dialog.js';
import { showToast } from '../ui/notices/toast.js';
import { nameOf, pathFrom, withTitle } from './documents_model.js';

const words = documentStrings;
const LONGEST_PATH = 1000;
/** The server takes the document, but not this path. */
const isPathRefused = ({ status }) => status === 400 || status === 409;

/**
 * @param {object} api of documents
 * @param {{onMoved: (from: string, to: string|null) => void}} on a document lies elsewhere now; null: in the bin; the same path: it is not
 *   known what became of it
 */
export function createActions(api, { onMoved }) {
  /** The paths of the documents that are being moved here: the answer tells what became of them, not the stream of changes. */
  const moving = new Set();

  async function whileMoving(path, job) {
    moving.add(path);
    try {
      return await job();
    } finally {
      moving.delete(path);
    }
  }

  /** The text of a document may say the name that its file had, as its title: that stays, unless the person wants it changed, too. */
  function tellRenamed({ path, title, text }, { path: newPath, followed }) {
    const [before, after] = [path, newPath].map(nameOf);
    const told = words.renamed(newPath, followed.length);
    const isTitled = before !== after && title === before && withTitle(text, before, after) !== null;
    if (!isTitled) showToast(told, { kind: 'success' });
    else showToast(`${told} ${words.titleStays(title)}`, { kind: 'success', actionLabel: words.changeTitle, onAction: () => retitle(newPath, before, after) });
  }

  async function retitle(path, title, next) {
    try {
      const { text, version } = await api.read(path);
      const changed = withTitle(text, title, next);
      if (changed !== null) await api.save(path, changed, version);
      onMoved(path, path);
    } catch (error) {
      tellFailure(error, { failed: words.saveFailed, again: () => retitle(path, title, next) });
    }
  }

  /** Asks for the new path until it can be taken, or the person gives up. */
  async function rename(found, value = found.path) {
    const { path } = found;
    const typed = await askText({ title: words.rename, label: words.path, value, confirmLabel: words.renameConfirm, maxLength: LONGEST_PATH });
    const wanted = typed && pathFrom(typed, path);
    if (!wanted || wanted === path) return;
    try {
      const renamed = await whileMoving(path, () => api.rename(path, wanted));
      tellRenamed(found, renamed);
      onMoved(path, renamed.path);
    } catch (error) {
      tellFailure(error, { failed: words.renameFailed });
      if (isPathRefused(error)) await rename(found, typed);
      else onMoved(path, path);
    }
  }

  async function remove({ path, version }) {
    try {
      const { kept_at: keptAt } = await whileMoving(path, () => api.remove(path, version));
      showToast(words.deleted(path), { actionLabel: words.undo, onAction: () => restore(path, keptAt) });
      onMoved(path, null);
    } catch (error) {
      tellFailure(error, { failed: words.deleteFailed });
      onMoved(path, path);
    }
  }

  async function restore(path, keptAt) {
    try {
      await api.restore(keptAt);
      onMoved(path, path);
    } catch (error) {
      tellFailure(error, { failed: words.restoreFailed, again: () => restore(path, keptAt) });
    }
  }

  return { rename, remove, isMoving: (path) => moving.has(path) };
}
