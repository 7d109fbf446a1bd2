import { createCount, createMoney, createNumber } from '../../core/words/plural.js';

export const language = 'zh-Hans';
/** Numbers as Chinese writes them. */
export const number = createNumber(language);
export const count = createCount(language);
export const money = createMoney(language);
/** A count or a reason behind a name, in full-width brackets. */
export const inBrackets = (text) => `（${text}）`;
