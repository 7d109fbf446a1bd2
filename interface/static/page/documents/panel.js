/** The Documents panel: beside the conversation where there is room, in its place elsewhere, while the address says so. */

import { leavePanel, nameBeside, panelInAddress, writePanel } from '../core/address.js';
import { createRenewal } from '../core/renewal.js';
import { composes } from '../core/typing.js';
import { strings } from '../strings/en/conversation.js';
import { documentStrings } from '../strings/en/documents.js';
import { createReferenceCache } from '../references/cache_model.js';
import { attempt } from '../ui/notices/attempts.js';
import { wide } from '../ui/columns.js';
import { element, setHidden } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { coverPageTitle } from '../ui/notices/page_title.js';
import { showToast } from '../ui/notices/toast.js';
import { addPanelStyle } from '../ui/panel_style.js';
import { isSomethingOver } from '../ui/controls/popup.js';
import { createActions } from './actions.js';
import { createDocumentsApi } from './api.js';
import { fateOf, mayChangeLinks } from './changes_model.js';
import { PANEL, formatDocuments, parseDocuments } from './documents_model.js';
import { documentEditor, unsaved } from './editor.js';
import { createList } from './list.js';
import { documentView } from './reader.js';

const words = documentStrings;
/** A rename is told in two changes, which may come one by one. */
const MOST_TOLD = 100;

/**
 * What the panel shows: the list, a document that is read or written, or that one is not there, or did not come.
 *
 * @typedef {object} Part
 * @property {HTMLElement} node
 * @property {string} [path] of the document
 * @property {string|null} [version] of the document, as it is shown
 * @property {boolean} [isFailure] the document did not come
 * @property {(fate: {path: string|null, version: string|null|undefined}) => void} [hear] the document was changed, moved or deleted
 * @property {(changes: import('./changes_model.js').Change[]) => void} [hearOfOthers] other documents were
 * @property {() => void} [shown]
 * @property {() => void} [close]
 */

class DocumentsPanel {
  #events;
  #kept;
  #frame;
  #page;
  #documents;
  #actions;
  #list;
  #state = { path: '', anchor: null };
  #shown = false;
  /** What was asked for last: an answer to something else is not shown. */
  #asked = 0;
  /** Whether the document that is wanted is on its way. */
  #isLoading = false;
  /** @type {Part|null} */
  #current = null;
  /** The latest changes of documents. */
  #told = [];
  #heading = element('h1', { id: 'documents-title', tabindex: '-1', text: words.title });
  #head = element('div', { class: 'documents-head', hidden: true });
  #place = element('div', { class: 'documents-place' });
  #node = element('section', { id: 'documents', 'aria-labelledby': 'documents-title', hidden: true }, this.#head, this.#place);
  #close = element('button', { type: 'button', class: 'icon-button', id: 'close-documents', 'aria-label': words.close, title: words.close, hidden: true, onclick: () => this.close() }, icon('x-lg'));

  constructor({ api, store, events, kept, frame }) {
    this.#events = events;
    this.#kept = kept;
    this.#frame = frame;
    this.#page = {
      api, events,
      goTo: ({ conversation_id: conversationId, message_id: messageId }) => events.emit('conversation:open', { conversationId, messageId }),
      references: createReferenceCache((ref) => api.resolveReference(ref)),
      addressOf: (path) => formatDocuments({ path }),
      open: (target) => this.open(target),
    };
    this.#documents = createDocumentsApi(api);
    this.#actions = createActions(this.#documents, { onMoved: (from, to) => this.#moved(from, to) });
    this.#list = createList({
      ...this.#page, api: this.#documents, kept, begin: (path) => this.#begin(path),
      attempt: (job, again) => attempt(job, { failed: words.failed, again }),
    });
    frame.addPanel(this.#node);
    document.addEventListener('keydown', (event) => this.#onKey(event));
    wide.addEventListener('change', () => this.#shown && this.#stand());
    nameBeside(() => (this.#isBeside ? formatDocuments(this.#state).slice(1) : ''));
    events.on('beside:taken', ({ by }) => by !== PANEL && this.#isBeside && this.#leave());
    store.subscribe(({ told }) => {
      const changes = told.filter(({ kind }) => kind === 'document');
      if (changes.length > 0) this.#hear(changes);
    });
    events.on('changes:lost', () => this.#hearNothing());
    events.on('changes:alive', () => this.#shown && this.#current?.isFailure && this.#show());
  }

  /** Shows what the address says: the list, a document, or the conversation. */
  follow() {
    const state = parseDocuments(location.search);
    if (!state) {
      this.#hide();
      return;
    }
    const isSame = this.#shown && state.path === this.#state.path && state.anchor === this.#state.anchor;
    this.#state = state;
    this.#appear();
    if (!isSame) this.#show();
  }

  /** @param {{path: string, anchor?: string|null}|null} target a document; without, the panel as it was */
  open(target) {
    writePanel(formatDocuments(target ?? this.#state));
    this.follow();
  }

  close() {
    this.#leave();
    this.#events.emit('composer:focus');
  }

  #leave() {
    // Another panel may be named there already.
    if (panelInAddress() === PANEL) leavePanel();
    this.follow();
  }

  get #isBeside() {
    return this.#shown && wide.matches;
  }

  #put(part) {
    const hadFocus = this.#current?.isFailure && this.#place.contains(document.activeElement);
    this.#current?.close?.();
    this.#current = part;
    this.#place.replaceChildren(part.node);
    part.shown?.();
    if (hadFocus) this.#heading.focus({ preventScroll: true });
  }

  async #show() {
    const { path, anchor } = this.#state;
    this.#asked += 1;
    const mine = this.#asked;
    this.#isLoading = Boolean(path);
    if (!path) {
      this.#put({ node: this.#list.node, close: this.#list.hide });
      this.#list.show();
      return;
    }
    const before = this.#told.at(-1);
    const isTyped = unsaved(this.#kept, path) !== null;
    let found = null;
    let failed = null;
    try {
      found = await this.#documents.readIfThere(path);
    } catch (error) {
      failed = error;
    }
    if (mine !== this.#asked) return;
    this.#isLoading = false;
    if (!this.#shown) return;
    if (failed) this.#tellFailed(path, failed);
    // What was typed may be for a document that is not there yet, or not any more.
    else if (isTyped) this.#edit(found ?? { path, text: '', version: null });
    else if (!found) this.#miss(path);
    else this.#read(found, anchor);
    this.#follow(this.#told.slice(this.#told.indexOf(before) + 1));
  }

  /** Documents changed: here, in another window, or by another program. */
  #hear(changes) {
    this.#page.references.clear();
    this.#list.hear(changes);
    this.#told = [...this.#told, ...changes].slice(-MOST_TOLD);
    if (this.#shown && !this.#isLoading) this.#follow(changes);
  }

  /** What changed can't be told one by one. */
  #hearNothing() {
    this.#page.references.clear();
    this.#told = [];
    this.#list.forget();
    const { path } = this.#current ?? {};
    if (this.#shown && !this.#isLoading && path) this.#current.hear({ path, version: undefined });
  }

  /** Does to the document that is shown what the changes tell. */
  #follow(changes) {
    const part = this.#current;
    if (!part?.path || this.#actions.isMoving(part.path)) return;
    const fate = fateOf(part, this.#told, changes);
    if (!fate) part.hearOfOthers?.(changes);
    else if (fate.path !== part.path || fate.version === undefined || fate.version !== part.version) part.hear(fate);
  }

  /** The document that is shown lies elsewhere now. */
  #goWith(path) {
    this.#state = { path, anchor: null };
    writePanel(formatDocuments(this.#state), { replace: true });
  }

  /** Reads the shown document again. What can't be read stays: if it is gone, that is told. */
  #renew = createRenewal(async () => {
    const [mine, part] = [this.#asked, this.#current];
    if (!part?.found) return;
    const found = await this.#documents.read(this.#state.path, { quiet: true }).catch(() => null);
    if (!found || mine !== this.#asked || part !== this.#current || JSON.stringify(found) === JSON.stringify(part.found)) return;
    const hadFocus = this.#place.contains(document.activeElement);
    const { scrollTop } = part.node;
    this.#read(found);
    this.#current.node.scrollTop = scrollTop;
    if (hadFocus) this.#heading.focus({ preventScroll: true });
  });

  /** A document lies elsewhere now; null: in the bin; the same path: it is not known what became of it. */
  #moved(from, to) {
    this.#page.references.clear();
    if (to !== from) this.#list.hear([{ kind: 'document', change: 'gone', id: from, fields: {} }]);
    if (!this.#shown || this.#state.path !== from) return;
    // Where it is being edited by now, the stream of changes tells what became of it.
    if (to === from && this.#current?.isEditor) return;
    this.#goWith(to ?? '');
    this.#show();
    this.#heading.focus({ preventScroll: true });
  }

  /** @param {string} path @param {string|null} [version] the last one that was shown */
  #miss(path, version) {
    const hadFocus = this.#place.contains(document.activeElement);
    this.#put({
      path, version,
      node: element('div', { class: 'documents-scroller' }, element('p', { class: 'documents-note', role: 'status', text: words.gone }), this.#wayToAll()),
      hear: (fate) => {
        if (fate.path === null || fate.version === undefined) return;
        this.#goWith(fate.path);
        this.#show();
      },
    });
    if (hadFocus) this.#heading.focus({ preventScroll: true });
  }

  #wayToAll() {
    return element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.all, onclick: () => this.open({ path: '' }) });
  }

  /** Says why a document did not come. It is asked for again by the person, and by itself once the server is heard. */
  #tellFailed(path, error) {
    const again = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: strings.attempt.again, onclick: () => this.#show() });
    this.#put({
      path, isFailure: true,
      node: element('div', { class: 'documents-scroller' },
        element('p', { class: 'documents-note', role: 'alert', text: words.readFailed(error.message) }), element('div', { class: 'document-head' }, again, this.#wayToAll())),
      hear: (fate) => {
        if (fate.path !== null && fate.path !== path) this.#goWith(fate.path);
        this.#show();
      },
    });
  }

  #read(found, anchor = null) {
    const { path, version } = found;
    this.#put({
      path, version,
      ...documentView(found, this.#page, {
        anchor, onEdit: () => this.#edit(found), onRename: () => this.#actions.rename(found), onDelete: () => this.#actions.remove(found), onBack: () => this.open({ path: '' }),
      }),
      hear: (fate) => {
        if (fate.path === null) {
          this.#miss(path, version);
          return;
        }
        if (fate.path !== path) this.#goWith(fate.path);
        this.#renew();
      },
      hearOfOthers: (changes) => mayChangeLinks(found, changes) && this.#renew(),
    });
  }

  /** A path that may not be is refused before anything is written; a document that is there already is shown. */
  async #begin(path) {
    const looked = await attempt(async () => ({ found: await this.#documents.readIfThere(path) }), { failed: words.failed, again: () => this.#begin(path) });
    if (!looked) return;
    if (!looked.found) {
      this.#edit({ path, text: '', version: null });
      return;
    }
    this.open({ path });
    showToast(words.thereAlready);
  }

  #edit(found) {
    this.#asked += 1;
    this.#isLoading = false;
    const editor = documentEditor(found, { api: this.#documents, page: this.#page, kept: this.#kept }, {
      onSaved: (stored, told) => {
        if (!this.#shown || this.#current !== editor) return;
        this.#goWith(stored.path);
        this.#read(stored);
        this.#heading.focus({ preventScroll: true });
        if (told && told.version !== stored.version) this.#renew();
      },
      onMoved: (path) => this.#goWith(path),
      onClose: () => {
        // A document that is not there is left for the list.
        if (editor.version === null) this.#goWith('');
        this.#show();
      },
    });
    this.#put(editor);
    editor.takeFocus();
  }

  /** Puts the panel beside the conversation, or in its place. */
  #stand() {
    const beside = wide.matches;
    const { dataset } = document.documentElement;
    if (beside) this.#head.append(this.#heading, this.#close);
    else {
      this.#frame.addTitle(this.#heading);
      this.#frame.addButton(this.#close);
    }
    setHidden(this.#head, !beside);
    if (beside) dataset.beside = PANEL;
    else dataset.panel = PANEL;
    if (dataset[beside ? 'panel' : 'beside'] === PANEL) delete dataset[beside ? 'panel' : 'beside'];
    coverPageTitle(beside ? null : words.title);
    this.#events.emit(beside ? 'beside:taken' : 'beside:left', { by: PANEL });
  }

  #appear() {
    if (this.#shown) return;
    this.#shown = true;
    setHidden(this.#node, false);
    setHidden(this.#close, false);
    this.#stand();
    this.#events.emit('panel:shown');
    this.#heading.focus({ preventScroll: true });
  }

  #hide() {
    if (!this.#shown) return;
    this.#shown = false;
    this.#asked += 1;
    this.#isLoading = false;
    setHidden(this.#node, true);
    setHidden(this.#close, true);
    this.#list.hide();
    const { dataset } = document.documentElement;
    if (dataset.beside === PANEL) {
      delete dataset.beside;
      this.#events.emit('beside:left', { by: PANEL });
    }
    // Another panel may have taken its place.
    if (panelInAddress() === PANEL || dataset.panel !== PANEL) return;
    delete dataset.panel;
    coverPageTitle(null);
  }

  #onKey(event) {
    if (!this.#shown || event.key !== 'Escape' || event.defaultPrevented || composes(event) || isSomethingOver()) return;
    if (event.target !== document.body && !this.#node.contains(event.target)) return;
    event.preventDefault();
    if (event.target.matches?.('textarea, input')) this.#heading.focus({ preventScroll: true });
    else this.close();
  }
}

/**
 * @param {{api: object, events: object, kept: object, frame: object}} page
 * @returns {Promise<{follow: () => void, open: (target: {path: string, anchor?: string|null}|null) => void}>}
 */
export async function mountDocuments(page) {
  await Promise.all([addPanelStyle('documents/documents'), page.kept.ready()]);
  const panel = new DocumentsPanel(page);
  return { follow: () => panel.follow(), open: (target) => panel.open(target) };
}
