/** What this device remembers: which key sends, and whether memories are proposed. */

import { sendsOnEnter, setSendsOnEnter } from '../composer/send_key.js';
import { proposesAlways } from '../core/remembered_switch.js';

export function mountSending(section) {
  for (const radio of section.querySelectorAll('input[name="send-key"]')) {
    const isEnter = radio.value === 'enter';
    radio.checked = isEnter === sendsOnEnter();
    radio.addEventListener('change', () => setSendsOnEnter(isEnter));
  }
  const proposing = document.getElementById('propose-memories');
  proposing.checked = proposesAlways.get();
  proposing.addEventListener('change', () => proposesAlways.set(proposing.checked));
}
