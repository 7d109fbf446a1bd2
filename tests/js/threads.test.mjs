import assert from 'node:assert/strict';
import { test } from 'node:test';

import { detailsOf, headingOf, placeOfActivity, excerptOf, replyTarget, wordsOf } from '../../interface/static/page/conversation/activity_model.js';
import { AT_ONCE, isMove, isOfNoMessage, PlacedActivities } from '../../interface/static/page/conversation/transcript/activities_model.js';
import { nested } from '../../interface/static/page/conversation/threads/threads_model.js';

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
  assert.equal(headingOf({ heading: '🔔 minigame_spawned', by: 'Monitor' }, 'You'), '🔔 minigame_spawned · Monitor');
  assert.equal(headingOf({ heading: '🎮 jump', by: 'ada@example.org', actor: { type: 'user' } }, 'You'), '🎮 jump · You');
  assert.equal(headingOf({ heading: '🔔 minigame_spawned', by: null }, 'You'), '🔔 minigame_spawned');
  assert.equal(headingOf({ heading: 'Ada', by: null, is_message: true, actor: { type: 'user' } }, 'You'), 'You');
  assert.equal(headingOf({ heading: 'Designer', by: null, is_message: true, actor: { type: 'agent' } }, 'You'), 'Designer');
  assert.equal(excerptOf({ content: 'I want **20**.' }, 20), 'I want 20.');
  assert.equal(detailsOf({ words: 'A castle stands.', payload: {} }), 'A castle stands.');
  assert.equal(detailsOf({ words: null, payload: { x: 1 } }), '{\n  "x": 1\n}');
});

test('an event of the server is said by its codes; what somebody else calls so is their own text', () => {
  const payload = { description: 'edited', said: [{ code: 'edited', values: {} }] };
  const event = { type: 'system_event', actor: { type: 'system' }, content: null, words: 'edited', payload };
  assert.deepEqual([wordsOf(event), excerptOf(event, 40), detailsOf(event)], ['edited since', 'edited since', 'edited since']);
  assert.equal(wordsOf({ ...event, actor: { type: 'user' } }), 'edited');
  for (const said of ['edited', [null], [{ code: 'unheard_of' }], {}]) assert.equal(wordsOf({ ...event, payload: { said } }), 'edited');
});

test('an activity is replied to by its heading and gone to in its conversation', () => {
  const event = { id: 'e', short_id: 'a1b2c3', conversation_id: 'c', is_message: false, heading: '🔔 spawned', by: null, words: 'It stands.', actor: { type: 'agent' } };
  assert.deepEqual(placeOfActivity(event), { conversation_id: 'c', activity_id: 'e' });
  assert.deepEqual(placeOfActivity({ ...event, is_message: true }), { conversation_id: 'c', message_id: 'e' });
  assert.deepEqual(replyTarget(event), { message_id: 'e', short_id: 'a1b2c3', sender: 'model', text: 'It stands.', config: {}, name: '🔔 spawned' });
  const message = replyTarget({ ...event, is_message: true, content: 'Hi', actor: { type: 'user' } });
  assert.deepEqual([message.sender, message.text, message.name], ['user', 'Hi', undefined]);
});

test('events are told from messages that were posted', () => {
  const change = (type, recipe) => ({ kind: 'activity', fields: { type, recipe } });
  assert.equal(isOfNoMessage(change('chat_message', 'general-discussion')), false);
  assert.equal(isOfNoMessage(change('chat_message', 'game')), true);
  assert.equal(isOfNoMessage({ ...change('system_event', 'system-monitoring'), kind: 'thread' }), false);
});

test('an activity that was moved is one that left, or that came', () => {
  const change = (fields) => ({ kind: 'activity', fields });
  assert.equal(isMove(change({ type: 'system_event', moved_to: 'c2' })), true);
  assert.equal(isMove(change({ type: 'system_event', moved_from: 'c1' })), true);
  assert.equal(isMove(change({ type: 'system_event' })), false);
  assert.equal(isMove({ kind: 'message', fields: { moved: true } }), false);
});

const placed = (seq, behind) => ({ id: `a${seq}`, seq, after_message_id: behind });
const run = (from, to, behind = 'm1') => Array.from({ length: to - from + 1 }, (_, place) => placed(from + place, behind));
const seqs = (places) => [...places].map(([behind, found]) => [behind, found.map(({ seq }) => seq)]);

test('activities stand behind their messages, the first ones where the conversation begins', () => {
  const activities = new PlacedActivities();
  activities.take([placed(1, null), placed(3, 'm1'), placed(4, 'm1'), placed(6, 'm2')], { isWhole: true });
  assert.equal(activities.hasAll, true);
  const messages = [{ message_id: 'm1' }, { message_id: 'm3' }];
  assert.deepEqual(seqs(activities.among(messages, { atStart: true })), [[null, [1]], ['m1', [3, 4]]]);
  assert.deepEqual(seqs(activities.among(messages, { atStart: false })), [['m1', [3, 4]]]);
  activities.take([placed(3, 'm1')], { isWhole: true });
  assert.deepEqual(activities.known.map(({ seq }) => seq), [3]);
  activities.clear();
  assert.deepEqual([activities.isEmpty, activities.hasAll], [true, false]);
});

test('a tool call stands in the answer that made it, and nowhere else', () => {
  const call = (seq, partId, name = 'look') => ({ ...placed(seq, 'm2'), payload: { message_id: 'm2', part_id: partId, name } });
  const posted = { ...placed(7, 'm2'), payload: { name: 'look' } };
  const activities = new PlacedActivities();
  activities.take([call(4, 1), call(5, 2), call(6, 3, 'write'), posted], { isWhole: true });
  const parts = [{ id: 1, kind: 'tool_call', name: 'look' }, { id: 2, kind: 'thinking' }, { id: 3, kind: 'tool_call', name: 'look' }];
  const messages = [{ message_id: 'm1' }, { message_id: 'm2', parts }];
  assert.deepEqual(seqs(activities.among(messages, { atStart: true })), [['m2', [5, 6, 7]]]);
  assert.equal(activities.callerOf('a4', messages), 'm2');
  assert.equal(activities.callerOf('a5', messages), null);
  assert.equal(activities.callerOf('a4', [{ message_id: 'm2' }]), null, 'a variant that called nothing');
  assert.equal(activities.callerOf('a9', messages), null);
});

test('of very many activities a run without gaps is known, and how it begins', () => {
  const activities = new PlacedActivities();
  activities.take(run(1001, 1000 + AT_ONCE), { isWhole: true });
  assert.deepEqual([activities.hasAll, activities.hasEarlier, activities.first.seq], [false, true, 1001]);
  activities.takeEarlier(run(801, 1000));
  assert.deepEqual([activities.hasEarlier, activities.known.length, activities.first.seq], [true, 400, 801]);
  // Some more were posted: what is known goes on.
  activities.take(run(1011, 1010 + AT_ONCE), { isWhole: false });
  assert.deepEqual([activities.hasEarlier, activities.known.length, activities.first.seq], [true, 410, 801]);
  activities.takeEarlier(run(795, 800));
  assert.deepEqual([activities.hasEarlier, activities.first.seq], [false, 795]);
  // So many that there may be others between: the newest alone.
  activities.take(run(5001, 5000 + AT_ONCE), { isWhole: false });
  assert.deepEqual([activities.hasEarlier, activities.known.length, activities.first.seq], [true, AT_ONCE, 5001]);
  activities.take([placed(5100, 'm9')], { isWhole: false });
  assert.equal(activities.hasEarlier, false);
});
