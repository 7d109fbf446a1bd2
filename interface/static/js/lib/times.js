const clock = { hour: '2-digit', minute: '2-digit' };

/**
 * A moment as people say it: the time alone today, with the date before.
 *
 * @param {string} iso
 * @param {{now?: Date, locale?: string}} [options]
 * @returns {string} '' for what is no moment
 */
export function shortTime(iso, { now = new Date(), locale } = {}) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  if (moment.toDateString() === now.toDateString()) return moment.toLocaleTimeString(locale, clock);
  const sameYear = moment.getFullYear() === now.getFullYear();
  const day = { day: 'numeric', month: 'short', ...(sameYear ? {} : { year: 'numeric' }) };
  return `${moment.toLocaleDateString(locale, day)}, ${moment.toLocaleTimeString(locale, clock)}`;
}

/**
 * @param {string} iso
 * @param {{locale?: string}} [options]
 * @returns {string} date and time in full
 */
export function fullTime(iso, { locale } = {}) {
  const moment = new Date(iso);
  if (Number.isNaN(moment.getTime())) return '';
  return moment.toLocaleString(locale, { dateStyle: 'full', timeStyle: 'medium' });
}
