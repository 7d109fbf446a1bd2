import assert from 'node:assert/strict';
import test from 'node:test';

import { ApiError, mayPass } from '../../interface/static/page/core/api.js';
import { Outbox } from '../../interface/static/page/composer/outbox_model.js';
import { createMemory, settled } from './fake_kept.mjs';

const MESSAGE = { conversationId: 'c', beginning: null, text: 'Hi', files: [], attached: [], replyTo: null, fields: {} };
const lost = new ApiError({ message: 'unreachable' });
const busy = new ApiError({ status: 409, code: 'turn_in_progress', message: 'busy' });

/** A tab with an outbox whose server does what `answer(entry, outbox, options)` does. `delivered`: what was sent, `pauses`: retries that wait. */
async function openTab(memory, answer = () => {}, { isAnswering = () => false } = {}) {
  const delivered = [];
  const pauses = [];
  const timers = { setTimeout: (job, pause) => pauses.push({ job, pause }), clearTimeout: () => {} };
  const outbox = new Outbox({
    kept: await memory.openTab(), isAnswering, mayPass, timers, lock: (name, job) => job(),
    async deliver(entry, options) {
      delivered.push(entry);
      await answer(entry, outbox, options);
    },
  });
  return { outbox, delivered, pauses };
}

test('a message is stored before it is sent, under an id of its own, and goes when the server has it', async () => {
  const memory = createMemory();
  const storedThen = [];
  const { outbox, delivered } = await openTab(memory, () => storedThen.push(memory.stored.size));
  await outbox.add(MESSAGE, [['draft', 'c', null]]);
  await outbox.add(MESSAGE);
  assert.deepEqual(storedThen, [1, 1]);
  assert.match(delivered[0].id, /^[0-9a-f]{32}$/);
  assert.notEqual(delivered[0].id, delivered[1].id);
  assert.deepEqual([outbox.entries, memory.stored.size], [[], 0]);
});

test('after a lost response the same message is sent again, also by the next page', async () => {
  const memory = createMemory();
  const first = await openTab(memory, () => { throw lost; });
  await first.outbox.add(MESSAGE);
  assert.equal(first.outbox.stateOf(first.outbox.entries[0]), 'delayed');
  await first.pauses[0].job();
  const later = await openTab(memory);
  await later.outbox.sendAll();
  const ids = [...first.delivered, ...later.delivered].map(({ id }) => id);
  assert.deepEqual([ids.length, new Set(ids).size, memory.stored.size], [3, 1, 0]);
});

test('it waits longer from try to try, as long as the server says, and tries at once with the network back', async () => {
  let failure = lost;
  const { outbox, pauses, delivered } = await openTab(createMemory(), () => { if (failure) throw failure; });
  await outbox.add(MESSAGE);
  await pauses[0].job();
  failure = new ApiError({ status: 429, code: 'rate_limited', message: 'slow', retryAfter: 40 });
  await pauses[1].job();
  assert.deepEqual(pauses.map(({ pause }) => pause), [1000, 2000, 40_000]);
  failure = null;
  await outbox.sendAll();
  assert.deepEqual([outbox.entries.length, delivered.length], [0, 4]);
});

test('what is written during an answer waits for its end, and can be taken back until then', async () => {
  let answering = true;
  const { outbox, delivered } = await openTab(createMemory(), () => {}, { isAnswering: () => answering });
  await outbox.add({ ...MESSAGE, text: 'one' });
  await outbox.add({ ...MESSAGE, text: 'two' });
  assert.deepEqual(outbox.of('c').map((entry) => outbox.stateOf(entry)), ['queued', 'queued']);
  assert.equal(outbox.take(outbox.entries[0].id).text, 'one');
  answering = false;
  await outbox.send('c');
  assert.deepEqual(delivered.map(({ text }) => text), ['two']);
});

test('where another window has an answer written, it is tried until that is done', async () => {
  let failure = busy;
  const { outbox, pauses } = await openTab(createMemory(), () => { if (failure) throw failure; });
  await outbox.add(MESSAGE);
  assert.equal(outbox.stateOf(outbox.entries[0]), 'queued');
  failure = null;
  await pauses[0].job();
  assert.deepEqual(outbox.entries, []);
});

test('what the server refuses stays, says why, and keeps nothing else from being sent', async () => {
  const refusal = new ApiError({ status: 413, code: 'too_large', message: 'Too long.' });
  const { outbox, pauses } = await openTab(createMemory(), ({ text }) => { if (text === 'long') throw refusal; });
  await outbox.add({ ...MESSAGE, text: 'long' });
  await outbox.add({ ...MESSAGE, text: 'short' });
  const [left, ...others] = outbox.entries;
  assert.deepEqual([left.text, left.problem.message, outbox.stateOf(left), others.length, pauses.length], ['long', 'Too long.', 'refused', 0, 0]);
});

test('while one conversation sends, others can', async () => {
  let release;
  const { outbox, delivered } = await openTab(createMemory(), ({ conversationId }) => conversationId === 'c' && new Promise((resolve) => { release = resolve; }));
  const slow = outbox.add(MESSAGE);
  await outbox.add({ ...MESSAGE, conversationId: 'd' });
  assert.deepEqual(delivered.map(({ conversationId }) => conversationId), ['c', 'd']);
  assert.equal(outbox.take(outbox.entries[0].id), null, 'what is being sent for the first time can not be taken back');
  release();
  await slow;
  assert.deepEqual(outbox.entries, []);
});

test('two tabs send a message once', async () => {
  const memory = createMemory();
  const offline = await openTab(memory, () => { throw lost; });
  await offline.outbox.add(MESSAGE);
  const [one, two] = [await openTab(memory), await openTab(memory)];
  await one.outbox.sendAll();
  await two.outbox.sendAll();
  await settled();
  assert.deepEqual([one.delivered.length, two.delivered.length, offline.outbox.entries], [1, 0, []]);
});

test('what was written where there was no conversation goes to the one that comes of it', async () => {
  const { outbox, delivered } = await openTab(createMemory(), async (entry, box) => {
    if (!entry.conversationId) await box.settle(entry.beginning, 'made');
  });
  const nowhere = { ...MESSAGE, conversationId: null, beginning: 'b' };
  const first = outbox.add(nowhere);
  const second = outbox.add({ ...nowhere, text: 'And more' });
  assert.equal(outbox.unsettled, 'b');
  await Promise.all([first, second]);
  await settled();
  assert.deepEqual(delivered.map(({ conversationId, text }) => [conversationId, text]), [[null, 'Hi'], ['made', 'And more']]);
  assert.deepEqual(outbox.entries, []);
});

test('a changed text under an id that the server knows is a message of its own', async () => {
  const { outbox, delivered } = await openTab(createMemory(), ({ id }) => {
    if (id === 'known') throw new ApiError({ status: 409, code: 'conflict' });
  });
  await outbox.add({ ...MESSAGE, id: 'known' });
  assert.deepEqual([delivered.length, delivered[0].id, outbox.entries], [2, 'known', []]);
});

test('what waits for the person is not tried again by itself', async () => {
  const { outbox, pauses } = await openTab(createMemory(), () => { throw new ApiError({ status: 401, code: 'unauthorized', message: 'Please log in.' }); });
  await outbox.add(MESSAGE);
  assert.deepEqual([outbox.stateOf(outbox.entries[0]), pauses.length], ['delayed', 0]);
});

test('a message that is tried again can be taken back meanwhile, and its request is cut off', async () => {
  let answer = () => { throw lost; };
  const signals = [];
  const { outbox, pauses, delivered } = await openTab(createMemory(), (entry, box, { signal }) => {
    signals.push(signal);
    return answer(signal);
  });
  const told = [];
  outbox.follow(() => told.push(outbox.entries.map((entry) => outbox.stateOf(entry)).join()));
  await outbox.add(MESSAGE);
  answer = (signal) => new Promise((resolve, reject) => { signal.addEventListener('abort', () => reject(signal.reason)); });
  const retried = pauses[0].job();
  await settled();
  const [entry] = outbox.entries;
  assert.deepEqual([told.at(-1), outbox.isSending(entry)], ['retrying', true]);
  assert.equal(outbox.take(entry.id), entry);
  // Written once more as it was, it is the same message.
  answer = () => {};
  await Promise.all([retried, outbox.add({ ...MESSAGE, id: entry.id })]);
  await settled();
  assert.deepEqual([signals[1].aborted, delivered.map(({ id }) => id === entry.id), outbox.entries, pauses.length], [true, [true, true, true], [], 1]);
});

test('a message that was taken back and is sent again goes where it belongs by then', async () => {
  const memory = createMemory();
  const delivered = [];
  const locks = new Map();
  const lock = (name, job) => {
    const done = (locks.get(name) ?? Promise.resolve()).then(job);
    locks.set(name, done.catch(() => {}));
    return done;
  };
  const pauses = [];
  let cut = null;
  const outbox = new Outbox({
    kept: await memory.openTab(), isAnswering: () => false, mayPass, lock,
    timers: { setTimeout: (job) => pauses.push(job), clearTimeout: () => {} },
    async deliver(entry, { signal }) {
      delivered.push(entry.conversationId);
      if (delivered.length === 1) throw lost;
      if (delivered.length > 2) return;
      await outbox.settle('b', 'c');
      await new Promise((resolve) => {
        cut = resolve;
      });
      if (signal.aborted) throw new DOMException('cut', 'AbortError');
    },
  });
  await outbox.add({ ...MESSAGE, conversationId: null, beginning: 'b' });
  const tried = pauses[0]();
  await settled();
  const taken = outbox.take(outbox.entries[0].id);
  const again = outbox.add({ ...taken, problem: null });
  await settled();
  cut();
  await Promise.all([tried, again]);
  await settled();
  assert.deepEqual([delivered, outbox.entries], [[null, null, 'c'], []]);
});

test('what a page of an earlier version can not send waits for the next page, and nothing overtakes it', async () => {
  const memory = createMemory();
  const outdated = new ApiError({ status: 404, code: 'page_outdated', message: 'Please reload.' });
  const { outbox, pauses, delivered } = await openTab(memory, ({ text }) => { if (text === 'with a file') throw outdated; });
  await outbox.add({ ...MESSAGE, text: 'with a file' });
  await outbox.add({ ...MESSAGE, text: 'without' });
  assert.deepEqual(outbox.entries.map((entry) => outbox.stateOf(entry)), ['delayed', 'queued']);
  assert.deepEqual([pauses.length, new Set(delivered.map(({ text }) => text))], [0, new Set(['with a file'])]);
  const reloaded = await openTab(memory);
  await reloaded.outbox.sendAll();
  assert.deepEqual([reloaded.delivered.map(({ text }) => text), reloaded.outbox.entries], [['with a file', 'without'], []]);
});
