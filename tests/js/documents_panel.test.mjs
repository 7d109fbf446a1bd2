import assert from 'node:assert/strict';
import test from 'node:test';

import { createRenewal } from '../../interface/static/page/core/renewal.js';
import { fateOf, listAfter, mayChangeLinks } from '../../interface/static/page/documents/changes_model.js';
import { brokenOf, countIn, entriesOf, formatDocuments, neighbourhood, parseDocuments, placed, treeOf, withTitle } from '../../interface/static/page/documents/documents_model.js';
import { isMuted } from '../../interface/static/page/references/report_model.js';

test('the address says which document is open, and where in it', () => {
  assert.deepEqual(parseDocuments('?panel=documents'), { path: '', anchor: null });
  assert.equal(parseDocuments('?panel=memories&document=a.md'), null);
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

test('a link to a picture is neither broken nor asked about', () => {
  const [kept, gone, picture] = [
    { wikilink: '[[b|B]]', target: 'b.md', anchor: 'x', is_file: false }, { wikilink: '[[gone]]', target: null, anchor: null, is_file: false },
    { wikilink: '[[picture.png]]', target: null, anchor: null, is_file: true },
  ];
  const entries = entriesOf({ links: [kept, gone, picture] });
  assert.deepEqual(entries.map(({ ref, status, title, target }) => ({ ref, status, title, target })), [
    { ref: '[[b|B]]', status: 'resolved', title: 'B', target: { path: 'b.md', anchor: 'x' } },
    { ref: '[[gone]]', status: 'not_found', title: 'gone', target: {} },
    { ref: '[[picture.png]]', status: 'not_found', title: 'picture.png', target: {} },
  ]);
  assert.deepEqual(entries.map(isMuted), [false, false, true]);
  assert.deepEqual(brokenOf({ links: [kept, gone, picture] }), [gone]);
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

const AT = '2026-05-01T10:00:00+00:00';
const told = (change, id, fields = {}, at = AT) => ({ kind: 'document', change, id, fields, at });
const MANY = told('changed', '*', { count: 50 });

test('the list is what the changes tell, and is asked for where they name no document', () => {
  const list = ['a.md', 'b.md'].map((path) => ({ path, title: path, size: 3 }));
  assert.equal(listAfter(list, [told('changed', 'a.md', { title: 'a.md', version: '2' }), told('gone', 'x.md')]), list);
  const after = listAfter(list, [told('gone', 'b.md'), told('created', 'ab.md', { title: 'New' }), told('changed', 'a.md', { title: 'A' })]);
  assert.deepEqual(after, [{ path: 'a.md', title: 'A', size: 3 }, { path: 'ab.md', title: 'New' }]);
  assert.equal(list.length, 2);
  assert.equal(listAfter(list, [told('gone', 'b.md'), MANY]), null);
});

test('a document that is shown was changed, deleted, renamed, or may be another one', () => {
  const shown = { path: 'a.md', version: '1' };
  const fate = (changes, fresh = changes) => fateOf(shown, changes, fresh);
  assert.equal(fate([told('changed', 'b.md', { version: '1' })]), null);
  assert.deepEqual(fate([told('gone', 'a.md'), told('created', 'a.md', { version: '2' })]), { path: 'a.md', version: '2' });
  assert.deepEqual(fate([told('gone', 'a.md'), told('created', 'b.md', { version: '2' })]), { path: null, version: null });
  assert.deepEqual(fate([MANY]), { path: 'a.md', version: undefined });
  const rename = [told('gone', 'a.md'), told('created', 'dir/b.md', { version: '1' })];
  for (const changes of [rename, rename.toReversed()]) {
    assert.deepEqual(fate(changes), { path: 'dir/b.md', version: '1' });
    assert.deepEqual(fate(changes, changes.slice(1)), { path: 'dir/b.md', version: '1' }, 'the second change comes later');
  }
  assert.deepEqual(fate([told('created', 'copy.md', { version: '1' }, '2026-05-01T09:00:00+00:00'), rename[0]]), { path: null, version: null });
  const again = [told('created', 'a.md', { version: '1' }), told('gone', 'a.md')];
  assert.deepEqual(fate(again), { path: null, version: null }, 'it was created itself a moment ago');
  assert.equal(fate([...rename, told('changed', 'c.md')], [told('changed', 'c.md')]), null, 'what was looked at before does not count again');
});

test('other documents change the links of one that is shown where they may have any', () => {
  const found = { version: '1', links: [{ target: 'b.md' }, { target: null }], backlinks: [{ source: 'c.md' }] };
  for (const change of [told('gone', 'x.md'), told('created', 'x.md', { version: '1' })]) assert.equal(mayChangeLinks(found, [change]), false);
  for (const changes of [[told('gone', 'b.md')], [told('gone', 'c.md')], [told('created', 'x.md')], [MANY]]) assert.equal(mayChangeLinks(found, changes), true);
});

test('what is asked for again and again is done once at a time, and once more', async () => {
  const runs = [];
  const renew = createRenewal(() => new Promise((done) => { runs.push(done); }));
  renew();
  renew();
  renew();
  assert.equal(runs.length, 1);
  runs[0]();
  await new Promise(setImmediate);
  assert.equal(runs.length, 2);
  runs[1]();
  await new Promise(setImmediate);
  assert.equal(runs.length, 2);
  renew();
  assert.equal(runs.length, 3);
});

test('a text gets another title where it says its own one, and only there', () => {
  for (const [text, changed] of [
    ['# Rye\n\nRye and # Rye', '# Wheat\n\nRye and # Rye'],
    ['Baked.\n\n## Rye ##\n', 'Baked.\n\n## Wheat ##\n'],
    ['---\ntags: [a]\ntitle: Rye\n---\n# Rye\n', '---\ntags: [a]\ntitle: "Wheat"\n---\n# Rye\n'],
    ['---\ntitle: "Rye" \n---\n', '---\ntitle: "Wheat" \n---\n'],
    ['---\ntags: [a]\n---\n# Rye', '---\ntags: [a]\n---\n# Wheat'],
    ['# About rye\n# Rye', null],
    ['---\ntitle: Bread\n---\n# Rye', null],
    ['No title of its own', null],
    ['', null],
  ]) assert.equal(withTitle(text, 'Rye', 'Wheat'), changed);
});
