import assert from 'node:assert/strict';
import test from 'node:test';

const kept = new Map();
globalThis.localStorage = { getItem: (key) => kept.get(key) ?? null, setItem: (key, value) => kept.set(key, value) };
const { sendsOnEnter, setSendsOnEnter } = await import('../../interface/static/page/composer/send_key.js');

test('Enter sends until the person wants it otherwise, and the device remembers it', () => {
  assert.equal(sendsOnEnter(), true);
  setSendsOnEnter(false);
  assert.equal(sendsOnEnter(), false);
  assert.equal(kept.get('anaphora:send-on-enter'), 'off');
  setSendsOnEnter(true);
  assert.equal(sendsOnEnter(), true);
});
