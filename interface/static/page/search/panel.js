/** The Search panel: stands in the place of the conversation while the address says so. */

import { icon } from '../ui/icons.js';
import { leavePanel, writePanel } from '../core/address.js';
import { createLatest } from '../core/latest.js';
import { warningsIn } from '../core/words/said.js';
import { composes } from '../core/typing.js';
import { createSearchApi } from './api.js';
import { searchStrings } from '../strings/en/search.js';
import { KINDS, PANEL, formatSearch, parseSearch } from './search_model.js';
import { element, setHidden, whenReleased } from '../ui/dom.js';
import { releaseKeys } from '../ui/controls/early_keys.js';
import { coverPageTitle } from '../ui/notices/page_title.js';
import { addPanelStyle } from '../ui/panel_style.js';
import { createSearchResults } from './results.js';

const words = searchStrings;
const A_WAIT = 300;

function helpBlock() {
  const rows = words.operators.flatMap(([typed, means]) => [element('dt', {}, element('code', { text: typed })), element('dd', { text: means })]);
  return element('details', { class: 'search-help' },
    element('summary', { text: words.help }), element('dl', {}, ...rows), element('p', { class: 'search-note', text: words.keys }));
}

class SearchPanel {
  #api;
  #events;
  #state = { q: '', kind: KINDS[0] };
  #shown = false;
  #asked = null;
  #next = null;
  #waiting = null;
  #heading = element('h1', { id: 'search-title', class: 'panel-title', tabindex: '-1', text: words.title });
  #input = element('input', {
    type: 'search', id: 'search-input', class: 'form-control', 'aria-label': words.label, placeholder: words.placeholder,
    autocomplete: 'off', spellcheck: 'false', maxlength: '2000', enterkeyhint: 'search',
  });
  #kinds = KINDS.map((kind) => element('button', {
    type: 'button', class: 'search-kind', 'data-kind': kind, text: words.kind[kind], onclick: () => this.#go({ q: this.#input.value, kind }),
  }));
  #status = element('p', { class: 'search-note', id: 'search-status', role: 'status' });
  #problem = element('div', { class: 'search-problem', role: 'alert', hidden: true });
  #more = element('button', { type: 'button', class: 'btn btn-quiet search-more', text: words.more, hidden: true, onclick: () => this.#continue() });
  #close = element('button', {
    type: 'button', class: 'btn btn-quiet panel-close', id: 'close-search', 'aria-label': words.close, hidden: true, onclick: () => this.close(),
  }, icon('x-lg'), element('span', { text: words.close }));
  #results;
  #node;
  #latest;

  constructor({ api, events, frame }) {
    this.#events = events;
    this.#api = createSearchApi(api);
    this.#results = createSearchResults(events, { onKind: (kind) => this.#go({ ...this.#state, kind }) });
    this.#node = element('section', { id: 'search-panel', 'aria-labelledby': 'search-title', hidden: true },
      element('form', { class: 'search-head', role: 'search', onsubmit: (event) => this.#submit(event) },
        element('div', { class: 'search-field' }, icon('search'), this.#input),
        element('div', { class: 'search-kinds', role: 'group', 'aria-label': words.kinds }, ...this.#kinds),
        helpBlock()),
      element('div', { class: 'search-scroller' }, this.#status, this.#problem, this.#results.node, this.#more));
    frame.addTitle(this.#heading);
    frame.addButton(this.#close);
    frame.addPanel(this.#node);
    this.#latest = createLatest(({ q, kind }, options) => this.#api.search(q, { kind }, options), {
      ready: whenReleased,
      onAnswer: (answer, asked) => this.#tell(answer, asked),
      onError: (error) => this.#fail(words.failed(error.message), () => this.#ask()),
    });
    this.#input.addEventListener('input', () => this.#go({ ...this.#state, q: this.#input.value }, { replace: true }));
    this.#node.addEventListener('keydown', (event) => this.#onKey(event));
  }

  /** Shows what the address says: results, or the conversation. */
  follow() {
    const state = parseSearch(location.search);
    if (!state) {
      this.#hide();
      return;
    }
    this.#state = state;
    if (this.#input.value !== state.q) this.#input.value = state.q;
    for (const button of this.#kinds) button.setAttribute('aria-pressed', String(button.dataset.kind === state.kind));
    coverPageTitle(state.q || words.title);
    this.#appear();
    if (this.#asked !== formatSearch(state)) this.#ask();
  }

  /** @param {{q: string}|null} target words to look for; without, the panel as it was */
  open(target) {
    this.#go(target?.q ? { q: target.q, kind: KINDS[0] } : this.#state);
    this.#input.focus();
    this.#input.select();
    releaseKeys(this.#input);
  }

  close() {
    leavePanel();
    this.follow();
    this.#events.emit('composer:focus');
  }

  #go(state, { replace = false } = {}) {
    writePanel(formatSearch(state), { replace });
    this.follow();
  }

  #appear() {
    if (this.#shown) return;
    this.#shown = true;
    setHidden(this.#node, false);
    setHidden(this.#close, false);
    document.documentElement.dataset.panel = PANEL;
    this.#events.emit('panel:shown');
    this.#input.focus({ preventScroll: true });
  }

  #hide() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#latest.cancel();
    this.#asked = null;
    setHidden(this.#node, true);
    setHidden(this.#close, true);
    // Another panel may have taken its place.
    if (document.documentElement.dataset.panel !== PANEL) return;
    delete document.documentElement.dataset.panel;
    coverPageTitle(null);
  }

  #submit(event) {
    event.preventDefault();
    this.#results.links()[0]?.focus();
  }

  #ask() {
    this.#asked = formatSearch(this.#state);
    this.#begin();
    if (this.#state.q.trim()) {
      this.#latest.request(this.#state);
      return;
    }
    this.#latest.cancel();
    this.#tell({ results: [], next: null, warnings: [] }, this.#state);
    this.#status.textContent = words.start;
  }

  /** Says that something runs once it is no longer at once. */
  #begin() {
    clearTimeout(this.#waiting);
    setHidden(this.#problem, true);
    this.#node.setAttribute('aria-busy', 'true');
    this.#waiting = setTimeout(() => {
      this.#status.textContent = words.searching;
    }, A_WAIT);
  }

  #end() {
    clearTimeout(this.#waiting);
    this.#node.removeAttribute('aria-busy');
    this.#more.disabled = false;
  }

  #tell(answer, { q, kind }) {
    const { results, next } = answer;
    this.#end();
    this.#next = next;
    const hadFocus = this.#results.node.contains(document.activeElement);
    this.#results.show(results, kind, q);
    if (hadFocus) (this.#results.links()[0] ?? this.#input).focus();
    setHidden(this.#more, !next);
    const found = results.length ? words.found(results.length, next !== null) : words.none(q);
    this.#status.textContent = [found, ...warningsIn(answer)].join(' · ');
  }

  #fail(text, onAgain) {
    this.#end();
    this.#status.textContent = '';
    this.#problem.replaceChildren(
      element('p', { text }), element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.again, onclick: onAgain }));
    setHidden(this.#problem, false);
  }

  async #continue() {
    const { q, kind } = this.#state;
    const asked = this.#asked;
    this.#more.disabled = true;
    this.#begin();
    try {
      const answer = await this.#api.search(q, { kind, cursor: this.#next });
      if (this.#asked !== asked) return;
      this.#end();
      this.#next = answer.next;
      this.#results.add(answer.results);
      setHidden(this.#more, !answer.next);
      this.#status.textContent = [words.found(this.#results.links().length, answer.next !== null), ...warningsIn(answer)].join(' · ');
    } catch (error) {
      if (this.#asked === asked) this.#fail(words.moreFailed(error.message), () => this.#continue());
    }
  }

  #onKey(event) {
    if (event.defaultPrevented || composes(event)) return;
    if (event.key === 'Escape') this.#escape(event.target === this.#input);
    else if (!this.#step(event)) return;
    event.preventDefault();
  }

  #escape(inField) {
    if (inField) this.close();
    else this.#input.focus();
  }

  /** Arrows go from the field through the results and back. @returns {boolean} whether there was a step to take */
  #step({ key, target }) {
    const by = { ArrowDown: 1, ArrowUp: -1 }[key];
    const stops = [this.#input, ...this.#results.links()];
    const at = stops.indexOf(target.closest('.search-row')?.querySelector('.search-hit') ?? target);
    if (!by || at < 0 || !stops[at + by]) return false;
    stops[at + by].focus();
    return true;
  }
}

/**
 * @param {{api: object, events: object}} page
 * @returns {Promise<{follow: () => void, open: (target: {q: string}|null) => void}>} `follow` shows what the address says, `open`
 *   looks for something
 */
export async function mountSearch(page) {
  await addPanelStyle('search/search');
  const panel = new SearchPanel(page);
  return { follow: () => panel.follow(), open: (target) => panel.open(target) };
}
