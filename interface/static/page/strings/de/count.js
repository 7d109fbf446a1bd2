import { createCount, createMoney, createNumber } from '../../core/words/plural.js';

export const language = 'de';
/** Numbers as German writes them. */
export const number = createNumber(language);
export const count = createCount(language);
export const money = createMoney(language);
/** “ (2)”, behind a name. */
export const inBrackets = (text) => ` (${text})`;
