import { shellStrings } from '../strings/en/shell.js';
import { pageVersion } from './assets.js';
import { showToast } from './notices/toast.js';

const words = shellStrings.version;

/**
 * Offers to reload the page once the server has a newer one: what is loaded later might not fit to what is there.
 *
 * @returns {(version: string|null) => void} to be called with the version that an answer names
 */
export function createVersionWatch() {
  let isTold = false;
  return (version) => {
    if (isTold || !version || version === pageVersion()) return;
    isTold = true;
    showToast(words.newer, { actionLabel: words.reload, onAction: () => location.reload(), lasting: true });
  };
}
