import assert from 'node:assert/strict';
import test from 'node:test';

import { TranscriptWindow } from '../../interface/static/page/conversation/transcript/window_model.js';

const range = (from, to) => Array.from({ length: to - from + 1 }, (_, i) => ({ message_id: `m${from + i}`, message_index: from + i }));
const ends = ({ first, last, messages }) => [first?.message_index, last?.message_index, messages.length];

test('a conversation without messages is whole', () => {
  const window = new TranscriptWindow();
  window.replace([], { atEnd: true });
  assert.deepEqual([window.atStart, window.atEnd, window.nextIndex, window.last], [true, true, 1, null]);
});

test('the beginning is reached with message 1, the end when the server says so', () => {
  const window = new TranscriptWindow();
  window.replace(range(951, 1000), { atEnd: true });
  assert.deepEqual([window.atStart, window.atEnd], [false, true]);
  window.replace(range(1, 50), { atEnd: false });
  assert.deepEqual([window.atStart, window.atEnd], [true, false]);
});

test('going up lets go of the end beyond the limit, and going down of the beginning', () => {
  const window = new TranscriptWindow({ limit: 200 });
  window.replace(range(801, 1000), { atEnd: true });
  window.addOlder(range(751, 800));
  assert.deepEqual([...ends(window), window.atEnd], [751, 950, 200, false]);
  window.addNewer(range(951, 1000), { atEnd: true });
  assert.deepEqual([...ends(window), window.atStart, window.atEnd], [801, 1000, 200, false, true]);
});

test('reading all of it upwards arrives at the beginning', () => {
  const window = new TranscriptWindow({ limit: 200 });
  window.replace(range(951, 1000), { atEnd: true });
  while (!window.atStart) {
    const { message_index: before } = window.first;
    window.addOlder(range(Math.max(1, before - 50), before - 1));
  }
  assert.deepEqual(ends(window), [1, 200, 200]);
});

test('messages that are there already do not come twice', () => {
  const window = new TranscriptWindow();
  window.replace(range(11, 20), { atEnd: true });
  window.addOlder(range(1, 12));
  window.addNewer(range(20, 21), { atEnd: true });
  assert.deepEqual(window.messages.map((message) => message.message_index), range(1, 21).map((message) => message.message_index));
});

test('nothing before the first message means the beginning, though its number says otherwise', () => {
  const window = new TranscriptWindow();
  window.replace(range(2, 5), { atEnd: true });
  window.addOlder([]);
  assert.equal(window.atStart, true);
});

test('what is written here stands at the end and can be taken back', () => {
  const window = new TranscriptWindow({ limit: 3 });
  window.replace(range(1, 2), { atEnd: true });
  window.push({ message_id: 'new1', message_index: window.nextIndex }, { message_id: 'new2', message_index: 4 });
  assert.deepEqual([...ends(window), window.atStart], [2, 4, 3, false]);
  window.remove((message) => message.message_id.startsWith('new'));
  assert.equal(window.find('new1'), null);
  assert.equal(window.find('m2').message_index, 2);
});

test('what is not kept stays where it stood, and is no number to ask the server by', () => {
  const window = new TranscriptWindow();
  window.replace(range(1, 2), { atEnd: true });
  const unkept = ['q', 'a'].map((message_id, i) => ({ message_id, message_index: 3 + i, kept: false }));
  window.push(...unkept);
  assert.deepEqual([...ends(window), window.nextIndex], [1, 2, 4, 3]);
  window.refresh(range(1, 4), { atEnd: true });
  assert.deepEqual(window.messages.map(({ message_id: id }) => id), ['m1', 'm2', 'q', 'a', 'm3', 'm4']);
  window.refresh(range(2, 4).slice(0, 2), { atEnd: true });
  assert.deepEqual(window.messages.map(({ message_id: id }) => id), ['m2', 'q', 'a', 'm3']);
  window.replace(range(1, 4), { atEnd: true });
  assert.deepEqual(ends(window), [1, 4, 4]);
});

test('what is not kept and still on the server is shown as the server has it', () => {
  const window = new TranscriptWindow();
  window.push({ message_id: 'q', message_index: 1, kept: false });
  const stored = { message_id: 'q', message_index: 1, config: { kept: false } };
  window.refresh([stored], { atEnd: true });
  assert.deepEqual(window.messages, [stored]);
});

test('what was deleted elsewhere while it is changed here stays in its place, as gone', () => {
  const window = new TranscriptWindow();
  window.replace(range(1, 3), { atEnd: true });
  const stays = ({ message_id: id }) => id === 'm2';
  window.refresh([range(1, 1)[0], { ...range(3, 3)[0], message_index: 2 }], { atEnd: true, stays });
  assert.deepEqual(window.messages.map(({ message_id: id, isGone = false }) => [id, isGone]), [['m1', false], ['m2', true], ['m3', false]]);
  assert.deepEqual([window.last.message_id, window.nextIndex], ['m3', 3]);
  window.refresh(range(1, 1), { atEnd: false, stays });
  assert.deepEqual(window.messages.map(({ message_id: id }) => id), ['m1']);
});

test('what is asked instead of a message stands at the end, in its place', () => {
  const window = new TranscriptWindow();
  window.replace(range(51, 100), { atEnd: false });
  window.cutFrom('m60');
  assert.deepEqual([...ends(window), window.atEnd, window.nextIndex], [51, 59, 9, true, 60]);
  window.cutFrom('gone');
  assert.equal(window.messages.length, 9);
});
