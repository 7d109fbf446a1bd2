import assert from 'node:assert/strict';
import { test } from 'node:test';

import { touchedClaims, withChanges } from '../../interface/static/page/memories/changes_model.js';
import { initialState, isShownBy } from '../../interface/static/page/memories/query_model.js';

const told = (claimIds) => ({ kind: 'memory', change: 'changed', id: claimIds[0] ?? '', fields: { object_type: 'claim', action: 'edit', claim_ids: claimIds } });
const claim = (id, fields = {}) => ({ claim_id: id, friendly_id: `f_${id}`, status: 'active', updated_at: id, ...fields });
const ids = ({ claims }) => claims.map(({ claim_id: id }) => id);

test('memories that are named are asked for alone, unless there are too many', () => {
  assert.deepEqual(touchedClaims([told(['a', 'b']), told(['b'])]), ['a', 'b']);
  assert.equal(touchedClaims([told(['a']), told([])]), null);
  assert.equal(touchedClaims([told(Array.from({ length: 21 }, (_, n) => `c${n}`))]), null);
});

test('a list takes new memories first, changes those it has, and loses those that are gone or belong to it no more', () => {
  const state = initialState();
  const options = { belongs: (each) => isShownBy(state, each), takesNew: true, size: 3 };
  const list = { claims: [claim('c'), claim('b'), claim('a')], total: 7 };
  const after = withChanges(list, new Map([
    ['b', claim('b', { statement: 'new' })], ['d', claim('d')], ['e', claim('e')], ['c', claim('c', { status: 'retracted' })], ['x', null],
  ]), options);
  assert.deepEqual(ids(after), ['e', 'd', 'b']);
  assert.equal(after.claims[2].statement, 'new');
  assert.equal(after.total, 8);
  assert.deepEqual(ids(withChanges(list, new Map([['d', claim('d')]]), { ...options, takesNew: false })), ['c', 'b', 'a']);
});

test('a memory is shown where it passes every filter', () => {
  const some = claim('a', { claim_types: ['fact'], context_domains: ['work'], pinned: true, tags: [{ tag_id: 't', friendly_id: 'tag_t' }], contexts: [] });
  const shown = (filters) => isShownBy({ ...initialState(), ...filters }, some);
  assert.equal(shown({ type: 'fact', domain: 'work', tag: 'tag_t', pinned: 'true' }), true);
  assert.deepEqual([{ type: 'task' }, { tag: 'u' }, { context: 'c' }, { status: 'retracted' }, { claim: 'other' }].map(shown), Array(5).fill(false));
  assert.equal(shown({ group: 'tag_t&work_domain' }), false, 'an id without an ending is none of a group');
  assert.equal(isShownBy({ ...initialState(), group: 'Tea_tag&work_domain' }, { ...some, tags: [{ tag_id: 't', friendly_id: 'tea_tag' }] }), true);
  for (const group of ['tea_tag&home_domain', 'other_tag&work_domain']) {
    assert.equal(isShownBy({ ...initialState(), group }, { ...some, tags: [{ tag_id: 't', friendly_id: 'tea_tag' }] }), false, group);
  }
  assert.equal(shown({ claim: 'f_a', status: 'retracted' }), true, 'one memory is shown whatever it is');
  assert.equal(isShownBy(initialState(), { ...some, status: 'contested' }), true);
});
