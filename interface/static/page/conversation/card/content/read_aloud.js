/** Reading a message aloud by the browser's own voice. Loaded with the first message that is read. */

import { plainText } from '../../../markdown/plain_text_model.js';

/** Begins to read, or stops what is being read. @param {string} text of a message */
export function readAloud(text) {
  const { speechSynthesis } = globalThis;
  const isReading = speechSynthesis.speaking;
  speechSynthesis.cancel();
  if (!isReading) speechSynthesis.speak(new globalThis.SpeechSynthesisUtterance(plainText(text)));
}
