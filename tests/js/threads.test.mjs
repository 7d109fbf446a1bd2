import assert from 'node:assert/strict';
import { test } from 'node:test';

import { headingOf, nested, recipesOf, wordsOf } from '../../interface/static/page/conversation/threads/threads_model.js';

const activity = (id, replyTo = null, recipe = 'general-discussion') => ({ id, reply_to_id: replyTo, recipe });
const read = (activities) => nested(activities).map(({ activity: { id }, depth }) => `${depth}${id}`);

test('replies stand below what they reply to, siblings in their order', () => {
  const thread = [activity('a'), activity('b', 'a'), activity('c', 'a'), activity('d', 'b'), activity('e', 'c')];
  assert.deepEqual(read(thread), ['0a', '1b', '2d', '1c', '2e']);
});

test('what replies to an activity that is not shown stands at the edge', () => {
  assert.deepEqual(read([activity('c', 'a'), activity('d', 'c'), activity('e', 'gone')]), ['0c', '1d', '0e']);
  assert.deepEqual(read([]), []);
});

test('a long chain is read to its end and indented only so far', () => {
  const chain = Array.from({ length: 20_000 }, (_, number) => activity(`n${number}`, number ? `n${number - 1}` : null));
  const placed = nested(chain);
  assert.equal(placed.length, chain.length);
  assert.equal(placed.at(-1).depth, 6);
});

test('an activity says its text or its words, under its heading', () => {
  assert.equal(wordsOf({ content: 'Hello', words: null }), 'Hello');
  assert.equal(wordsOf({ content: null, words: 'A castle stands.' }), 'A castle stands.');
  assert.equal(wordsOf({ content: null, words: null }), '');
  assert.equal(headingOf({ heading: '🔔 minigame_spawned', by: 'Monitor' }), '🔔 minigame_spawned · Monitor');
  assert.equal(headingOf({ heading: 'Ada', by: null }), 'Ada');
  assert.deepEqual(recipesOf([activity('a'), activity('b', 'a', 'game'), activity('c')]), ['general-discussion', 'game']);
});
