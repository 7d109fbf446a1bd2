import assert from 'node:assert/strict';
import test from 'node:test';

import { activityChosen, conversationChosen, isComplete, isOneWord, joinedChosen, meansConversation, memoryChosen, mentionAt, messageChosen, withoutMessagePart } from '../../interface/static/page/composer/suggestions/mention_model.js';

const at = (text) => mentionAt(text, text.length);

/** The text with a choice in the place of what was typed, and the caret behind it. */
const completed = (text, { start, end }, chosen) => ({ text: text.slice(0, start) + chosen + text.slice(end), caret: start + chosen.length });

test('the sign and words ask for everything that has a name', () => {
  assert.deepEqual(at('@'), { kind: 'any', start: 0, end: 1, query: '' });
  assert.deepEqual(at('see @react perf'), { kind: 'any', start: 4, end: 15, query: 'react perf' });
  assert.deepEqual(at('(@data'), { kind: 'any', start: 1, end: 6, query: 'data' });
});

test('a number, an id and its ending ask for everything too', () => {
  for (const query of ['claim_4', '#42', 'prefer_morning_a3f2', 'health_goals_context', 'Conversa']) {
    assert.deepEqual(at(`@${query}`), { kind: 'any', start: 0, end: query.length + 1, query });
  }
});

test('behind a whole id nothing is asked any more', () => {
  for (const text of ['@prefer_morning_a3f2 ', '@claim_42 is', '@#42 and', '@fitness_tag\tx']) assert.equal(at(text), null, text);
  assert.equal(at('@morning workouts').query, 'morning workouts');
});

test('a stroke at the beginning asks for commands, until its word ends', () => {
  assert.deepEqual(at('/'), { kind: 'command', start: 0, end: 1, query: '' });
  assert.deepEqual(at('/Mem'), { kind: 'command', start: 0, end: 4, query: 'mem' });
  for (const text of ['/memory I', ' and/or', 'a /', '/etc/hosts', '/2']) assert.equal(at(text), null, text);
});

test('the prefix asks for the friendly id alone', () => {
  for (const [text, query] of [['@conversation_re', 're'], ['@conv_react_p', 'react_p'], ['@conv', ''], ['@Conversation_X', 'X']]) {
    assert.equal(at(text).query, query);
  }
  assert.equal(at('@conv_react and more'), null);
});

test('after the friendly id the message is asked for', () => {
  assert.deepEqual(at('@conversation_react_p44e_message_'), {
    kind: 'message', start: 0, end: 33, friendlyId: 'react_p44e', query: '',
  });
  assert.deepEqual(at('so @conv_React_p44e_msg_a3'), { kind: 'message', start: 3, end: 26, friendlyId: 'react_p44e', query: 'a3' });
  assert.equal(at('@conversation_message_passing_b4f2_message_3').friendlyId, 'message_passing_b4f2');
});

test('without its message part a reference names the conversation', () => {
  for (const [typed, whole] of [
    ['@conversation_react_p44e_message_', '@conversation_react_p44e'], ['@conv_React_p44e_msg_a3', '@conv_React_p44e'],
    ['@conversation_message_passing_b4f2_message_3', '@conversation_message_passing_b4f2'],
  ]) assert.equal(withoutMessagePart(typed), whole);
});

test('behind a long text the same is found, and none of it is read again for the next letter', (t) => {
  const long = 'some `words` of a long text. '.repeat(7000);
  for (const typed of ['@rea', '#a3f', '[[Doc', '@conversation_a_b4f2_message_x']) {
    const found = at(typed);
    assert.deepEqual(at(`${long} ${typed}`), { ...found, start: found.start + long.length + 1, end: found.end + long.length + 1 }, typed);
  }
  at(`${long} @rea`);
  const reads = t.mock.method(String.prototype, 'match');
  at(`${long} @reac`);
  at(`${long} words`);
  assert.equal(reads.mock.callCount(), 0);
  // What stands before is looked at again where it has changed.
  assert.equal(at(`${long}\n\`\`\`\n @rea`), null);
});

test('what is complete, no reference or long past is left alone', () => {
  for (const text of [
    'mail me@example.org', '@conversation_a_b4f2_message_a3f2b1 ', '@one two three four five', 'a @b\nc', '`@x', '```\n@x', 'nothing', `@${'x'.repeat(80)}`,
  ]) assert.equal(at(text), null, text);
});

test('only what stands before the caret counts', () => {
  assert.deepEqual(mentionAt('@rea and later @data', 4), { kind: 'any', start: 0, end: 4, query: 'rea' });
});

test('a choice takes the place of what was typed', () => {
  const text = 'see @rea, please';
  const conversation = completed(text, mentionAt(text, 8), conversationChosen('react_p44e'));
  assert.equal(conversation.text, 'see @conversation_react_p44e_message_, please');
  const mention = mentionAt(conversation.text, conversation.caret);
  assert.equal(mention.kind, 'message');
  const message = completed(conversation.text, mention, messageChosen(mention.friendlyId, { index: 5, message_short_hash: 'a3f2b1' }));
  assert.equal(message.text, 'see @conversation_react_p44e_message_a3f2b1 , please');
  assert.equal(mentionAt(message.text, message.caret), null);
});

test('a message without a hash is chosen by its number', () => {
  assert.equal(messageChosen('react_p44e', { index: 5, message_short_hash: null }), '@conversation_react_p44e_message_5 ');
});

test('behind a group and the sign that joins, groups are asked for', () => {
  assert.deepEqual(at('by @health_domain&'), { kind: 'group', start: 18, end: 18, query: '' });
  const text = 'by @health_domain&fitness_tag&run';
  assert.deepEqual(at(text), { kind: 'group', start: 30, end: 33, query: 'run' });
  assert.equal(completed(text, at(text), joinedChosen({ friendly_id: 'running_tag' })).text, 'by @health_domain&fitness_tag&running_tag ');
  assert.equal(at('@health_domain&fitness_tag '), null);
  for (const other of ['@anna&', '@a_tag&b_tag&c_tag&d_tag&']) assert.notEqual(at(other)?.kind, 'group', other);
});

test('a chosen memory, context, entity, tag or domain is inserted by its name', () => {
  const text = 'by @heal';
  const { text: now, caret } = completed(text, at(text), memoryChosen({ friendly_id: 'health_goals_context' }));
  assert.deepEqual([now, caret], ['by @health_goals_context ', 25]);
  assert.equal(mentionAt(now, caret), null);
});

test('Enter means no row where several words follow the sign', () => {
  for (const text of ['@anna', '@conv_re', '@conversation_react_p44e_message_x', '/mo']) assert.ok(isOneWord(at(text)), text);
  assert.ok(!isOneWord(at('Ask @Anna about Tuesday')));
});

test('a whole reference lacks nothing', () => {
  for (const name of ['a3f2b1', '12']) assert.ok(isComplete(at(`@conversation_react_p44e_message_${name}`)), name);
  for (const name of ['', 'tom']) assert.ok(!isComplete(at(`@conversation_react_p44e_message_${name}`)), name);
  assert.ok(!isComplete(at('@tomato')));
});

test('a hash sign asks for activities by the beginning of their ids, or a word', () => {
  assert.deepEqual(at('see #'), { kind: 'activity', start: 4, end: 5, query: '' });
  assert.deepEqual(at('(#a1b'), { kind: 'activity', start: 1, end: 5, query: 'a1b' });
  assert.deepEqual(at('@react and #castle'), { kind: 'activity', start: 11, end: 18, query: 'castle' });
  assert.deepEqual(mentionAt('#a1 and more', 3), { kind: 'activity', start: 0, end: 3, query: 'a1' });
  for (const text of ['# Heading', '## ', 'a#b', '`#a', 'x/#part', `#${'a'.repeat(33)}`]) assert.notEqual(at(text)?.kind, 'activity', text);
  assert.equal(at('[[plan#head').kind, 'document');
  assert.equal(at('@#42').kind, 'any');
});

test('Enter takes an activity for the beginning of a short id alone, not for numbers, words and colours', () => {
  for (const text of ['#a', '#a1b2c', '#1f']) assert.ok(isOneWord(at(text)), text);
  for (const text of ['#', '#42', '#todo', '#ff8801', '#add-on']) assert.ok(!isOneWord(at(text)), text);
  assert.equal(activityChosen({ reference: '#a1b2c3' }), '#a1b2c3 ');
});

/** Whether Escape gives up what is typed before the bar. */
function givesUp(marked) {
  const caret = marked.indexOf('|');
  return meansConversation(mentionAt(marked.replace('|', ''), caret), marked.slice(caret + 1));
}

test('Escape means the conversation where nothing, or a word that is no reference, was typed behind it', () => {
  const talk = '@conversation_growing_tomatoes_b4f2';
  for (const marked of [`See ${talk}_message_|`, `${talk}_message_| and more`, `${talk}_msg_watering|\nmore`, `${talk}_message_gießen|`]) {
    assert.ok(givesUp(marked), marked);
  }
  for (const marked of [
    `See ${talk}_message_a3f2b1,| and`, `(${talk}_message_a3f2b1).|`, `See ${talk}_message_a3f|2b1 and`, `${talk}_message_a3f2b1_file_1|`,
    '@conversation_secret_message_p44e|',
    `${talk}_message_a3f|`, `${talk}_message_manure|`, `${talk}_message_12|`, `${talk}_message_watering|, and`, `${talk}_message_|)`, '@conversation_growing|',
  ]) assert.ok(!givesUp(marked), marked);
});
