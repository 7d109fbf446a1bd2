/** The bar that finds a text in the open conversation, also where it is not on the page. */

import { composes } from '../../core/typing.js';
import { strings } from '../../strings/en/conversation.js';
import { attempt } from '../../ui/notices/attempts.js';
import { releaseKeys } from '../../ui/controls/early_keys.js';
import { element } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { Findings, withShown } from './find_model.js';
import { highlight, says } from './highlights.js';

const words = strings.find;
const PAUSE_MS = 200;
/** What is shown changes often while an answer is written. */
const REDRAW_MS = 300;

class FindBar {
  #page;
  #opener = null;
  #findings = null;
  /** What was asked for last. */
  #asked = '';
  #typing = null;
  #drawing = null;
  #input = element('input', {
    type: 'search', class: 'form-control', 'aria-label': words.label, placeholder: words.placeholder, autocomplete: 'off', spellcheck: 'false',
    maxlength: '1000', enterkeyhint: 'search', dir: 'auto',
  });
  #count = element('span', { class: 'find-count', role: 'status' });
  #node;
  #observer = new MutationObserver(() => this.#drawSoon());

  constructor(page) {
    this.#page = page;
    const button = (symbol, label, onclick) => element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick }, icon(symbol));
    this.#node = element('form', { class: 'find-bar', role: 'search', 'aria-label': words.label, hidden: true },
      this.#input, this.#count,
      button('arrow-up', words.previous, () => this.#step(-1)),
      button('arrow-down', words.next, () => this.#step(1)),
      button('x-lg', words.close, () => this.close()));
    page.container.before(this.#node);
    this.#node.addEventListener('submit', (event) => event.preventDefault());
    this.#node.addEventListener('keydown', (event) => this.#onKey(event));
    this.#input.addEventListener('input', () => {
      clearTimeout(this.#typing);
      this.#typing = setTimeout(() => this.#search(), PAUSE_MS);
    });
    page.events.on('conversation:shown', () => this.#hide());
  }

  open() {
    if (this.#node.hidden) this.#opener = document.activeElement;
    this.#node.hidden = false;
    this.#observer.observe(this.#page.container, { childList: true, subtree: true, characterData: true });
    this.#input.focus();
    this.#input.select();
    releaseKeys(this.#input);
    if (this.#input.value) this.#search();
  }

  close() {
    this.#hide();
    if (this.#opener?.isConnected && this.#opener !== document.body) this.#opener.focus();
    else this.#page.container.focus({ preventScroll: true });
  }

  #hide() {
    clearTimeout(this.#typing);
    clearTimeout(this.#drawing);
    this.#drawing = null;
    this.#observer.disconnect();
    this.#node.hidden = true;
    this.#findings = null;
    this.#asked = '';
    highlight(this.#page.container, '', null);
  }

  #onKey(event) {
    if (composes(event)) return;
    if (event.key === 'Escape') this.close();
    else if (event.key === 'Enter' && event.target === this.#input) this.#step(event.shiftKey ? -1 : 1);
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  async #search() {
    clearTimeout(this.#typing);
    const wanted = this.#input.value;
    const conversationId = this.#page.conversationId();
    this.#asked = wanted;
    this.#findings = null;
    const asked = () => this.#page.api.findInConversation(conversationId, wanted);
    const found = wanted ? await attempt(asked, { failed: words.failed, again: () => this.#search() }) : { messages: [], total: 0 };
    if (!found || wanted !== this.#asked || conversationId !== this.#page.conversationId() || this.#node.hidden) return;
    const { messages, total } = withShown(found, this.#shownWith(wanted));
    this.#findings = new Findings(messages, total, this.#page.transcript().firstSeenIndex);
    await this.#show();
  }

  #shownWith(wanted) {
    const transcript = this.#page.transcript();
    const bodyOf = ({ message_id: id }) => transcript.card(id)?.node.querySelector('.message-body');
    return wanted ? transcript.messages.filter((message) => says(bodyOf(message), wanted)) : [];
  }

  async #step(by) {
    if (!this.#findings || this.#asked !== this.#input.value) {
      await this.#search();
      return;
    }
    this.#findings.step(by);
    await this.#show();
  }

  /** Shows the current message, which may have to be brought. */
  async #show() {
    const findings = this.#findings;
    const { current, place, total } = findings;
    this.#count.textContent = this.#asked ? words.count(place, total) : '';
    const transcript = this.#page.transcript();
    if (current && !transcript.card(current.message_id)) {
      const isHere = await attempt(async () => {
        await transcript.loadAround(current.message_id);
        return true;
      }, { failed: words.failed });
      if (!isHere || findings !== this.#findings || current !== findings.current) return;
    }
    const range = this.#draw();
    if (range?.startContainer.parentElement.closest('.folded')) transcript.card(current.message_id).unfold();
    if (current) transcript.scrollTo(current.message_id, range);
  }

  #draw() {
    const current = this.#findings?.current;
    const card = current ? this.#page.transcript().card(current.message_id) : null;
    return highlight(this.#page.container, this.#findings?.total ? this.#asked : '', card?.node ?? null);
  }

  #drawSoon() {
    if (this.#drawing) return;
    this.#drawing = setTimeout(() => {
      this.#drawing = null;
      this.#draw();
    }, REDRAW_MS);
  }
}

/** The bar of each page. */
const bars = new WeakMap();

/** @param {object} page what the parts of the conversation share */
export function openFindBar(page) {
  if (!bars.has(page)) bars.set(page, new FindBar(page));
  bars.get(page).open();
}
