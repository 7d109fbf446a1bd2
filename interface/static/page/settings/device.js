/** What this device remembers: which key sends, and whether memories are proposed. */

import { proposesAlways, sendsWithEnter } from '../core/storage.js';

export function mountSending(section) {
  for (const radio of section.querySelectorAll('input[name="send-key"]')) {
    const isEnter = radio.value === 'enter';
    radio.checked = isEnter === sendsWithEnter.get();
    radio.addEventListener('change', () => sendsWithEnter.set(isEnter));
  }
  const proposing = document.getElementById('propose-memories');
  proposing.checked = proposesAlways.get();
  proposing.addEventListener('change', () => proposesAlways.set(proposing.checked));
}
