/** What dictation and reading aloud say. Loaded with them, and with the options. */

export const voiceStrings = {
  offerDictation: 'Dictate messages',
  offerReading: 'Read messages aloud',
  warning: 'Some browsers send the sound, or the text that is read, to their maker.',
  dictate: 'Dictate',
  listening: 'Listening… Stop',
  failed: {
    'not-allowed': 'The browser does not let this page use the microphone.',
    'audio-capture': 'There is no microphone.',
    network: 'The browser could not reach the service that understands speech.',
  },
  failedOtherwise: 'The browser could not understand you.',
};
