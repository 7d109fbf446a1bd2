import { voiceStrings as english } from '../en/voice.js';
import { fill } from '../fill.js';

export const voiceStrings = fill(english, {
  offerDictation: 'Dictar mensajes',
  offerReading: 'Leer mensajes en voz alta',
  warning: 'Algunos navegadores envían el sonido, o el texto que se lee, a su fabricante.',
  dictate: 'Dictar',
  listening: 'Escuchando… Detener',
  failed: {
    'not-allowed': 'El navegador no deja que esta página use el micrófono.',
    'audio-capture': 'No hay micrófono.',
    network: 'El navegador no pudo conectar con el servicio que entiende la voz.',
  },
  failedOtherwise: 'El navegador no pudo entenderte.',
});
