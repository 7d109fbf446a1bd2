import assert from 'node:assert/strict';
import test from 'node:test';

import { countIn, formatDocuments, neighbourhood, parseDocuments, placed, treeOf } from '../../interface/static/page/documents/documents_model.js';

test('the address says which document is open, and where in it', () => {
  assert.deepEqual(parseDocuments('?panel=documents'), { path: '', anchor: null });
  assert.equal(parseDocuments('?panel=knowledge&document=a.md'), null);
  const state = { path: 'dir/a b.md', anchor: 'Über & über' };
  assert.deepEqual(parseDocuments(formatDocuments(state)), state);
  assert.equal(formatDocuments({ path: '' }), '?panel=documents');
});

test('documents stand in their folders', () => {
  const entry = (path) => ({ path, title: path });
  const tree = treeOf(['a.md', 'dir/b.md', 'dir/deep/c.md', 'dir/deep/d.md'].map(entry));
  assert.deepEqual(tree.documents, [entry('a.md')]);
  assert.deepEqual([...tree.folders.keys()], ['dir']);
  assert.equal(countIn(tree.folders.get('dir')), 3);
  assert.equal(countIn(treeOf([])), 0);
});

test('a document stands among those that it links and that link it', () => {
  const link = (fields) => ({ source: 'a.md', source_title: 'A', target: null, ...fields });
  const graph = neighbourhood({
    path: 'a.md', title: 'A', links: [link({ target: 'dir/b.md' }), link({ target: 'dir/b.md' }), link({}), link({ target: 'a.md' })],
    backlinks: [link({ source: 'c.md', source_title: 'C', target: 'a.md' })],
  });
  assert.deepEqual(graph.nodes, [{ path: 'a.md', title: 'A' }, { path: 'dir/b.md', title: 'b' }, { path: 'c.md', title: 'C' }]);
  assert.deepEqual(graph.edges, [{ source: 'a.md', target: 'dir/b.md' }, { source: 'c.md', target: 'a.md' }]);
});

test('a picture shows the documents with the most links, and says how many it leaves out', () => {
  const nodes = Array.from({ length: 60 }, (_, number) => ({ path: `${number}.md`, title: `${number}` }));
  const edges = nodes.slice(1, 50).map(({ path }) => ({ source: '0.md', target: path }));
  const picture = placed({ nodes, edges }, { middle: '0.md' });
  assert.equal(picture.nodes.length, 40);
  assert.equal(picture.left, 20);
  assert.deepEqual(picture.nodes.find(({ path }) => path === '0.md'), { path: '0.md', title: '0', x: 160, y: 160 });
  assert.equal(new Set(picture.nodes.map(({ x, y }) => `${x},${y}`)).size, 40);
  assert.equal(picture.edges.length, 39);
  assert.deepEqual(placed({ nodes: [], edges: [] }), { nodes: [], edges: [], left: 0 });
});
