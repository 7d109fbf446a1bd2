/** What the page says and does when its session ends, or when another account is logged in in the same browser. */

import { shellStrings } from '../strings/en/shell.js';
import { confirmAction } from './controls/dialog.js';
import { forgetShell } from './installed.js';
import { showToast } from './notices/toast.js';

const words = shellStrings.session;

/**
 * @param {{email: string, kept: () => (import('../core/browser_storage/kept.js').Kept|null)}} page `kept`: what was typed and is not sent, once that is known
 * @returns {{onUnauthorized: (request: {quiet: boolean}) => void, onOtherAccount: () => void, logOut: () => Promise<void>}} the first two
 *   for `createApi`
 */
export function watchSession({ email, kept }) {
  let told = { text: null, remove() {} };
  const signIn = () => location.assign(`/login?next=${encodeURIComponent(location.pathname + location.search + location.hash)}`);

  function tell(text, actionLabel, action) {
    // What stands there already stays: somebody may be pressing its button.
    if (told.text === text) return;
    told.remove();
    const mine = { text, remove: () => {} };
    const onGone = () => { mine.text = null; };
    const onAction = () => {
      onGone();
      action();
    };
    mine.remove = showToast(text, { kind: 'error', lasting: true, actionLabel, onAction, onGone });
    told = mine;
  }

  const forms = [...document.querySelectorAll('form[action="/logout"]')];

  /** Asks first where something is not sent, which is only in this browser. */
  async function logOut(form = forms[0]) {
    if (!kept()?.isEmpty && !(await confirmAction({ title: words.logOutTitle, text: words.logOutText, confirmLabel: words.logOut }))) return;
    await Promise.all([kept()?.clear(), forgetShell()]);
    form.submit();
  }

  for (const form of forms) {
    form.addEventListener('submit', (event) => {
      event.preventDefault();
      logOut(form);
    });
  }

  return {
    logOut: () => logOut(),
    onUnauthorized({ quiet }) {
      // Nobody is taken away from what they wrote, or read.
      if (!quiet && kept()?.isEmpty) signIn();
      else tell(words.ended, words.signIn, signIn);
    },
    onOtherAccount: () => tell(words.other(email), words.reload, () => location.reload()),
  };
}
