import { documentStrings } from '../strings/en/documents.js';
import { element } from '../ui/dom.js';
import { placed } from './documents_model.js';

const words = documentStrings;
const SVG = 'http://www.w3.org/2000/svg';
const SIZE = 320;
const LONGEST = 18;

function shape(name, attributes, ...children) {
  const node = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, String(value));
  node.append(...children);
  return node;
}

/**
 * The links between documents as a picture. Each document is a link of the page.
 *
 * @param {{nodes: object[], edges: object[]}} graph
 * @param {{middle?: string|null, addressOf: (path: string) => string, onOpen: (path: string) => void}} options
 */
export function graphPicture(graph, { middle = null, addressOf, onOpen }) {
  const { nodes, edges, left } = placed(graph, { middle, size: SIZE });
  const lines = edges.map(({ from, to }) => shape('line', { x1: from.x, y1: from.y, x2: to.x, y2: to.y, class: 'graph-edge' }));
  const points = nodes.map(({ path, title, x, y }) => {
    const label = title.length > LONGEST ? `${title.slice(0, LONGEST - 1)}…` : title;
    const link = shape('a', { href: addressOf(path), class: path === middle ? 'graph-node middle' : 'graph-node' },
      shape('title', {}, title), shape('circle', { cx: x, cy: y, r: 5 }), shape('text', { x, y: y - 9, 'text-anchor': 'middle' }, label));
    link.addEventListener('click', (event) => {
      if (event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      onOpen(path);
    });
    return link;
  });
  const picture = shape('svg', { viewBox: `0 0 ${SIZE} ${SIZE}`, class: 'document-graph', role: 'group', 'aria-label': words.graph }, ...lines, ...points);
  return element('div', {}, picture, left > 0 ? element('p', { class: 'documents-note', text: words.leftOut(left) }) : null);
}
