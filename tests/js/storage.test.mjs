import assert from 'node:assert/strict';
import test from 'node:test';

const stored = new Map();
let isForbidden = false;
const forbid = () => {
  if (isForbidden) throw new DOMException('forbidden', 'SecurityError');
};
globalThis.localStorage = {
  getItem: (key) => (forbid(), stored.get(key) ?? null),
  setItem: (key, value) => (forbid(), stored.set(key, value)),
  removeItem: (key) => (forbid(), stored.delete(key)),
};
const { device, rememberedSwitch, sendsWithEnter } = await import('../../interface/static/page/core/browser_storage/storage.js');

test('Enter sends until the person wants it otherwise, and the device remembers it', () => {
  assert.equal(sendsWithEnter.get(), true);
  sendsWithEnter.set(false);
  assert.equal(sendsWithEnter.get(), false);
  assert.equal(stored.get('anaphora:send-on-enter'), 'off');
  sendsWithEnter.set(true);
  assert.equal(sendsWithEnter.get(), true);
});

test('what another window has changed is seen', () => {
  const one = rememberedSwitch('key', false);
  const other = rememberedSwitch('key', false);
  one.set(true);
  assert.equal(other.get(), true);
});

test('what the browser forbids to keep lives as long as the page', () => {
  device.set('kept', 'before');
  isForbidden = true;
  device.set('kept', 'now');
  device.set('new', 'text');
  assert.deepEqual([device.get('kept'), device.get('new'), device.get('never')], ['now', 'text', null]);
  device.set('new', null);
  assert.equal(device.get('new'), null);
  isForbidden = false;
  device.set('kept', 'again');
  assert.equal(stored.get('kept'), 'again');
});
