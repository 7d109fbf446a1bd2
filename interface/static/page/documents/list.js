import { documentStrings } from '../strings/en/documents.js';
import { createLatest } from '../core/latest.js';
import { element, setHidden } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { deletedDocuments } from './bin.js';
import { countIn, pathFrom, treeOf } from './documents_model.js';
import { graphPicture } from './graph.js';
import { createImport } from './importing.js';
import { shownInPart } from './shown_in_part.js';

const words = documentStrings;

/** A link to a document; a click opens it here. */
export function documentLink({ path, title }, { addressOf, open }) {
  return element('a', { class: 'document-link', href: addressOf(path), title: path, onclick: (event) => {
    if (event.ctrlKey || event.metaKey) return;
    event.preventDefault();
    open({ path });
  } }, icon('file-text'), element('span', { dir: 'auto', text: title }));
}

const EXCERPT_CHARS = 160;

function shortened(text) {
  const line = text.replace(/\s+/g, ' ').trim();
  return line.length > EXCERPT_CHARS ? `${line.slice(0, EXCERPT_CHARS)}…` : line;
}

/** A part that asks for what it shows when it is opened for the first time. */
function folded(label, load) {
  const place = element('div', { class: 'documents-folded' });
  const node = element('details', { class: 'documents-details' }, element('summary', { text: label }), place);
  node.addEventListener('toggle', () => node.open && place.childElementCount === 0 && load(place));
  return node;
}

/** @param {Set<string>} opened the folders that are open, by their paths: they stay open when the tree is drawn anew */
function folderNode(path, tree, page, opened) {
  const place = element('div', { class: 'documents-folder' });
  const summary = element('summary', { onclick: () => (opened.has(path) ? opened.delete(path) : opened.add(path)) },
    icon('folder'), element('span', { dir: 'auto', text: path.split('/').at(-1) }), element('span', { class: 'documents-count', text: String(countIn(tree)) }));
  const fill = () => place.childElementCount === 0 && place.append(...branches(tree, page, opened, `${path}/`));
  if (opened.has(path)) fill();
  return element('details', { open: opened.has(path), ontoggle: fill }, summary, place);
}

function branches({ folders, documents }, page, opened, above = '') {
  return [...[...folders].map(([name, tree]) => folderNode(above + name, tree, page, opened)), ...shownInPart(documents, (entry) => documentLink(entry, page))];
}

/**
 * The list of all documents, as a tree of folders or as what a search finds; the links that lead nowhere, the documents without any,
 * and the graph of all.
 *
 * @param {{api: object, attempt: (job: () => Promise<any>, again: () => void) => Promise<any>, addressOf: (path: string) => string,
 *   open: (target: {path: string, anchor?: string}) => void, begin: (path: string) => void, forget: () => void}} page `forget`: what links lead to may be
 *   different now
 */
export function createList(page) {
  const input = element('input', { type: 'search', class: 'form-control', 'aria-label': words.search, placeholder: words.search, autocomplete: 'off', spellcheck: 'false', maxlength: '200' });
  const status = element('p', { class: 'documents-note', role: 'status' });
  const tree = element('div', { class: 'documents-tree' });
  const opened = new Set();
  const name = element('input', { type: 'text', class: 'form-control', 'aria-label': words.newName, placeholder: words.newName, autocomplete: 'off', maxlength: '1000', required: true });
  const creating = element('form', { class: 'documents-new', hidden: true, onsubmit: (event) => {
    event.preventDefault();
    page.begin(pathFrom(name.value.trim()));
  } }, name, element('button', { type: 'submit', class: 'btn btn-quiet', text: words.create }));
  const about = element('div');
  const imports = createImport(page.api, { onChange: renew });
  const node = element('div', { class: 'documents-scroller' }, input, status, tree, creating, imports.node, about);

  const latest = createLatest((query, options) => page.api.list(query, options), {
    delay: 150,
    onAnswer: (answer, query) => show(answer, query),
    onError: (error) => {
      status.textContent = words.failed(error.message);
    },
  });
  input.addEventListener('input', () => latest.request(input.value.trim()));

  /** Documents came or went. */
  function renew() {
    page.forget();
    latest.request(input.value.trim());
  }

  const excerpt = ({ path, title, text }) => element('div', { class: 'documents-excerpt' },
    documentLink({ path, title }, page), element('p', { class: 'documents-note', dir: 'auto', text: shortened(text) }));

  function found({ documents, inText }) {
    const said = inText.length === 0 ? [] : [element('h3', { class: 'documents-kind', text: words.inText }), ...inText.map(excerpt)];
    return [...shownInPart(documents, (entry) => documentLink(entry, page)), ...said];
  }

  function show({ documents, inText, isReadOnly }, query) {
    tree.replaceChildren(...(query ? found({ documents, inText }) : branches(treeOf(documents), page, opened)));
    const number = documents.length + inText.length;
    if (number > 0) status.textContent = words.count(number);
    else status.textContent = query ? words.noMatch : words.empty;
    setHidden(creating, isReadOnly);
    imports.offer(!isReadOnly);
  }

  async function showGraph(place, draw) {
    const graph = await page.attempt(() => page.api.graph(), () => showGraph(place, draw));
    if (graph) place.replaceChildren(...draw(graph));
  }

  async function showBin(place) {
    const bin = await page.attempt(() => page.api.bin(), () => showBin(place));
    if (bin) place.replaceChildren(...deletedDocuments(bin, { api: page.api, onRestored: renew }));
  }

  const none = (text) => [element('p', { class: 'documents-note', text })];
  const drawBroken = ({ broken }) => (broken.length === 0 ? none(words.noBroken) : shownInPart(broken, (link) => element('p', { class: 'documents-broken' },
    element('span', { text: link.wikilink }), documentLink({ path: link.source, title: link.source_title }, page))));
  const drawOrphans = ({ orphans }) => (orphans.length === 0 ? none(words.noOrphans) : shownInPart(orphans, (entry) => documentLink(entry, page)));
  const drawGraph = (graph) => [graphPicture(graph, { addressOf: page.addressOf, onOpen: (path) => page.open({ path }) })];

  return {
    node,
    show() {
      latest.request(input.value.trim());
      about.replaceChildren(
        folded(words.broken, (place) => showGraph(place, drawBroken)),
        folded(words.orphans, (place) => showGraph(place, drawOrphans)),
        folded(words.graph, (place) => showGraph(place, drawGraph)),
        folded(words.bin, showBin));
    },
    hide: () => latest.cancel(),
    takeFocus: () => input.focus({ preventScroll: true }),
  };
}
