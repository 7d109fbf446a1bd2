import assert from 'node:assert/strict';
import { test } from 'node:test';

import { Findings, beginningsOf, withShown } from '../../interface/static/page/conversation/find/find_model.js';

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

test('what a text is found in as it is shown stands among what the server found, and is not counted twice', () => {
  const at = (index) => ({ message_id: `m${index}`, message_index: index });
  assert.deepEqual(withShown({ messages: [at(2), at(6)], total: 2 }, [at(4), at(6)]), { messages: [at(2), at(4), at(6)], total: 3 });
  assert.deepEqual(withShown({ messages: [], total: 0 }, [at(1)]), { messages: [at(1)], total: 1 });
  // Of many, the server names the newest: an earlier one may be among those that it counted.
  assert.deepEqual(withShown({ messages: [at(8)], total: 5 }, [at(3), at(9)]), { messages: [at(8), at(9)], total: 6 });
});
