/** What this device remembers: which key sends, whether memories are proposed, whether answers are notified of. */

import { proposesAlways, sendsWithEnter } from '../core/browser_storage/storage.js';
import { settingsStrings } from '../strings/en/settings.js';
import { canNotify, mayNotify, turnOffNotifications, turnOnNotifications } from '../ui/notices/notifications.js';

/** The browser may refuse what is chosen: the box says what holds. */
function mountNotifications() {
  const box = document.getElementById('notify-of-answers');
  const note = document.getElementById('notify-note');
  box.disabled = !canNotify();
  if (!canNotify()) note.textContent = settingsStrings.notifications.unavailable;
  box.addEventListener('change', async () => {
    if (!box.checked) {
      turnOffNotifications();
      return;
    }
    box.checked = await turnOnNotifications();
    note.textContent = box.checked ? '' : settingsStrings.notifications.refused;
  });
  return () => {
    box.checked = mayNotify();
  };
}

export function mountSending(section) {
  const radios = [...section.querySelectorAll('input[name="send-key"]')];
  const isEnter = (radio) => radio.value === 'enter';
  for (const radio of radios) radio.addEventListener('change', () => sendsWithEnter.set(isEnter(radio)));
  const proposing = document.getElementById('propose-memories');
  proposing.addEventListener('change', () => proposesAlways.set(proposing.checked));
  const showNotifications = mountNotifications();

  function show() {
    for (const radio of radios) radio.checked = isEnter(radio) === sendsWithEnter.get();
    proposing.checked = proposesAlways.get();
    showNotifications();
  }

  // Another tab chose something.
  addEventListener('storage', show);
  show();
}
