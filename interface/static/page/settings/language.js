/** The language of the pages: the account's, and this browser's where nobody is signed in. */

import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';

/** Shows the page again in the language that is chosen. */
export function mountLanguage(section, { settings }) {
  const select = section.querySelector('#language');
  let current = select.value;
  select.addEventListener('change', async () => {
    const chosen = select.value;
    if (await attempt(() => settings.chooseLanguage(chosen || null), { failed: words.notDone })) {
      current = chosen;
      location.reload();
    } else select.value = current;
  });
}
