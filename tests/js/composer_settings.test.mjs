import assert from 'node:assert/strict';
import test from 'node:test';

import { SEND_ON_ENTER_KEY, sendsOnEnter, setSendsOnEnter } from '../../interface/static/js/lib/composer_settings.js';

test('Enter sends until the person wants it otherwise', () => {
  assert.equal(sendsOnEnter(), true);
  setSendsOnEnter(false);
  assert.equal(sendsOnEnter(), false);
  setSendsOnEnter(true);
  assert.equal(sendsOnEnter(), true);
});

test('the key under which the device remembers it is the documented one', () => {
  assert.equal(SEND_ON_ENTER_KEY, 'anaphora:send-on-enter');
});
