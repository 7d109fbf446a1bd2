import { saidText } from '../../core/words/said.js';
import { strings } from '../../strings/en/conversation.js';
import { element, setHidden } from '../../ui/dom.js';

const words = strings.models;
const UNDER_WAY = new Set(['waiting', 'fetching', 'loading']);
const SOON_MS = 1500;
const LATER_MS = 20000;
/** A model that is ready may be another one by then, or have failed. */
const READY_MS = 5 * 60_000;

function lineFor({ name, phase, progress }) {
  const percent = typeof progress === 'number' ? Math.floor(progress * 100) : null;
  if (phase === 'fetching') return words.fetching(name, percent);
  if (phase === 'loading') return words.loading(name);
  if (phase === 'failed') return words.failed(name);
  if (phase === 'none') return words.none;
  return '';
}

/**
 * Says whether the model that answers can do so: with a bar while it is being fetched or loaded.
 *
 * @param {HTMLElement} place
 * @param {{models: () => Promise<{main: object}>}} api
 * @param {object} events where `models:known` tells what was found
 */
export function mountModelStatus(place, api, events) {
  const label = element('span', { class: 'model-status-text' });
  const bar = element('progress', { class: 'model-status-bar', max: '1', 'aria-label': words.progress });
  const node = element('div', { class: 'model-status', role: 'status', hidden: true }, label, bar);
  place.replaceChildren(node);
  let timer = null;
  let isReady = false;
  let asked = 0;

  function show(state) {
    const line = lineFor(state);
    setHidden(node, !line);
    node.dataset.phase = state.phase;
    // What elsewhere depends on it, style sheets show.
    document.documentElement.dataset.model = state.phase;
    node.title = saidText(state.detail ?? '', state.said);
    if (label.textContent !== line) label.textContent = line;
    setHidden(bar, !UNDER_WAY.has(state.phase));
    if (typeof state.progress === 'number') bar.value = state.progress;
    else bar.removeAttribute('value');
  }

  /** Asks again while that may change by itself, and somebody looks; where no model is set up or it is ready, when somebody comes back. */
  async function check() {
    clearTimeout(timer);
    if (document.hidden) return;
    asked = Date.now();
    let pause = LATER_MS;
    try {
      const models = await api.models();
      const { main } = models;
      events.emit('models:known', models);
      show(main);
      isReady = main.phase === 'ready';
      if (isReady || main.phase === 'none') return;
      if (UNDER_WAY.has(main.phase)) pause = SOON_MS;
    } catch {
      // The server is away for a moment; what is shown stays until it is back.
    }
    timer = setTimeout(check, pause);
  }

  document.addEventListener('visibilitychange', () => (!isReady || Date.now() - asked > READY_MS) && check());
  check();
  return { check };
}
