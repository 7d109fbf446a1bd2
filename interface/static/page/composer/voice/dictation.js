/** Dictation by the browser's own speech recognition: a button beside the options, once somebody has chosen it. */

import { voiceStrings as words } from '../../strings/en/voice.js';
import { element, setHidden } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';

/** What nobody has to be told: that it is silent, or was stopped. */
const SILENT = new Set(['no-speech', 'aborted']);
const recognitionOf = () => globalThis.SpeechRecognition ?? globalThis.webkitSpeechRecognition;

/** As if it were typed, so that it can be undone; a space goes before it where there is none. */
function insert(input, said) {
  const before = input.value.slice(0, input.selectionStart);
  const text = before && !/\s$/.test(before) ? ` ${said.trim()}` : said.trim();
  input.focus();
  if (!document.execCommand('insertText', false, text)) {
    input.setRangeText(text, input.selectionStart, input.selectionEnd, 'end');
    input.dispatchEvent(new Event('input'));
  }
}

/**
 * @param {HTMLElement} neighbour the button stands behind it
 * @param {HTMLTextAreaElement} input
 * @returns {{setOffered: (on: boolean) => void}}
 */
export function createDictation(neighbour, input) {
  let recognition = null;
  const button = element('button', { type: 'button', class: 'composer-model', 'aria-pressed': 'false', text: words.dictate, onclick: toggle });
  neighbour.after(button);

  function show() {
    button.textContent = recognition ? words.listening : words.dictate;
    button.setAttribute('aria-pressed', String(recognition !== null));
  }

  function begin() {
    recognition = new (recognitionOf())();
    Object.assign(recognition, { lang: navigator.language, continuous: true, interimResults: false });
    recognition.addEventListener('result', ({ results, resultIndex }) => {
      const said = [...results].slice(resultIndex).filter(({ isFinal }) => isFinal).map(([best]) => best.transcript);
      if (said.length > 0) insert(input, said.join(' '));
    });
    recognition.addEventListener('error', ({ error }) => {
      if (!SILENT.has(error)) showToast(words.failed[error] ?? words.failedOtherwise, { kind: 'error' });
    });
    recognition.addEventListener('end', () => {
      recognition = null;
      show();
    });
    recognition.start();
  }

  function toggle() {
    if (recognition) recognition.stop();
    else begin();
    show();
  }

  return {
    setOffered(on) {
      setHidden(button, !on);
      if (!on) recognition?.stop();
    },
  };
}
