import { followMissingParts, serverVersion } from '../core/api.js';
import { shellStrings } from '../strings/en/shell.js';
import { pageVersion } from './assets.js';
import { showToast } from './notices/toast.js';

const words = shellStrings.version;

/**
 * Offers to reload the page once the server has a newer one, and once for each that comes after it: what is loaded later might not fit to
 * what is there. Where such a part does not come, it is offered again.
 *
 * @returns {(version: string|null) => void} to be called with the version that an answer names
 */
export function createVersionWatch() {
  /** While servers are updated one by one, their versions alternate. */
  const told = new Set();
  let isShown = false;
  const end = () => {
    isShown = false;
  };

  function tell() {
    if (isShown) return;
    isShown = true;
    showToast(words.newer, { actionLabel: words.reload, onAction: () => location.reload(), onGone: end, lasting: true });
  }

  function note(version) {
    if (!version || version === pageVersion() || told.has(version)) return;
    told.add(version);
    tell();
  }

  followMissingParts(async () => {
    // Of a page that was open for long, no answer may have told it yet.
    if (told.size > 0) tell();
    else note(await serverVersion());
    return told.size > 0;
  });
  return note;
}
