import assert from 'node:assert/strict';
import test from 'node:test';

import { changedTags, tagChanges, tagsIn, tagsOfMany } from '../../interface/static/page/sidebar/actions/tags_model.js';

const TALKS = [
  { conversation_id: 'a', tags: ['Garden', 'zoo'] },
  { conversation_id: 'b', tags: ['garden'] },
  { conversation_id: 'c' },
];

test('tags of several conversations are counted together, whatever their case', () => {
  assert.deepEqual(tagsOfMany(TALKS), [{ tag: 'Garden', count: 2 }, { tag: 'zoo', count: 1 }]);
});

test('what is written is tags with single spaces, without signs', () => {
  assert.deepEqual(tagsIn(' #trip,  summer   time ,, # x，旅行'), ['trip', 'summer time', 'x', '旅行']);
});

test('only those change that lack a tag or have it, and what is taken makes room first', () => {
  assert.deepEqual(tagChanges(TALKS, [{ tag: 'garden', isOn: true }, { tag: 'zoo', isOn: false }, { tag: 'x', isOn: null }, { tag: 'y', isOn: false }]), [
    { change: 'untag', tag: 'zoo', ids: ['a'] },
    { change: 'tag', tag: 'garden', ids: ['c'] },
  ]);
});

test('a conversation has its tags in order after a change', () => {
  assert.deepEqual(changedTags(TALKS[0], { change: 'tag', tag: 'house' }), ['Garden', 'house', 'zoo']);
  assert.deepEqual(changedTags(TALKS[0], { change: 'untag', tag: 'GARDEN' }), ['zoo']);
  assert.deepEqual(changedTags(TALKS[2], { change: 'tag', tag: 'x' }), ['x']);
});
