import assert from 'node:assert/strict';
import test from 'node:test';

import { AnswerLostError, followAnswer } from '../../interface/static/page/conversation/turns/answer_stream.js';
import { ApiError } from '../../interface/static/page/core/api.js';

const EVENTS = [
  { seq: 1, references: [] },
  { seq: 2, message_ids: { response_message_id: 'm-2' } },
  { seq: 3, text: 'Hello' },
  { seq: 4, text: ' there' },
  { seq: 5, text: '.' },
  { seq: 6, done: true },
];

/** A response with these events, that breaks after them unless the last is `done`. */
function responseOf(events, { breaks = events.at(-1)?.done !== true } = {}) {
  const lines = events.map((event) => `${JSON.stringify(event)}\n`).join('');
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode(lines));
    },
    pull(controller) {
      if (breaks) controller.error(new TypeError('network error'));
      else controller.close();
    },
  });
  return { body };
}

/** Follows an answer whose watcher is `watch`; what was seen, and the pauses that were made. */
async function follow({ watch, ...options }) {
  const seen = [];
  const pauses = [];
  const watched = [];
  await followAnswer({
    watch: async (messageId, after) => {
      watched.push([messageId, after]);
      return watch(after, watched.length);
    },
    onEvents: (events) => seen.push(...events),
    wait: async (milliseconds) => pauses.push(milliseconds),
    ...options,
  });
  return { seen, pauses, watched };
}

const text = (seen) => seen.map((event) => event.text ?? '').join('');

test('an answer that does not break is handed over as it is', async () => {
  const { seen, watched } = await follow({ response: responseOf(EVENTS), watch: () => assert.fail('watched') });
  assert.deepEqual(seen, EVENTS);
  assert.deepEqual(watched, []);
});

test('a broken connection is taken up again after the last event that was seen', async () => {
  const { seen, watched } = await follow({
    response: responseOf(EVENTS.slice(0, 3)),
    watch: (after) => responseOf(EVENTS.filter(({ seq }) => seq > after)),
  });
  assert.deepEqual(seen, EVENTS);
  assert.deepEqual(watched, [['m-2', 3]]);
});

test('what cannot be shown ends the following, and is not taken for a broken connection', async () => {
  const following = followAnswer({
    response: responseOf(EVENTS),
    watch: () => assert.fail('watched'),
    onEvents: () => {
      throw new TypeError('no such card');
    },
    wait: async () => {},
  });
  await assert.rejects(following, { name: 'NotShownError' });
});

test('nothing is handed over twice when the server repeats itself', async () => {
  const { seen } = await follow({ response: responseOf(EVENTS.slice(0, 4)), watch: () => responseOf(EVENTS) });
  assert.equal(text(seen), 'Hello there.');
  assert.deepEqual(seen, EVENTS);
});

test('however often the connection breaks, the whole text arrives', async () => {
  const { seen, pauses } = await follow({
    messageId: 'm-2',
    watch: (after) => responseOf(EVENTS.filter(({ seq }) => seq > after).slice(0, 1)),
  });
  assert.equal(text(seen), 'Hello there.');
  assert.equal(pauses.length, 5);
});

test('the pauses grow while nothing comes, up to a bound', async () => {
  const { pauses } = await follow({
    messageId: 'm-2',
    watch: (_, attempt) => {
      if (attempt < 9) throw new ApiError({ status: attempt % 2 ? 0 : 503 });
      return responseOf(EVENTS);
    },
  });
  assert.deepEqual(pauses, [400, 800, 1600, 3200, 6400, 8000, 8000, 8000]);
});

test('lines without a number, such as heartbeats, are not handed over', async () => {
  const { seen } = await follow({ response: responseOf([{ heartbeat: true }, ...EVENTS]), watch: () => assert.fail('watched') });
  assert.deepEqual(seen, EVENTS);
});

test('a refusal is final', async () => {
  const gone = new ApiError({ status: 404, code: 'message_not_found' });
  await assert.rejects(follow({ messageId: 'm-2', watch: () => { throw gone; } }), gone);
});

test('a connection that breaks before the answer has an id can not be taken up', async () => {
  await assert.rejects(follow({ response: responseOf(EVENTS.slice(0, 1)), watch: () => assert.fail('watched') }), AnswerLostError);
});

test('a message that is sent again under its id is followed from where it broke', async () => {
  const { seen, watched } = await follow({
    response: responseOf(EVENTS.slice(0, 1)),
    reopen: async () => responseOf(EVENTS),
    watch: () => assert.fail('watched'),
  });
  assert.deepEqual(seen, EVENTS);
  assert.deepEqual(watched, []);
});

test('who leaves is not reconnected', async () => {
  const controller = new AbortController();
  const following = follow({
    messageId: 'm-2',
    signal: controller.signal,
    watch: () => {
      controller.abort();
      throw new TypeError('aborted');
    },
  });
  await assert.rejects(following, { name: 'TypeError' });
});

const signedOut = (seq) => ({ seq, text: '', status: '', error: { code: 'unauthorized', message: 'Please log in.' } });

test('an answer whose session has ended is asked for again, which tells that nobody is logged in', async () => {
  const refused = new ApiError({ status: 401, code: 'unauthorized' });
  const seen = [];
  const following = followAnswer({
    response: responseOf([...EVENTS.slice(0, 3), signedOut(3)], { breaks: false }),
    watch: async (_messageId, after) => {
      assert.equal(after, 3);
      throw refused;
    },
    onEvents: (events) => seen.push(...events),
    wait: async () => {},
  });
  await assert.rejects(following, refused);
  assert.deepEqual(seen, EVENTS.slice(0, 3), 'the answer itself has not failed');
});

test('where somebody has logged in again, as by a new password, the answer goes on', async () => {
  const { seen } = await follow({
    response: responseOf([...EVENTS.slice(0, 3), signedOut(3)], { breaks: false }),
    watch: (after) => responseOf(EVENTS.filter(({ seq }) => seq > after)),
  });
  assert.deepEqual(seen, EVENTS);
});
