import assert from 'node:assert/strict';
import test from 'node:test';

import { changedTags, createTagState, foldedTag, isTooLong, retag, tagChanges, tagsBack, tagsIn, tagsOfMany } from '../../interface/static/page/sidebar/actions/tags_model.js';

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

test('a box that nobody changed wants nothing, whatever another tab does meanwhile', () => {
  const all = createTagState({ count: 3, total: 3 });
  const some = createTagState({ count: 1, total: 3 });
  assert.deepEqual([all.read(), some.read(), all.isOn(), some.isOn()], [null, null, true, null]);
  for (const state of [all, some]) state.step();
  assert.deepEqual([all.read(), some.read()], [false, true]);
  for (const state of [all, some]) state.step();
  assert.deepEqual([all.read(), some.read()], [null, false]);
  some.step();
  assert.deepEqual([some.read(), some.isOn()], [null, null]);
  // Who writes a tag means it.
  all.tick();
  assert.equal(all.read(), true);
  all.step();
  assert.equal(all.read(), false);
});

test('tags are one where the server takes them for one', () => {
  assert.equal(foldedTag('Straße'), foldedTag('STRASSE'));
  assert.deepEqual(tagsOfMany([{ tags: ['Straße'] }, { tags: ['STRASSE'] }]), [{ tag: 'Straße', count: 2 }]);
});

test('a tag is as long as the server lets it be', () => {
  assert.deepEqual(['x'.repeat(50), '🍅'.repeat(50), 'x'.repeat(51)].map(isTooLong), [false, false, true]);
});

test('on the way back each conversation gets its own spelling', () => {
  assert.deepEqual(tagsBack(TALKS.slice(0, 2), { change: 'untag', tag: 'Garden' }), [
    { change: 'tag', tag: 'Garden', ids: ['a'] }, { change: 'tag', tag: 'garden', ids: ['b'] },
  ]);
  assert.deepEqual(tagsBack(TALKS, { change: 'tag', tag: 'x' }), [{ change: 'untag', tag: 'x', ids: ['a', 'b', 'c'] }]);
});

/** A page whose server answers to the first request for each tag as `failing` says, and to others well. */
function pageFailing(failing) {
  const [asked, ends, agains] = [[], [], []];
  const page = {
    find: (id) => TALKS.find((each) => each.conversation_id === id),
    apply() {},
    onEnd: (back) => ends.push([...back]),
    async change(each, { apply, again }) {
      asked.push([each.change, each.tag, each.ids]);
      const { done = each.ids, error = null } = failing.get(each.tag) ?? {};
      failing.delete(each.tag);
      if (done.length) apply(done);
      const left = each.ids.filter((id) => !done.includes(id));
      if (left.length) agains.push(() => again(left));
      return error;
    },
  };
  return { page, asked, ends, agains };
}

const CHANGES = [{ change: 'untag', tag: 'garden', ids: ['a', 'b'] }, { change: 'tag', tag: 'x', ids: ['c'] }];

test('after an error no other tag is asked for, and another try goes on from there, with the way back of all', async () => {
  const { page, asked, ends, agains } = pageFailing(new Map([['garden', { done: ['a'], error: new Error('lost') }]]));
  await retag(CHANGES, page);
  assert.deepEqual([asked.length, agains.length, ends], [1, 1, [[{ change: 'tag', tag: 'Garden', ids: ['a'] }]]]);
  await agains[0]();
  assert.deepEqual(asked.slice(1), [['untag', 'garden', ['b']], ['tag', 'x', ['c']]]);
  assert.deepEqual(ends[1], [{ change: 'untag', tag: 'x', ids: ['c'] }, { change: 'tag', tag: 'garden', ids: ['b'] }, { change: 'tag', tag: 'Garden', ids: ['a'] }]);
});

test('where the server took the others, a conversation that can have no more tags stops nothing', async () => {
  const { page, asked, agains } = pageFailing(new Map([['garden', { done: ['a'] }]]));
  await retag(CHANGES, page);
  await agains[0]();
  assert.deepEqual(asked.map(([, tag, ids]) => [tag, ids]), [['garden', ['a', 'b']], ['x', ['c']], ['garden', ['b']]]);
});
