/** Whether a key belongs to an input method that composes a character. Safari ends the composition before it tells of the key. */
export const composes = (event) => event.isComposing || event.keyCode === 229;

const LINE = 80;

/** Whether nobody would like to type it a second time. */
export const isMoreThanALine = (text) => text.length > LINE || text.trim().includes('\n');
