import { createCount, createMoney, createNumber } from '../../core/words/plural.js';

export const language = 'en';
/** “1,200”, as English writes it. */
export const number = createNumber(language);
/** “2 days”, as English says it. */
export const count = createCount(language);
/** “$0.0012”, as English writes it. */
export const money = createMoney(language);
/** “ (2)”, behind a name. */
export const inBrackets = (text) => ` (${text})`;
