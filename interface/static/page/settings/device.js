/** What this device remembers: which key sends, whether memories are proposed, whether answers are notified of. */

import { proposesAlways, sendsWithEnter } from '../core/browser_storage/storage.js';
import { settingsStrings } from '../strings/en/settings.js';
import { canNotify, mayNotify, turnOffNotifications, turnOnNotifications } from '../ui/notices/notifications.js';

/** The browser may refuse what is chosen: the box says what holds. */
function mountNotifications() {
  const box = document.getElementById('notify-of-answers');
  const note = document.getElementById('notify-note');
  box.disabled = !canNotify();
  box.checked = mayNotify();
  if (!canNotify()) note.textContent = settingsStrings.notifications.unavailable;
  box.addEventListener('change', async () => {
    if (!box.checked) {
      turnOffNotifications();
      return;
    }
    box.checked = await turnOnNotifications();
    note.textContent = box.checked ? '' : settingsStrings.notifications.refused;
  });
}

export function mountSending(section) {
  for (const radio of section.querySelectorAll('input[name="send-key"]')) {
    const isEnter = radio.value === 'enter';
    radio.checked = isEnter === sendsWithEnter.get();
    radio.addEventListener('change', () => sendsWithEnter.set(isEnter));
  }
  const proposing = document.getElementById('propose-memories');
  proposing.checked = proposesAlways.get();
  proposing.addEventListener('change', () => proposesAlways.set(proposing.checked));
  mountNotifications();
}
