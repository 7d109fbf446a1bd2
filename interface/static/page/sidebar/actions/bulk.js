/** Changing many conversations: one request a thousand, and what could not be changed is told and tried again. */

import { createBulkApi, MOST } from './bulk_api.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';
import { failureText } from '../../ui/notices/attempts.js';
import { showToast, tellWhenSlow } from '../../ui/notices/toast.js';

const words = sidebarStrings.many;

/** What is said where `left` of `total` were not changed. */
function explain(error, left, total, gone) {
  if (left === total && error) return failureText(error, shellStrings.sidebar.actionFailed);
  if (total === 1 && gone === words.gone) return words.goneOne;
  return [words.left(left, total), error ? error.message : gone].join(' ');
}

/**
 * @param {object} api
 * @param {() => Promise<void>} onGone called where some of them are there no more
 * @returns {(ids: string[], change: string, options: {value?: string, apply: (done: string[]) => Promise<void>|void, gone?: string,
 *   again?: (left: string[]) => void}) => Promise<Error|null>} why some were not asked for, or not answered
 *   `apply` shows what was done; it is called again for those that a later try has done; `gone`: why some may have been left;
 *   `again`: what *Try again* does in the place of the same change of those that are left
 */
export function createMany(api, onGone) {
  const bulk = createBulkApi(api);

  /** What was done before something failed, and the failure. */
  async function ask(ids, change, value) {
    const done = new Set();
    let isGone = false;
    try {
      for (let begin = 0; begin < ids.length; begin += MOST) {
        const { results } = await bulk.changeConversations(ids.slice(begin, begin + MOST), change, value);
        for (const { conversation_id: id, status } of results) {
          if (status === 'done') done.add(id);
          isGone ||= status === 'not_found';
        }
      }
      return { done, isGone, error: null };
    } catch (error) {
      return { done, isGone, error };
    }
  }

  return async function changeMany(ids, change, { value, apply, gone = words.gone, again = (left) => changeMany(left, change, { value, apply, gone }) }) {
    const settle = tellWhenSlow(words.running(ids.length));
    const { done, isGone, error } = await ask(ids, change, value);
    settle();
    if (done.size) await apply([...done]);
    if (isGone) await onGone();
    const left = ids.filter((id) => !done.has(id));
    if (!left.length) return null;
    showToast(explain(error, left.length, ids.length, gone), {
      kind: 'error',
      actionLabel: shellStrings.sidebar.again,
      onAction: () => again(left),
    });
    return error;
  };
}
