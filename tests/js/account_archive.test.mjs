import assert from 'node:assert/strict';
import test from 'node:test';

import { createConversationCount, isWhole, received } from '../../interface/static/page/conversation/export/archive_model.js';

const encoder = new TextEncoder();

/** A member of a ZIP: its header, its name, some content. */
function member(name, content = 'deflated') {
  const header = new Uint8Array(30);
  header.set([0x50, 0x4b, 0x03, 0x04]);
  header[26] = name.length % 256;
  header[27] = Math.floor(name.length / 256);
  return [...header, ...encoder.encode(name), ...encoder.encode(content)];
}

const END = [0x50, 0x4b, 0x05, 0x06, ...new Array(18).fill(0)];
const NAMES = ['manifest.json', 'conversations/a.html', 'conversations/a.json', `conversations/${'b'.repeat(300)}.json`, 'documents/conversations/c.json'];
const ZIP = Uint8Array.from([...NAMES.flatMap((name) => member(name, 'PPKP')), ...END]);

/** The bytes in pieces of `size`. */
const cut = (bytes, size) => Array.from({ length: Math.ceil(bytes.length / size) }, (_, place) => bytes.slice(place * size, (place + 1) * size));

test('conversations are counted wherever the network cuts the archive', () => {
  for (const size of [1, 2, 7, 29, 30, 31, 64, ZIP.length]) {
    const countIn = createConversationCount();
    const counts = cut(ZIP, size).map(countIn);
    assert.equal(counts.at(-1), 2, `in pieces of ${size}`);
  }
});

test('an archive comes as it was sent, and tells how far it is', async () => {
  for (const size of [5, 1_000]) {
    const told = [];
    const blob = await received(ReadableStream.from(cut(ZIP, size)), (far) => told.push(far));
    assert.deepEqual(new Uint8Array(await blob.arrayBuffer()), ZIP);
    assert.deepEqual(told.at(-1), { conversations: 2, bytes: ZIP.length });
  }
});

test('an archive that ends before its end is none', async () => {
  for (const length of [0, 10, ZIP.length - 1]) {
    assert.equal(await received(ReadableStream.from(cut(ZIP.slice(0, length), 16)), () => {}), null);
  }
  assert.equal(isWhole(Uint8Array.from(END)), true);
});

test('what breaks off is thrown', async () => {
  const body = new ReadableStream({
    pull(controller) {
      controller.error(new TypeError('network'));
    },
  });
  await assert.rejects(received(body, () => {}), TypeError);
});
