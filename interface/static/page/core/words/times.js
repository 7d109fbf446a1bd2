import { language } from '../../strings/en/count.js';
import { regional } from './plural.js';

const clock = { hour: '2-digit', minute: '2-digit' };
const formats = new Map();
const own = regional(language);

/** Making a format costs a hundred times what using it costs. */
function formatted(moment, locale, options) {
  const key = `${locale} ${JSON.stringify(options)}`;
  if (!formats.has(key)) formats.set(key, new Intl.DateTimeFormat(locale, options));
  return formats.get(key).format(moment);
}

/**
 * A moment as people say it: the time alone today, with the date before.
 *
 * @param {string} iso
 * @param {{now?: Date, locale?: string}} [options]
 * @returns {string} '' for what is no moment
 */
export function shortTime(iso, { now = new Date(), locale = own } = {}) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  const time = formatted(moment, locale, clock);
  if (moment.toDateString() === now.toDateString()) return time;
  const sameYear = moment.getFullYear() === now.getFullYear();
  const day = { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) };
  return `${formatted(moment, locale, day)}, ${time}`;
}

/** Whether a text is what `shortTime` said on the day of that moment, which it is not any more. */
export const saysNoDay = (text, iso, { now = new Date(), locale = own } = {}) =>
  text !== '' && text === shortTime(iso, { now: new Date(iso), locale }) && text !== shortTime(iso, { now, locale });

/**
 * @param {string} iso
 * @param {{locale?: string}} [options]
 * @returns {string} date and time in full
 */
export function fullTime(iso, { locale = own } = {}) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  return formatted(moment, locale, { dateStyle: 'full', timeStyle: 'medium' });
}
