import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createDocumentsApi } from '../../interface/static/page/documents/api.js';
import { pathFrom } from '../../interface/static/page/documents/documents_model.js';
import { emptyReport, importable, isRefusal, joined, portionsOf, refusedWhole } from '../../interface/static/page/documents/importing_model.js';

const file = (path, size = 1) => ({ name: path.split('/').at(-1), webkitRelativePath: path.includes('/') ? path : '', size });
const sizes = (portions) => portions.map((portion) => portion.length);

test('documents and archives of a folder are imported with their paths; all others, hidden ones too, are counted', () => {
  const { wanted, others } = importable(['notes/a.md', 'notes/deep/B.TXT', 'c.markdown', 'all.zip', 'notes/pic.png', 'notes/.obsidian/x.md', '.hidden.md'].map((path) => file(path)));
  assert.deepEqual(wanted.map(({ name }) => name), ['notes/a.md', 'notes/deep/B.TXT', 'c.markdown', 'all.zip']);
  assert.equal(others, 3);
});

test('files are sent in portions by number and size, an archive alone', () => {
  const named = (count, size) => Array.from({ length: count }, (_, at) => ({ name: `${at}.md`, file: { size } }));
  assert.deepEqual(sizes(portionsOf(named(250, 10))), [100, 100, 50]);
  assert.deepEqual(sizes(portionsOf(named(5, 2 * 1024 * 1024))), [2, 2, 1]);
  assert.deepEqual(sizes(portionsOf([...named(1, 1), { name: 'a.zip', file: { size: 1 } }, { name: 'b.zip', file: { size: 1 } }, ...named(2, 1)])), [1, 1, 1, 2]);
  assert.deepEqual(portionsOf([]), []);
});

test('reports become one, and a portion that is refused as a whole is in it', () => {
  const one = { imported: ['a.md'], unchanged: [], refused: [{ path: 'b.md', reason: 'Taken', code: 'conflict' }], passed_over: 2 };
  const whole = refusedWhole([{ name: 'broken.zip' }], { code: 'bad_request', message: 'Damaged' });
  assert.deepEqual(joined(joined(joined(emptyReport(), one), whole), { ...emptyReport(), passed_over: 3 }), { ...one, passed_over: 5, refused: [...one.refused, { path: 'broken.zip', reason: 'Damaged', code: 'bad_request' }] });
  assert.deepEqual([400, 413, 0, 503, 403].map((status) => isRefusal({ status })), [true, true, false, false, false]);
});

test('a path that is typed without an extension keeps the one it had', () => {
  assert.equal(pathFrom('dir/b', 'a.txt'), 'dir/b.txt');
  assert.equal(pathFrom('b.MD', 'a.txt'), 'b.MD');
  assert.equal(pathFrom('new plan'), 'new plan.md');
  assert.equal(pathFrom('v1.2', 'a'), 'v1.2.md');
});

test('a search takes all pages, and asks what texts say once', async () => {
  const asked = [];
  const page = (path, next, found) => ({ documents: [{ path }], in_text: found, next, read_only: false });
  const api = createDocumentsApi({
    async get(_path, { cursor, in_text: inText }) {
      asked.push([cursor, inText]);
      return cursor ? page('b.md', null, []) : page('a.md', 'a.md', [{ path: 'c.md' }]);
    },
  });
  const found = await api.list('word');
  assert.deepEqual(found, { documents: [{ path: 'a.md' }, { path: 'b.md' }], inText: [{ path: 'c.md' }], isReadOnly: false });
  assert.deepEqual(asked, [['', true], ['a.md', false]]);
});
