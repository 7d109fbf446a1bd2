import { shownTitle } from '../core/words/conversation_title.js';
import { documentStrings } from '../strings/en/documents.js';
import { MarkdownView } from '../markdown/view.js';
import { decorateReferences } from '../references/chips.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { openMenu } from '../ui/controls/menu.js';
import { brokenOf, entriesOf, nameOf, neighbourhood } from './documents_model.js';
import { graphPicture } from './graph.js';
import { documentLink } from './list.js';
import { shownInPart } from './shown_in_part.js';

const words = documentStrings;

/** Takes away the heading with which a text says its title again. */
function leaveOutTitle(text, title) {
  const first = text.querySelector(':scope > :first-child > h1:first-child');
  if (first?.textContent.trim() === title) first.hidden = true;
}

/** The text without its front matter. */
const bodyOf = (text) => text.replace(/^---[ \t]*\n(?:[\s\S]*?\n)?---[ \t]*(?:\n|$)/, '');

function part(label, nodes) {
  return nodes.length === 0 ? [] : [element('section', { class: 'document-part' }, element('h3', { text: label }), ...nodes)];
}

function userLink(user, page) {
  const target = { conversation_id: user.conversation_id, message_id: user.message_id };
  return element('button', { type: 'button', class: 'document-user', title: user.preview, onclick: () => page.goTo(target) },
    element('span', { dir: 'auto', text: shownTitle(user.title) }), element('span', { class: 'documents-note', dir: 'auto', text: user.preview }));
}

/** Where an anchor leads: a heading, or behind `^` the block that ends with this mark. One that is not there leads nowhere. */
function placeOf(node, anchor) {
  const sought = anchor.trim().toLowerCase();
  const said = ({ textContent }) => textContent.trim().toLowerCase();
  if (sought.startsWith('^')) {
    return [...node.querySelectorAll('p, li, td, blockquote')].find((block) => said(block).split(/\s/).at(-1) === sought);
  }
  return [...node.querySelectorAll('h1, h2, h3, h4, h5, h6')].find((heading) => said(heading) === sought);
}

const BLOCK_MARK = /(?<=^|\s)\^[\p{L}\p{N}-]+\s*$/u;

/** Takes marks out of sight that are for programs: the `!` of an embedded document, and the `^name` at the end of a block, which stays in its text. */
function hideMarks(node) {
  for (const { previousSibling: before } of node.querySelectorAll('.reference-chip[data-reference^="[["]')) {
    if (before?.nodeType === Node.TEXT_NODE && before.data.endsWith('!')) before.data = before.data.slice(0, -1);
  }
  for (const block of node.querySelectorAll('p, li, td')) {
    const last = block.lastChild;
    const mark = last?.nodeType === Node.TEXT_NODE && BLOCK_MARK.exec(last.data);
    if (mark) last.splitText(mark.index).replaceWith(element('span', { class: 'document-block-mark', hidden: true, text: mark[0] }));
  }
}

function goToPlace(node, anchor) {
  placeOf(node, anchor)?.scrollIntoView({ block: 'start' });
}

/**
 * A document to be read: its text with its links, what links to it, which messages used it, and its links as a small graph.
 *
 * @param {object} found the server's answer
 * @param {object} page what the parts of the panel share
 * @param {{anchor: string|null, onEdit: () => void, onRename: () => void, onDelete: () => void, onBack: () => void}} options
 */
export function documentView(found, page, { anchor, onEdit, onRename, onDelete, onBack }) {
  const text = element('div', { class: 'document-text message-content markdown' });
  const entries = entriesOf(found);
  const decorate = (node, raw) => {
    decorateReferences(node, raw, { ...page, entries });
    hideMarks(node);
  };
  const view = new MarkdownView(text, { decorate });
  view.setText(bodyOf(found.text));
  leaveOutTitle(text, found.title);
  const back = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', onclick: onBack }, icon('arrow-left'), element('span', { text: words.all }));
  const edit = found.read_only ? null : element('button', { type: 'button', class: 'btn btn-quiet btn-sm', onclick: onEdit }, icon('pencil'), element('span', { text: words.edit }));
  const menu = found.read_only ? null : element('button', { type: 'button', class: 'icon-button', 'aria-haspopup': 'menu', 'aria-expanded': 'false', 'aria-label': words.actions, title: words.actions, onclick: () => openMenu(menu, [
    { symbol: 'folder', label: words.renameAction, run: onRename },
    { symbol: 'trash', label: words.deleteAction, run: onDelete, danger: true },
  ], { label: words.actions }) }, icon('three-dots'));
  const broken = shownInPart(brokenOf(found), ({ wikilink, line }) => element('p', { class: 'documents-broken', text: words.brokenAt(wikilink, line) }));
  const backlinks = shownInPart(found.backlinks, ({ source, source_title: title }) => documentLink({ path: source, title: title || nameOf(source) }, page));
  const graph = neighbourhood(found);
  const picture = graph.edges.length === 0 ? [] : [graphPicture(graph, { middle: found.path, addressOf: page.addressOf, onOpen: (path) => page.open({ path }) })];
  const node = element('article', { class: 'documents-scroller', 'aria-label': found.title },
    element('div', { class: 'document-head' }, back, edit, menu),
    element('h2', { class: 'document-title', dir: 'auto', text: found.title }),
    element('p', { class: 'documents-note', text: found.path }),
    text,
    ...part(words.backlinks, backlinks),
    ...part(words.brokenHere, broken),
    ...part(words.usedBy, shownInPart(found.used_by, (user) => userLink(user, page))),
    ...part(words.graph, picture));
  return { node, found, close: () => view.clear(), shown: () => anchor && goToPlace(text, anchor) };
}
