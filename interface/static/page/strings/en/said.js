/**
 * What the server says while an answer is made and about references, by the codes of its `sentences.py`. In English, the server
 * says it itself, but for what is said otherwise here.
 */

export const saidWords = { edited: 'edited since' };
export const betweenSentences = ' ';
/** Whether the server itself says everything else in this language. */
export const isServersLanguage = true;
