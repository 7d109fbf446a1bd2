/** What the person has used, and may use. */

import { administrationStrings as words } from '../../strings/en/administration.js';
import { number } from '../../strings/en/count.js';
import { shortTime } from '../../core/words/times.js';
import { fill, record, records } from '../records.js';
import { megabytes, used } from './usage_model.js';

export function mountUsage(place, { settings }) {
  const show = (how) => fill(place, () => settings.usage(), ({ usage, file_bytes: bytes, quota }) => [records([
    record({ name: words.own.messagesToday, note: words.own.until(shortTime(usage.day_ends_at)), value: used(usage.messages_today, quota.messages_a_day) }),
    record({ name: words.own.tokensToday, note: words.own.until(shortTime(usage.day_ends_at)), value: used(usage.tokens_today, quota.tokens_a_day) }),
    record({ name: words.own.tokensMonth, note: words.own.until(shortTime(usage.month_ends_at)), value: used(usage.tokens_this_month, quota.tokens_a_month) }),
    record({ name: words.own.files, note: '', value: words.use.files(megabytes(bytes), quota.file_megabytes === null ? '' : number(quota.file_megabytes)) }),
  ])], how);
  show();
  return show;
}
