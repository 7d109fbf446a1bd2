/** What is done with a whole document: it is renamed or moved, deleted, brought back. */

import { documentStrings } from '../strings/en/documents.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { askText } from '../ui/controls/dialog.js';
import { showToast } from '../ui/notices/toast.js';
import { pathFrom } from './documents_model.js';

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

  /** Asks for the new path until it can be taken, or the person gives up. */
  async function rename({ path }, value = path) {
    const typed = await askText({ title: words.rename, label: words.path, value, confirmLabel: words.renameConfirm, maxLength: LONGEST_PATH });
    const wanted = typed && pathFrom(typed, path);
    if (!wanted || wanted === path) return;
    try {
      const renamed = await whileMoving(path, () => api.rename(path, wanted));
      showToast(words.renamed(renamed.path, renamed.followed.length), { kind: 'success' });
      onMoved(path, renamed.path);
    } catch (error) {
      tellFailure(error, { failed: words.renameFailed });
      if (isPathRefused(error)) await rename({ path }, typed);
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
