import { createCount, createMoney, createNumber } from '../../core/words/plural.js';

export const language = 'es';
/** Numbers as Spanish writes them. */
export const number = createNumber(language);
export const count = createCount(language);
export const money = createMoney(language);
/** “ (2)”, behind a name. */
export const inBrackets = (text) => ` (${text})`;
