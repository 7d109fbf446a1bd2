/** What was written as a time of today says its day from the next one on. */

import { saysNoDay, shortTime } from '../core/words/times.js';

const LOOK_MS = 60_000;

export function followDay() {
  let day = new Date().toDateString();

  function look() {
    const today = new Date().toDateString();
    if (document.hidden || day === today) return;
    day = today;
    for (const time of document.querySelectorAll('time[datetime]')) {
      if (saysNoDay(time.textContent, time.dateTime)) time.textContent = shortTime(time.dateTime);
    }
  }

  document.addEventListener('visibilitychange', look);
  setInterval(look, LOOK_MS);
}
