import { strings } from '../strings/en/conversation.js';
import { documentStrings } from '../strings/en/documents.js';
import { createLatest } from '../core/latest.js';
import { createRenewal } from '../core/renewal.js';
import { element, setHidden, whenReleased } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { deletedDocuments } from './bin.js';
import { listAfter } from './changes_model.js';
import { countIn, pathFrom, treeOf } from './documents_model.js';
import { followUnsaved, unsavedPaths } from './editor.js';
import { graphPicture } from './graph.js';
import { createImport } from './importing.js';
import { shownInPart } from './shown_in_part.js';

const words = documentStrings;

/** A link to a document; a click opens it here. */
export function documentLink({ path, title }, { addressOf, open }) {
  return element('a', { class: 'document-link', href: addressOf(path), title: path, 'data-key': path, onclick: (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open({ path });
  } }, icon('file-text'), element('span', { dir: 'auto', text: title }));
}

const EXCERPT_CHARS = 160;
/** Between two requests for what other programs keep changing. */
const RENEWAL_PAUSE_MS = 1000;

function shortened(text) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS)}…` : line;
}

/** Shows something else in `place`; the focus stays with what has the same key. */
function redraw(place, nodes) {
  const { key } = place.contains(document.activeElement) ? document.activeElement.dataset : {};
  place.replaceChildren(...nodes);
  if (key !== undefined) [...place.querySelectorAll('[data-key]')].find(({ dataset }) => dataset.key === key)?.focus({ preventScroll: true });
}

/**
 * A part that asks for what it shows when it is opened.
 *
 * @param {string} label
 * @param {(place: HTMLElement) => Promise<void>} load
 * @returns {{node: HTMLElement, renew: () => void}} `renew`: it shows something else now
 */
function folded(label, load) {
  const place = element('div', { class: 'documents-folded' });
  const node = element('details', { class: 'documents-details' }, element('summary', { text: label }), place);
  node.addEventListener('toggle', () => node.open && place.childElementCount === 0 && load(place));
  const loadAgain = createRenewal(() => load(place), { pause: RENEWAL_PAUSE_MS });
  return { node, renew: () => (node.open ? loadAgain() : place.replaceChildren()) };
}

/**
 * What stays when the tree is drawn anew.
 *
 * @typedef {{opened: Set<string>, shown: Map<string, number>}} Kept `opened`: the folders that are open, by their paths; `shown`: how many
 *   documents of a folder are shown, where these are more than at first
 */

/** @param {Kept} kept */
function folderNode(path, tree, page, kept) {
  const { opened } = kept;
  const place = element('div', { class: 'documents-folder' });
  const summary = element('summary', { 'data-key': `${path}/`, onclick: () => (opened.has(path) ? opened.delete(path) : opened.add(path)) },
    icon('folder'), element('span', { dir: 'auto', text: path.split('/').at(-1) }), element('span', { class: 'documents-count', text: String(countIn(tree)) }));
  const fill = () => place.childElementCount === 0 && place.append(...branches(tree, page, kept, `${path}/`));
  if (opened.has(path)) fill();
  return element('details', { open: opened.has(path), ontoggle: fill }, summary, place);
}

/** @param {Kept} kept */
function branches({ folders, documents }, page, kept, above = '') {
  const options = { most: kept.shown.get(above), onMore: (most) => kept.shown.set(above, most) };
  return [...[...folders].map(([name, tree]) => folderNode(above + name, tree, page, kept)), ...shownInPart(documents, (entry) => documentLink(entry, page), options)];
}

/**
 * The list of all documents, as a tree of folders or as what a search finds; the links that lead nowhere, the documents without any,
 * and the graph of all. All documents are asked for once; what changes of them is told by `hear`.
 *
 * @param {{api: object, attempt: (job: () => Promise<any>, again: () => void) => Promise<any>, addressOf: (path: string) => string,
 *   open: (target: {path: string, anchor?: string}) => void, begin: (path: string) => void, kept: object}} page
 */
export function createList(page) {
  const input = element('input', { type: 'search', class: 'form-control', 'aria-label': words.search, placeholder: words.search, autocomplete: 'off', spellcheck: 'false', maxlength: '200' });
  const status = element('p', { class: 'documents-note', role: 'status' });
  const tree = element('div', { class: 'documents-tree' });
  const kept = { opened: new Set(), shown: new Map() };
  const name = element('input', { type: 'text', class: 'form-control', 'aria-label': words.newName, placeholder: words.newName, autocomplete: 'off', maxlength: '1000', required: true });
  const creating = element('form', { class: 'documents-new', hidden: true, onsubmit: (event) => {
    event.preventDefault();
    page.begin(pathFrom(name.value.trim()));
  } }, name, element('button', { type: 'submit', class: 'btn btn-quiet', text: words.create }));
  const about = element('div');
  const imports = createImport(page.api);
  const typed = element('div', { class: 'documents-unsaved', hidden: true });
  const node = element('div', { class: 'documents-scroller' }, typed, input, status, tree, creating, imports.node, about);

  let isShown = false;
  /** Whether what stands there is that the list did not come. */
  let hasFailed = false;
  /** All documents, as the server told them last; null: they have to be asked for. */
  let all = null;
  /** What changed since they were asked for; null while they are not. */
  let meanwhile = null;
  let parts = [];

  /** @returns {Promise<{documents: object[], inText: object[], isReadOnly: boolean}>} */
  async function load(query, options) {
    if (query) return page.api.list(query, options);
    const mine = [];
    meanwhile = mine;
    try {
      const answer = await page.api.list(query, options);
      if (meanwhile !== mine) return answer; // asked for again meanwhile
      const documents = listAfter(answer.documents, mine);
      all = documents && { ...answer, documents };
      if (!all) renew();
      return all ?? answer;
    } finally {
      if (meanwhile === mine) meanwhile = null;
    }
  }

  const wanted = () => input.value.trim();
  const latest = createLatest(load, {
    delay: 150,
    // What is pressed below the list stays where it is.
    ready: whenReleased,
    onAnswer: (answer, query) => show((!query && all) || answer, query),
    onError: tellFailed,
  });
  /** Asks again for what is shown. Where that fails, what was there stays. */
  const renew = createRenewal(async () => {
    if (!isShown) return;
    const query = wanted();
    const answer = await load(query, { quiet: true }).catch(() => null);
    await whenReleased();
    if (answer && isShown && query === wanted()) show((!query && all) || answer, query);
  }, { pause: RENEWAL_PAUSE_MS });

  /** Why there is no list. It is asked for again by the person, and by itself once the server is heard. */
  function tellFailed(error) {
    hasFailed = true;
    const onclick = () => {
      input.focus({ preventScroll: true });
      ask();
    };
    status.replaceChildren(`${words.failed(error.message)} `, element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: strings.attempt.again, onclick }));
  }

  input.addEventListener('input', ask);
  page.events.on('changes:alive', () => hasFailed && isShown && ask());

  function ask() {
    const query = wanted();
    latest.cancel();
    if (!query && all) show(all, query);
    else latest.request(query);
  }

  /** Documents changed. @param {import('./changes_model.js').Change[]} changes */
  function hear(changes) {
    meanwhile?.push(...changes);
    const before = all?.documents;
    const documents = all && listAfter(before, changes);
    all = documents && { ...all, documents };
    if (!isShown) return;
    for (const part of parts) part.renew();
    if (wanted() || (!all && !meanwhile)) renew();
    else if (all && documents !== before) showAll();
  }

  async function showAll() {
    await whenReleased();
    if (isShown && all && !wanted()) show(all, '');
  }

  /** It is not known any more what changed. */
  function forget() {
    all = null;
    if (isShown) renew();
  }

  const excerpt = ({ path, title, text }) => element('div', { class: 'documents-excerpt' },
    documentLink({ path, title }, page), element('p', { class: 'documents-note', dir: 'auto', text: shortened(text) }));

  function found({ documents, inText }) {
    const said = inText.length === 0 ? [] : [element('h3', { class: 'documents-kind', text: words.inText }), ...inText.map(excerpt)];
    return [...shownInPart(documents, (entry) => documentLink(entry, page)), ...said];
  }

  /** What was typed and not saved is found here, also where its document is not there yet. */
  function showUnsaved() {
    const paths = unsavedPaths(page.kept);
    redraw(typed, [element('h3', { class: 'documents-kind', text: words.unsaved }), ...paths.map((path) => documentLink({ path, title: path }, page))]);
    setHidden(typed, paths.length === 0);
  }

  followUnsaved(page.kept, () => isShown && showUnsaved());

  function show({ documents, inText, isReadOnly }, query) {
    hasFailed = false;
    redraw(tree, query ? found({ documents, inText }) : branches(treeOf(documents), page, kept));
    const number = documents.length + inText.length;
    if (number > 0) status.textContent = words.count(number);
    else status.textContent = query ? words.noMatch : words.empty;
    setHidden(creating, isReadOnly);
    imports.offer(!isReadOnly);
  }

  async function showGraph(place, draw) {
    const graph = await page.attempt(() => page.api.graph(), () => showGraph(place, draw));
    await whenReleased();
    if (graph) redraw(place, draw(graph));
  }

  async function showBin(place) {
    const bin = await page.attempt(() => page.api.bin(), () => showBin(place));
    await whenReleased();
    if (bin) redraw(place, deletedDocuments(bin, { api: page.api }));
  }

  const none = (text) => [element('p', { class: 'documents-note', text })];
  const drawBroken = ({ broken }) => (broken.length === 0 ? none(words.noBroken) : shownInPart(broken, (link) => element('p', { class: 'documents-broken' },
    element('span', { text: link.wikilink }), documentLink({ path: link.source, title: link.source_title }, page))));
  function drawOrphans({ orphans, nodes }) {
    if (orphans.length === 0) return none(words.noOrphans);
    const titles = new Map(nodes.map(({ path, title }) => [path, title]));
    return shownInPart(orphans, (path) => documentLink({ path, title: titles.get(path) ?? path }, page));
  }
  const drawGraph = (graph) => [graphPicture(graph, { addressOf: page.addressOf, onOpen: (path) => page.open({ path }) })];

  return {
    node,
    show() {
      isShown = true;
      showUnsaved();
      ask();
      parts = [
        folded(words.broken, (place) => showGraph(place, drawBroken)),
        folded(words.orphans, (place) => showGraph(place, drawOrphans)),
        folded(words.graph, (place) => showGraph(place, drawGraph)),
        folded(words.bin, showBin)];
      about.replaceChildren(...parts.map(({ node: part }) => part));
    },
    hide() {
      isShown = false;
      latest.cancel();
    },
    hear,
    forget,
    takeFocus: () => input.focus({ preventScroll: true }),
  };
}
