/** The language of the pages: the account's, and this browser's where nobody is logged in. */

import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';
import { showToast } from '../ui/notices/toast.js';

/** Shows the page again in the language that is chosen. */
export function mountLanguage(section, { settings, watch }) {
  const select = section.querySelector('#language');
  let current = select.value;
  select.addEventListener('change', async () => {
    const chosen = select.value;
    const before = current;
    current = chosen;
    if (await attempt(() => settings.chooseLanguage(chosen || null), { failed: words.notDone })) location.reload();
    else select.value = current = before;
  });

  async function follow() {
    const { language } = await settings.account();
    if ((language ?? '') === current) return;
    current = language ?? '';
    select.value = current;
    const { language: text, reload: actionLabel } = words.elsewhere;
    showToast(text, { actionLabel, onAction: () => location.reload(), lasting: true });
  }

  // Where it fails, the next change asks again.
  watch('settings', (isChanged) => isChanged('language') && follow().catch(() => {}));
}
