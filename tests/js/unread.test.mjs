import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ReadMarks } from '../../interface/static/page/core/browser_storage/unread.js';
import { createMemory, settled } from './fake_kept.mjs';

const [FIRST, SECOND] = ['2026-03-01T10:00:00.000001Z', '2026-03-01T10:00:00.000002Z'];

test('an answer is unread until it is read in some window, in whichever order windows hear of it', async () => {
  const memory = createMemory();
  const [here, there, late] = (await Promise.all([1, 2, 3].map(() => memory.openTab()))).map((kept) => new ReadMarks(kept));
  const heard = [];
  there.follow((id) => heard.push(id));
  here.answered('a', FIRST);
  await settled();
  assert.equal(there.isUnread('a'), true);
  there.read('a');
  await settled();
  assert.equal(here.isUnread('a'), false);
  late.answered('a', FIRST);
  await settled();
  assert.deepEqual([here, there, late].map((marks) => marks.isUnread('a')), [false, false, false], 'what is told late is read already');
  here.answered('a', SECOND);
  await settled();
  assert.deepEqual(late.unread(), ['a']);
  assert.deepEqual(heard, ['a', 'a']);
});

test('marks outlive a reload, and old ones are forgotten', async () => {
  const memory = createMemory();
  const marks = new ReadMarks(await memory.openTab());
  marks.answered('a', FIRST);
  marks.answered('b', SECOND);
  await settled();
  const again = new ReadMarks(await memory.openTab());
  assert.deepEqual(again.unread(), ['a', 'b']);
  again.forget(SECOND);
  await settled();
  assert.deepEqual(again.unread(), ['b']);
  assert.equal(memory.stored.size, 1);
});
