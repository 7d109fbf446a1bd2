import assert from 'node:assert/strict';
import { test } from 'node:test';

import { planOf } from '../../interface/static/page/conversation/changes_model.js';

const shown = (messages, more = {}) => ({
  find: (id) => messages.find((message) => message.message_id === id) ?? null, atStart: true, isAnswering: false, ...more,
});
const QUESTION = { message_id: 'q', status: 'complete', show_hide: 'show', pinned_at: null, edited_at: null };
const ANSWER = { ...QUESTION, message_id: 'a' };
const change = (kind, how, id, fields = {}) => ({ kind, change: how, id, fields, at: 'now' });
const plan = (changes, more) => {
  const { fields, messages, ...flags } = planOf(changes, shown([QUESTION, ANSWER], more));
  return { fields: Object.fromEntries(fields), messages: [...messages], ...flags };
};
const NOTHING = { fields: {}, messages: [], newer: false, window: false, pins: false };

test('values that are told need no question', () => {
  const told = plan([change('message', 'changed', 'q', { show_hide: 'hide' }), change('message', 'changed', 'q', { pinned: true })]);
  assert.deepEqual(told, { ...NOTHING, fields: { q: { show_hide: 'hide', pinned_at: 'now' } }, pins: true });
});

test('what is shown already needs nothing', () => {
  const told = plan([
    change('message', 'changed', 'q', { show_hide: 'show' }), change('message', 'changed', 'q', { pinned: false }),
    change('message', 'changed', 'elsewhere', { edited_at: 'now' }), change('message', 'gone', 'elsewhere'),
    change('message', 'created', 'q'), change('turn', 'changed', 'a', { status: 'complete' }),
  ]);
  assert.deepEqual(told, NOTHING);
});

test('a message with another text is asked for by itself', () => {
  const told = plan([change('message', 'changed', 'q', { edited_at: 'now' }), change('message', 'changed', 'a', { chosen_variant: 2 })]);
  assert.deepEqual(told, { ...NOTHING, messages: ['q', 'a'] });
});

test('a new turn is looked for behind what is shown, one that is made again in its place', () => {
  assert.deepEqual(plan([change('turn', 'created', 'new', { status: 'streaming' })]), { ...NOTHING, newer: true });
  assert.deepEqual(plan([change('turn', 'created', 'a', { status: 'streaming' })]), { ...NOTHING, messages: ['a'] });
});

test('a turn that the page shows itself is not looked for', () => {
  assert.deepEqual(plan([change('turn', 'created', 'new', { status: 'streaming' })], { isAnswering: true }), NOTHING);
});

test('what came, went or moved changes the order of all', () => {
  for (const told of [
    change('message', 'gone', 'q'), change('message', 'created', 'back'), change('message', 'changed', 'q', { moved: true }),
    change('message', 'changed', 'q', { chosen_branch: 2 }),
  ]) assert.equal(plan([told]).window, true);
  assert.equal(plan([change('message', 'gone', 'earlier')], { atStart: false }).window, true);
});

test('many messages are asked for at once', () => {
  const messages = Array.from({ length: 5 }, (_, number) => ({ ...QUESTION, message_id: `m${number}` }));
  const changes = messages.map(({ message_id: id }) => change('message', 'changed', id, { edited_at: 'now' }));
  assert.equal(planOf(changes, shown(messages)).window, true);
});
