/** What the Documents panel shows: its address, the tree of folders, the places of a graph. */

import { linkText } from '../references/wikilinks_model.js';

export const PANEL = 'documents';
const MOST_IN_GRAPH = 40;

/** @param {string} search of an address @returns {{path: string, anchor: string|null}|null} `path` '' for the list; null: another panel */
export function parseDocuments(search) {
  const given = new URLSearchParams(search);
  if (given.get('panel') !== PANEL) return null;
  return { path: given.get('document') ?? '', anchor: given.get('anchor') };
}

/** @param {{path: string, anchor?: string|null}} state */
export function formatDocuments({ path, anchor = null }) {
  const said = [['panel', PANEL], ...(path ? [['document', path]] : []), ...(path && anchor ? [['anchor', anchor]] : [])];
  return `?${new URLSearchParams(said)}`;
}

/**
 * @param {Array<{path: string, title: string}>} documents by path
 * @returns {{folders: Map<string, object>, documents: object[]}} each folder again such a tree
 */
export function treeOf(documents) {
  const root = { folders: new Map(), documents: [] };
  for (const entry of documents) {
    let place = root;
    for (const name of entry.path.split('/').slice(0, -1)) {
      if (!place.folders.has(name)) place.folders.set(name, { folders: new Map(), documents: [] });
      place = place.folders.get(name);
    }
    place.documents.push(entry);
  }
  return root;
}

/** How many documents lie in a folder and below it. */
export function countIn({ folders, documents }) {
  return [...folders.values()].reduce((sum, each) => sum + countIn(each), documents.length);
}

const EXTENSION = /\.(?:md|markdown|txt)$/i;

/** The path that a person typed, with the extension of `like` where they left it out. */
export function pathFrom(typed, like = '.md') {
  return EXTENSION.test(typed) ? typed : `${typed}${EXTENSION.exec(like)?.[0] ?? '.md'}`;
}

/** The links of a document as the chips of a report have them; one to a picture or another file stays the text that it is. */
export function entriesOf({ links }) {
  return links.map(({ wikilink, target, anchor, is_file: isFile }) => ({
    ref: wikilink, kind: 'document', status: target ? 'resolved' : 'not_found', title: linkText(wikilink), target: target ? { path: target, anchor } : {}, isFromMessage: !target, muted: isFile,
  }));
}

/** Those that lead nowhere. */
export const brokenOf = ({ links }) => links.filter(({ target, is_file: isFile }) => !target && !isFile);

/** The links of one document and those to it, as a small graph around it. */
export function neighbourhood({ path, title, links, backlinks }) {
  const titles = new Map([[path, title]]);
  const edges = new Map();
  const join = (source, target, name) => {
    if (source === target) return;
    if (!titles.has(name.path)) titles.set(name.path, name.title);
    edges.set(`${source}\n${target}`, { source, target });
  };
  for (const { target } of links) if (target) join(path, target, { path: target, title: nameOf(target) });
  for (const { source, source_title: sourceTitle } of backlinks) join(source, path, { path: source, title: sourceTitle });
  return { nodes: [...titles].map(([each, name]) => ({ path: each, title: name })), edges: [...edges.values()] };
}

/** The file name without folders and ending. */
export const nameOf = (path) => path.split('/').at(-1).replace(EXTENSION, '');

const FRONT_MATTER = /^---[ \t]*\r?\n(?:[\s\S]*?\r?\n)?---[ \t]*(?:\r?\n|$)/;
const TITLE_LINE = /^title:[ \t]*(.*?)[ \t]*$/dm;
const HEADING = /^ {0,3}#{1,6}[ \t]+(.*?)(?:[ \t]+#+)?[ \t]*$/dm;
const unquoted = (value) => /^(["'])(.*)\1$/.exec(value)?.[2] ?? value;

/** `text` with `next` in the place of what the pattern's group matched first, if that is `title`. */
function withGroup(text, pattern, title, next, read = (value) => value) {
  const match = pattern.exec(text);
  if (!match || read(match[1]) !== title) return null;
  const [begin, end] = match.indices[1];
  return text.slice(0, begin) + next + text.slice(end);
}

/**
 * A document's text with another title: in its front matter, else in its first heading.
 *
 * @param {string} text
 * @param {string} title
 * @param {string} next
 * @returns {string|null} null where the text itself does not say `title` there: then the document is called as its file, or otherwise
 */
export function withTitle(text, title, next) {
  const front = FRONT_MATTER.exec(text)?.[0] ?? '';
  const body = text.slice(front.length);
  if (TITLE_LINE.test(front)) {
    const changed = withGroup(front, TITLE_LINE, title, JSON.stringify(next), unquoted);
    return changed && changed + body;
  }
  const changed = withGroup(body, HEADING, title, next);
  return changed && front + changed;
}

/**
 * Places the documents with the most links on a circle, the one in the middle, if any, in its centre.
 *
 * @param {{nodes: Array<{path: string, title: string}>, edges: Array<{source: string, target: string}>}} graph
 * @param {{middle?: string|null, size?: number}} [options]
 * @returns {{nodes: Array<{path: string, title: string, x: number, y: number}>, edges: Array<{from: object, to: object}>, left: number}} `left`: how
 *   many documents were left out
 */
export function placed({ nodes, edges }, { middle = null, size = 320 } = {}) {
  const degrees = new Map(nodes.map(({ path }) => [path, 0]));
  for (const { source, target } of edges) for (const end of [source, target]) if (degrees.has(end)) degrees.set(end, degrees.get(end) + 1);
  const ranked = [...nodes].sort((one, other) => degrees.get(other.path) - degrees.get(one.path)).filter(({ path }) => path === middle || degrees.get(path) > 0);
  const shown = ranked.slice(0, MOST_IN_GRAPH);
  const ring = shown.filter(({ path }) => path !== middle).sort((one, other) => (one.path < other.path ? -1 : 1));
  const places = new Map(ring.map((node, number) => {
    const angle = (2 * Math.PI * number) / ring.length - Math.PI / 2;
    const at = (turn) => Math.round(size / 2 + size * 0.36 * turn);
    return [node.path, { ...node, x: at(Math.cos(angle)), y: at(Math.sin(angle)) }];
  }));
  const centre = shown.find(({ path }) => path === middle);
  if (centre) places.set(middle, { ...centre, x: size / 2, y: size / 2 });
  const lines = edges.filter(({ source, target }) => source !== target && places.has(source) && places.has(target));
  return {
    nodes: [...places.values()], left: nodes.length - places.size,
    edges: lines.map(({ source, target }) => ({ from: places.get(source), to: places.get(target) })),
  };
}
