/** Downloading everything of an account: how far it is, a way to stop it, and what to do where it failed. */

import { ApiError } from '../../core/api.js';
import { fileNameIn } from './api.js';
import { received } from './archive_model.js';
import { exportStrings } from '../../strings/en/export.js';
import { element, replaceWithFocus } from '../../ui/dom.js';
import { save } from './export.js';

const words = exportStrings.archive;
const TOLD_EVERY_MS = 250;

async function fetchArchive(api, { signal, onProgress }) {
  const response = await api.open('GET', '/export_account', { accept: '*/*', signal });
  const total = Number(response.headers.get('X-Anaphora-Conversations'));
  let blob = null;
  try {
    blob = await received(response.body, (far) => onProgress({ ...far, total }));
  } catch (error) {
    if (signal.aborted) throw error;
  }
  if (!blob) throw new ApiError({ message: words.brokeOff });
  return { blob, name: fileNameIn(response.headers.get('Content-Disposition'), 'anaphora.zip') };
}

/**
 * @param {HTMLElement} place shows how far it is
 * @param {{api: object, onBegin: () => void, onEnd: () => void}} options onEnd: it has ended, whatever came of it
 */
export function downloadEverything(place, options) {
  const { api, onBegin, onEnd } = options;
  const stop = new AbortController();
  const bar = element('progress', { max: 1, 'aria-label': words.progress });
  const far = element('p', { class: 'record-note', text: words.begun });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet', text: words.cancel });
  cancel.addEventListener('click', () => stop.abort());
  // Whoever leaves the page is asked before: the download would end with it.
  const warn = (event) => event.preventDefault();
  addEventListener('beforeunload', warn);

  let toldAt = 0;
  function show({ conversations, total, bytes }) {
    if (performance.now() - toldAt < TOLD_EVERY_MS) return;
    toldAt = performance.now();
    if (total) bar.value = Math.min(1, conversations / total);
    far.textContent = words.far(Math.min(conversations, total), total, bytes);
  }

  function ended(...nodes) {
    removeEventListener('beforeunload', warn);
    replaceWithFocus(place, ...nodes);
    onEnd();
  }

  async function run() {
    try {
      const { blob, name } = await fetchArchive(api, { signal: stop.signal, onProgress: show });
      save(blob, name);
      ended(element('p', { role: 'status', text: exportStrings.done(name) }));
    } catch (error) {
      if (stop.signal.aborted) return ended(element('p', { role: 'status', text: words.cancelled }));
      const again = element('button', { type: 'button', class: 'btn btn-quiet', text: exportStrings.again });
      again.addEventListener('click', () => downloadEverything(place, options));
      ended(element('p', { role: 'alert', text: words.failed(error.message) }), again);
    }
    return undefined;
  }

  onBegin();
  place.replaceChildren(bar, far, cancel);
  cancel.focus();
  return run();
}
