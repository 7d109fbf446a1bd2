/** Doing what may fail on its way: what went wrong is said, what was meant can be done again. */

import { mayPass } from '../../core/api.js';
import { strings } from '../../strings/en/conversation.js';
import { showToast } from './toast.js';

const words = strings.attempt;

/**
 * What a failure says.
 *
 * @param {Error} error
 * @param {(message: string) => string} failed
 * @param {{creates?: boolean}} [options] `creates`: doing it twice makes two, and nobody knows whether it was done
 */
export function failureText(error, failed, { creates = false } = {}) {
  const unknown = creates && error.status === 0;
  return [failed(error.message), unknown ? words.perhapsDone : ''].filter(Boolean).join(' ');
}

/**
 * Says at the edge of the page what failed, with a button that tries again where that may help.
 *
 * @param {Error} error
 * @param {{failed: (message: string) => string, again?: () => void, onGone?: () => void, creates?: boolean}} options `onGone`
 *   is called when nobody tries again
 */
export function tellFailure(error, { failed, again, onGone = () => {}, creates }) {
  const offered = again && mayPass(error);
  showToast(failureText(error, failed, { creates }), { kind: 'error', ...(offered ? { actionLabel: words.again, onAction: again, onGone } : {}) });
  if (!offered) onGone();
}

/**
 * Runs `job`. Where it fails, that is said, and tried again for who wants that.
 *
 * @template T
 * @param {() => Promise<T>} job
 * @param {{failed: (message: string) => string, again?: () => void, creates?: boolean}} options `again`: what is done instead of the
 *   job alone; then the failure is the end of this attempt
 * @returns {Promise<T|object|null>} what the job gave, perhaps at a later try, an empty object for nothing; null where it was given up
 */
export async function attempt(job, { failed, again, creates }) {
  for (;;) {
    try {
      return (await job()) ?? {};
    } catch (error) {
      // Somebody stopped it, and need not be told.
      if (error.name === 'AbortError') return null;
      if (again) {
        tellFailure(error, { failed, again, creates });
        return null;
      }
      const wanted = await new Promise((resolve) => {
        tellFailure(error, { failed, creates, again: () => resolve(true), onGone: () => resolve(false) });
      });
      if (!wanted) return null;
    }
  }
}
