/** What was used and what may be used, as figures. */

import { administrationStrings as words } from '../../strings/en/administration.js';
import { number } from '../../strings/en/count.js';

const MEGABYTE = 1e6;

/** @param {number} bytes @returns {string} in megabytes, a small amount with one digit behind the point */
export function megabytes(bytes) {
  const amount = bytes / MEGABYTE;
  return number(amount > 0 && amount < 10 ? Math.ceil(amount * 10) / 10 : Math.round(amount));
}

/** @param {number} amount @param {number|null} most @returns {string} "3 of 50", or "3" where any number may be used */
export const used = (amount, most) => (most === null ? number(amount) : words.use.of(number(amount), number(most)));

/**
 * What a form says of a quota: an empty field is as the settings say for everybody.
 *
 * @param {Array<[string, string]>} entries
 * @returns {Record<string, number|null>}
 */
export const quotaOf = (entries) => Object.fromEntries(entries.map(([name, value]) => [name, value.trim() === '' ? null : Number(value)]));
