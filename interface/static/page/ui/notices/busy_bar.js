import { strings } from '../../strings/en/conversation.js';
import { element, mainLandmark, setHidden } from '../dom.js';

/** What is over sooner needs no word. */
const A_WAIT_MS = 300;
/** One request of an action often follows another: what comes so soon belongs to the same wait. */
const A_BREATH_MS = 100;

/**
 * A thin bar at the top of the page while something runs that somebody waits for.
 *
 * @returns {(busy: boolean) => void} to be told when something begins to run, and when nothing does any more
 */
export function createBusyBar() {
  const bar = element('div', { class: 'busy-bar', role: 'progressbar', 'aria-label': strings.busy, hidden: true });
  let appearing = null;
  let ending = null;
  mainLandmark().append(bar);

  function end() {
    clearTimeout(appearing);
    appearing = null;
    setHidden(bar, true);
  }

  return (busy) => {
    clearTimeout(ending);
    if (busy) appearing ??= setTimeout(() => setHidden(bar, false), A_WAIT_MS);
    else ending = setTimeout(end, A_BREATH_MS);
  };
}
