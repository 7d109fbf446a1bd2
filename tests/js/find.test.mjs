import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Findings, beginningsOf } from '../../interface/static/page/conversation/find/find_model.js';

const messages = [3, 8, 20].map((index) => ({ message_id: `m${index}`, message_index: index }));

test('a text is found in upper and lower case, without overlaps', () => {
  assert.deepEqual(beginningsOf('Water, water; WATER', 'water', 10), [0, 7, 14]);
  assert.deepEqual(beginningsOf('aaaa', 'aa', 10), [0, 2]);
  assert.deepEqual(beginningsOf('aaaa', 'a', 2), [0, 1]);
  assert.deepEqual(beginningsOf('anything', '', 10), []);
});

test('letters whose lower case is longer do not move the places', () => {
  assert.deepEqual(beginningsOf('İİ tea', 'tea', 10), [3]);
});

test('the first message from where one reads on is the current one', () => {
  assert.equal(new Findings(messages, 3, 5).current.message_id, 'm8');
  assert.equal(new Findings(messages, 3, 21).current.message_id, 'm3');
  assert.equal(new Findings([], 0, 1).current, null);
  assert.equal(new Findings([], 0, 1).place, 0);
});

test('after the last comes the first, and the number counts those that are not known', () => {
  const found = new Findings(messages, 13, 20);
  assert.equal(found.place, 13);
  found.step(1);
  assert.equal(found.place, 11);
  found.step(-1);
  assert.equal(found.place, 13);
});
