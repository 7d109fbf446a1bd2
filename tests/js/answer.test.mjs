import assert from 'node:assert/strict';
import test from 'node:test';

import { AnswerState } from '../../interface/static/page/conversation/turns/answer_model.js';

function stateAfter(...events) {
  const state = new AnswerState();
  events.forEach((event, position) => state.apply({ seq: position + 1, text: '', status: '', ...event }));
  return state;
}

test('the text of an answer is the text of its events', () => {
  assert.equal(stateAfter({ text: 'Hel' }, { text: 'lo' }, { done: true }).text, 'Hello');
});

test('an event that was seen before changes nothing', () => {
  const state = stateAfter({ text: 'a' }, { text: 'b' });
  assert.deepEqual(state.apply({ seq: 2, text: 'b' }), { text: '', changed: [] });
  assert.deepEqual(state.apply({ text: 'no number' }), { text: '', changed: [] });
  assert.equal(state.text, 'ab');
});

test('ids without hashes come first, and what is known is not forgotten', () => {
  const state = stateAfter(
    { message_ids: { user_message_id: 'q', response_message_id: 'a', user_message_short_hash: 'aaa111', response_message_short_hash: null } },
    { message_ids: { user_message_id: 'q', response_message_id: 'a', user_message_short_hash: null, response_message_short_hash: 'bbb222' } },
  );
  assert.equal(state.messageId, 'a');
  assert.equal(state.ids.user_message_short_hash, 'aaa111');
  assert.equal(state.ids.response_message_short_hash, 'bbb222');
});

test('a status lasts until the text goes on', () => {
  const state = stateAfter({ status: 'Reading…' });
  assert.equal(state.status, 'Reading…');
  assert.deepEqual(state.apply({ seq: 2, text: 'So', status: '' }).changed, ['status']);
  assert.equal(state.status, '');
});

test('what one ought to know of an answer lasts longer than a status', () => {
  const part = { id: 1, kind: 'notice', at: 0, text: 'Another answers.' };
  const state = stateAfter({ status: 'Another answers.', part }, { text: 'So' }, { done: true });
  assert.deepEqual([state.status, state.parts], ['', [part]]);
});

test('a part grows by its text, and is replaced by one of the same id', () => {
  const state = stateAfter(
    { part: { id: 1, kind: 'thinking', at: 0, text: 'Hm' } },
    { part_text: { id: 1, text: ', well' } },
    { part: { id: 2, kind: 'tool_call', at: 0, name: 'look' } },
    { part: { id: 2, kind: 'tool_call', at: 0, name: 'look', result: 'found' } },
  );
  assert.deepEqual(state.parts.map(({ text, result }) => text ?? result), ['Hm, well', 'found']);
  assert.equal(state.text, '');
});

test('how an answer ended is said in the words of its stored status', () => {
  assert.equal(stateAfter({ text: 'a' }).outcome, 'streaming');
  for (const status of ['complete', 'cancelled', 'interrupted', 'failed']) {
    assert.equal(stateAfter({ status: 'Stopped.' }, { done: true, answer_status: status }).outcome, status);
  }
});

test('the fields that an event changed are named', () => {
  const state = new AnswerState();
  const references = [{ ref: '@a' }];
  assert.deepEqual(state.apply({ seq: 1, references }).changed, ['references']);
  assert.deepEqual(state.apply({ seq: 2, conversation: { title: 'T' }, usage: { prompt_tokens: 1 } }).changed, ['conversation', 'usage']);
  assert.equal(state.references, references);
});

const begins = (id, title) => ({ answer: { message_id: id, short_id: id, agent: { id: title, title } }, message_id: id });

test('of several answers each has its own text, and the next begins where the one before has ended', () => {
  const state = stateAfter({ message_ids: { response_message_id: 'a' } }, begins('a', 'Cook'), { text: 'Soup.', message_id: 'a' });
  assert.deepEqual([state.text, state.agent.title], ['Soup.', 'Cook']);
  const next = { seq: 4, text: '', status: '', ...begins('b', 'Critic') };
  assert.equal(state.beginsNext(next), true);
  assert.equal(state.beginsNext({ ...next, seq: 2 }), false);
  state.goOn('b');
  state.apply(next);
  state.apply({ seq: 5, text: 'No.', status: '', message_id: 'b' });
  state.apply({ seq: 6, text: '', status: '', done: true, answer_status: 'cancelled' });
  assert.deepEqual([state.text, state.agent.title, state.outcome], ['No.', 'Critic', 'cancelled']);
});

test('whoever comes back in a later answer sees nothing of the answers before in it', () => {
  const state = new AnswerState({ messageId: 'b' });
  const events = [begins('a', 'Cook'), { text: 'Soup.', message_id: 'a' }, begins('b', 'Critic'), { text: 'No.', message_id: 'b' }];
  const nexts = events.map((event, position) => {
    const whole = { seq: position + 1, text: '', status: '', ...event };
    const isNext = state.beginsNext(whole);
    state.apply(whole);
    return isNext;
  });
  assert.deepEqual([state.text, state.agent.title, nexts], ['No.', 'Critic', [false, false, false, false]]);
});
