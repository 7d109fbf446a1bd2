/** What a person settles once for this device: a small dialog beside its button. Loaded when it is opened. */

import { composerStrings } from '../strings/en/composer.js';
import { dictates, followsDocuments, proposesAlways, readsAloud, sendsWithEnter } from '../core/browser_storage/storage.js';
import { voiceStrings } from '../strings/en/voice.js';
import { element } from '../ui/dom.js';
import { hidePopup, showBeside } from '../ui/controls/popup.js';

const words = composerStrings.options;
const byTouch = matchMedia('(pointer: coarse)');
let popup = null;

function checkbox(label, { get, set }) {
  const box = element('input', { type: 'checkbox', class: 'form-check-input' });
  box.checked = get();
  box.addEventListener('change', () => set(box.checked));
  return element('label', { class: 'composer-option' }, box, element('span', { text: label }));
}

/** What the browser has of speech; nothing where it has none. */
function voice(onVoice) {
  const boxes = [];
  const both = (each) => ({ get: each.get, set: (on) => {
    each.set(on);
    onVoice();
  } });
  if ('SpeechRecognition' in globalThis || 'webkitSpeechRecognition' in globalThis) boxes.push(checkbox(voiceStrings.offerDictation, both(dictates)));
  if ('speechSynthesis' in globalThis) boxes.push(checkbox(voiceStrings.offerReading, both(readsAloud)));
  return boxes.length > 0 ? [...boxes, element('p', { class: 'composer-popup-note', text: voiceStrings.warning })] : [];
}

function built(button, { onSettings, onVoice, tracksDocuments }) {
  const settings = element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.settings });
  settings.addEventListener('click', () => {
    hidePopup(node);
    onSettings();
  });
  const node = element('div', { class: 'composer-popup', role: 'dialog', popover: 'auto', 'aria-label': words.label },
    settings,
    checkbox(words.propose, proposesAlways),
    tracksDocuments ? checkbox(words.documents, followsDocuments) : null,
    // By touch, Enter begins a new line in any case.
    ...(byTouch.matches ? [] : [checkbox(words.enter, sendsWithEnter), element('p', { class: 'composer-popup-note', text: words.enterHelp })]),
    ...voice(onVoice));
  node.addEventListener('toggle', ({ newState }) => {
    button.setAttribute('aria-expanded', String(newState === 'open'));
    if (newState === 'open') return;
    if (node.contains(document.activeElement) || document.activeElement === document.body) button.focus();
    node.remove();
    popup = null;
  });
  return node;
}

/**
 * @param {HTMLButtonElement} button
 * @param {{onSettings: () => void, onVoice: () => void, tracksDocuments: boolean}} on the settings of the conversation are wanted; what is
 *   chosen of speech changed; whether the server follows links to documents
 */
export function toggleOptions(button, on) {
  if (popup) {
    hidePopup(popup);
    return;
  }
  popup = built(button, on);
  showBeside(popup, button);
  popup.querySelector('input').focus();
}
