import assert from 'node:assert/strict';
import test from 'node:test';

import { createLineParser, ndjsonBatches, StalledError } from '../../interface/static/page/core/ndjson.js';

const encoder = new TextEncoder();

function bodyOf(...chunks) {
  return new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(typeof chunk === 'string' ? encoder.encode(chunk) : chunk);
      controller.close();
    },
  });
}

async function all(body, options) {
  const values = [];
  for await (const batch of ndjsonBatches(body, options)) values.push(...batch);
  return values;
}

test('a value is handed over when its line is complete, however it was cut', () => {
  const seen = [];
  const parser = createLineParser((value) => seen.push(value));
  parser.push('{"a"');
  parser.push(':1}');
  assert.deepEqual(seen, []);
  parser.push('\n{"b":2}\n');
  assert.deepEqual(seen, [{ a: 1 }, { b: 2 }]);
});

test('blank lines and lines that are no JSON are left out', async () => {
  assert.deepEqual(await all(bodyOf('\n{"a":1}\n\n{"half\n{"b":2}')), [{ a: 1 }, { b: 2 }]);
});

test('a character that two chunks share arrives whole', async () => {
  const bytes = encoder.encode('{"text":"größer 🎈"}\n');
  for (let cut = 1; cut < bytes.length; cut += 1) {
    assert.deepEqual(await all(bodyOf(bytes.slice(0, cut), bytes.slice(cut))), [{ text: 'größer 🎈' }]);
  }
});

test('what one chunk brought comes together', async () => {
  const batches = [];
  for await (const batch of ndjsonBatches(bodyOf('{"a":1}\n{"a":2}\n', '{"a":3}\n'))) batches.push(batch.length);
  assert.deepEqual(batches, [2, 1]);
});

test('a connection that says nothing for too long is given up', async () => {
  await assert.rejects(all(new ReadableStream({}), { stalledAfter: 5 }), StalledError);
});

test('leaving early ends the reading', async () => {
  let cancelled = false;
  const body = new ReadableStream({
    pull: (controller) => controller.enqueue(encoder.encode('{"a":1}\n')),
    cancel: () => {
      cancelled = true;
    },
  });
  for await (const batch of ndjsonBatches(body)) {
    assert.equal(batch.length > 0, true);
    break;
  }
  assert.equal(cancelled, true);
});
