import assert from 'node:assert/strict';
import test from 'node:test';

import { completeMention, conversationChosen, mentionAt, messageChosen } from '../../interface/static/js/models/mention.js';

const at = (text) => mentionAt(text, text.length);

test('the sign and words ask for conversations', () => {
  assert.deepEqual(at('@'), { kind: 'conversation', start: 0, end: 1, query: '' });
  assert.deepEqual(at('see @react perf'), { kind: 'conversation', start: 4, end: 15, query: 'react perf' });
  assert.deepEqual(at('(@data'), { kind: 'conversation', start: 1, end: 6, query: 'data' });
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

test('what is complete, no reference or long past is left alone', () => {
  for (const text of [
    'mail me@example.org', '@conversation_a_b4f2_message_a3f2b1 ', '@one two three four five', 'a @b\nc', '`@x', '```\n@x', 'nothing', `@${'x'.repeat(80)}`,
  ]) assert.equal(at(text), null, text);
});

test('only what stands before the caret counts', () => {
  assert.deepEqual(mentionAt('@rea and later @data', 4), { kind: 'conversation', start: 0, end: 4, query: 'rea' });
});

test('a choice takes the place of what was typed', () => {
  const text = 'see @rea, please';
  const conversation = completeMention(text, mentionAt(text, 8), conversationChosen('react_p44e'));
  assert.equal(conversation.text, 'see @conversation_react_p44e_message_, please');
  const mention = mentionAt(conversation.text, conversation.caret);
  assert.equal(mention.kind, 'message');
  const message = completeMention(conversation.text, mention, messageChosen(mention.friendlyId, { index: 5, message_short_hash: 'a3f2b1' }));
  assert.equal(message.text, 'see @conversation_react_p44e_message_a3f2b1 , please');
  assert.equal(mentionAt(message.text, message.caret), null);
});

test('a message without a hash is chosen by its number', () => {
  assert.equal(messageChosen('react_p44e', { index: 5, message_short_hash: null }), '@conversation_react_p44e_message_5 ');
});
