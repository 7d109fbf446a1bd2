import { voiceStrings as english } from '../en/voice.js';
import { fill } from '../fill.js';

export const voiceStrings = fill(english, {
  offerDictation: 'Nachrichten diktieren',
  offerReading: 'Nachrichten vorlesen',
  warning: 'Manche Browser senden die Aufnahme oder den vorgelesenen Text an ihren Hersteller.',
  dictate: 'Diktieren',
  listening: 'Hört zu … Anhalten',
  failed: {
    'not-allowed': 'Der Browser lässt diese Seite nicht an das Mikrofon.',
    'audio-capture': 'Es gibt kein Mikrofon.',
    network: 'Der Browser konnte den Dienst nicht erreichen, der Sprache versteht.',
  },
  failedOtherwise: 'Der Browser konnte dich nicht verstehen.',
});
