import assert from 'node:assert/strict';
import test from 'node:test';

import { referenceStrings } from '../../interface/static/page/strings/en/references.js';
import { strings } from '../../interface/static/page/strings/en/conversation.js';
import { excerpt } from '../../interface/static/page/core/words/excerpt.js';
import { badgeText, isChangeable, isEmptyAnswer, memoriesUsed, messageReference, senderName } from '../../interface/static/page/conversation/message_model.js';
import { createConversationReferences, createReferenceCache } from '../../interface/static/page/references/cache_model.js';
import { bareReference, entriesByReference, iconOf, isPlainFile, labelOf, permalinkOf, summarise, summaryLine } from '../../interface/static/page/references/report_model.js';

test('badge and reference give the hash, and the number while there is none', () => {
  const message = { message_index: 5, message_short_hash: 'a3f2b1' };
  assert.equal(badgeText(message), '#5 · a3f2b1');
  assert.equal(messageReference('react_p44e', message), '@conversation_react_p44e_message_a3f2b1');
  assert.equal(badgeText({ message_index: 5, message_short_hash: null }), '#5');
  assert.equal(messageReference('react_p44e', { message_index: 5 }), '@conversation_react_p44e_message_5');
});

test('a sender is the person or the model by its name', () => {
  assert.equal(senderName({ sender: 'user' }, strings.sender), 'You');
  assert.equal(senderName({ sender: 'user', source_agent_title: 'Cook' }, strings.sender), 'Cook');
  assert.equal(senderName({ sender: 'model', agent: { title: 'Cook' }, config: { model: 'qwen' } }, strings.sender), 'Cook');
  assert.equal(senderName({ sender: 'model', config: { model: 'qwen' } }, strings.sender), 'qwen');
  assert.equal(senderName({ sender: 'model', model: 'qwen' }, strings.sender), 'qwen');
  assert.equal(senderName({ sender: 'model' }, strings.sender), 'Assistant');
  assert.equal(senderName({ sender: 'model', config: { model: 'none' } }, strings.sender), 'Assistant');
});

test('an answer without words is empty unless it has a file, or waits for a decision', () => {
  const answer = { sender: 'model', status: 'complete', text: '' };
  for (const parts of [undefined, [], [{ kind: 'tool', status: 'done' }]]) assert.equal(isEmptyAnswer({ ...answer, parts }), true);
  for (const part of [{ kind: 'image' }, { kind: 'file' }, { kind: 'tool', status: 'waiting' }]) assert.equal(isEmptyAnswer({ ...answer, parts: [part] }), false);
  for (const other of [{ text: 'Hm.' }, { status: 'streaming' }, { sender: 'user' }]) assert.equal(isEmptyAnswer({ ...answer, ...other }), false);
});

test('an answer has the memories that its settings name, and none where they name none', () => {
  const memories = [{ claim_id: 'id-1', friendly_id: 'tea_a1b2', source: 'pinned' }];
  assert.deepEqual(memoriesUsed({ config: { memories } }), [{ claimId: 'id-1', friendlyId: 'tea_a1b2', source: 'pinned' }]);
  const never = { config: { memories }, status: 'failed', text: '' };
  assert.equal(memoriesUsed({ ...never, text: 'I began' }).length, 1);
  for (const message of [{}, { config: null }, { config: { memories: 'tea' } }, never]) assert.deepEqual(memoriesUsed(message), []);
});

test('an excerpt is one line and never cuts a character in two', () => {
  assert.equal(excerpt(' a\n\n b '), 'a b');
  assert.equal(excerpt('🎈'.repeat(10), 4), '🎈🎈🎈…');
  assert.equal(excerpt('four', 4), 'four');
});

test('the report says in one line how the references fared', () => {
  const entries = [
    { ref: '@a', status: 'resolved' }, { ref: '@b', status: 'not_found' }, { ref: '@c', status: 'not_found' },
    { ref: '@d', status: 'truncated' }, { ref: '@override', status: 'not_found', muted: true },
  ];
  assert.equal(summaryLine(entries, referenceStrings), '4 references · 2 not found · 1 shortened');
  assert.deepEqual(summarise(entries.slice(0, 1)), { total: 1, problems: [], found: 0, files: 0, missing: 0 });
  assert.equal(summaryLine([entries[0]], referenceStrings), '1 reference');
});

test('every status of a report has its words', () => {
  const { problem, status } = referenceStrings;
  for (const name of Object.keys(status)) assert.ok(name === 'resolved' || typeof problem[name](1) === 'string', name);
});

test('entries are found by the name of their reference, conversations in any case', () => {
  assert.equal(bareReference('@Conversation_React_p44e'), 'conversation_react_p44e');
  assert.equal(bareReference('@MyClaim'), 'MyClaim');
  const entry = { ref: '@CONV_React_p44e_message_5' };
  assert.equal(entriesByReference([entry]).get('conv_react_p44e_message_5'), entry);
});

test('a reference is looked up once, however many ask, and again when it is old', async () => {
  let now = 0;
  const asked = [];
  const cache = createReferenceCache(async (ref) => (asked.push(ref), { ref, at: now }), { maxAge: 1000, now: () => now });
  const [one, two] = await Promise.all([cache.get('a'), cache.get('a')]);
  assert.equal(one, two);
  now = 999;
  await cache.get('a');
  assert.deepEqual(asked, ['a']);
  now = 1000;
  assert.equal((await cache.get('a')).at, 1000);
});

test('a short id is looked up in the conversation in which it stands, anything else once for all', async () => {
  const asked = [];
  let here = 'one';
  const references = createConversationReferences({ resolveReference: async (ref, { conversationId }) => asked.push([ref, conversationId]) }, () => here);
  await Promise.all([references.get('#a1b2c3'), references.get('#a1b2c3'), references.get('claim_42')]);
  here = 'two';
  await Promise.all([references.get('#a1b2c3'), references.get('claim_42')]);
  assert.deepEqual(asked, [['#a1b2c3', 'one'], ['claim_42', ''], ['#a1b2c3', 'two']]);
});

test('a short id keeps its sign, in lowercase, and needs no title', () => {
  assert.equal(bareReference('#A1B2C3'), '#a1b2c3');
  assert.equal(bareReference('#12345'), 'claim_12345');
  assert.equal(bareReference('#123456'), '#123456');
  const entry = { ref: '#a1b2c3', kind: 'activity', status: 'resolved', title: 'React', target: { message_id: 'm', message_index: 2 } };
  assert.equal(labelOf(entry), '');
  assert.equal(iconOf(entry), 'chat-square-text');
  assert.equal(iconOf({ ...entry, target: {} }), 'circle');
});

test('a failed look-up is tried again, and a few at most go on at once', async () => {
  let running = 0;
  let most = 0;
  let fails = true;
  const cache = createReferenceCache(async (ref) => {
    running += 1;
    most = Math.max(most, running);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    if (fails && ref === 'r0') throw new Error('away');
    return ref;
  }, { parallel: 3 });
  const refs = Array.from({ length: 10 }, (_, i) => `r${i}`);
  const results = await Promise.allSettled(refs.map((ref) => cache.get(ref)));
  assert.deepEqual(results.map(({ status }) => status), ['rejected', ...Array(9).fill('fulfilled')]);
  assert.equal(most, 3);
  fails = false;
  assert.equal(await cache.get('r0'), 'r0');
});

test('a file and some of its pages are told apart', () => {
  const entry = { kind: 'file', status: 'resolved', title: 'report.pdf', target: { message_index: 5 } };
  assert.equal(labelOf({ ...entry, ref: '@conversation_a_b4f2_message_5_file_1' }), 'report.pdf');
  assert.equal(labelOf({ ...entry, ref: '@conversation_a_b4f2_message_5_file_1_pages_3-3' }), 'report.pdf › page 3');
  assert.equal(labelOf({ ...entry, ref: '@conversation_a_b4f2_message_5_file_1_pages_3-5' }), 'report.pdf › pages 3–5');
  assert.equal(iconOf(entry), 'paperclip');
});

test('files of the message itself are neither found by content nor missing memories', () => {
  const entries = [{ ref: 'file_1', kind: 'file', status: 'resolved', target: {} }, { ref: 'file_2', kind: 'file', status: 'unavailable', target: {} }];
  assert.deepEqual(summarise(entries), { total: 0, problems: [['unavailable', 1]], found: 0, files: 0, missing: 0 });
});

test('a file that went as it is needs no line, one with a remark has one', () => {
  const entry = { ref: 'file_1', kind: 'file', status: 'resolved', notes: [], target: {} };
  assert.equal(isPlainFile(entry), true);
  assert.equal(summaryLine([entry], referenceStrings), '');
  const remarked = { ...entry, notes: ['Its pages are pictures.'] };
  assert.equal(isPlainFile(remarked), false);
  assert.equal(summaryLine([entry, remarked], referenceStrings), '1 file');
  assert.equal(isPlainFile({ ...entry, status: 'unavailable' }), false);
  assert.equal(isPlainFile({ ...entry, ref: '@conversation_a_b4f2_message_5_file_1' }), false);
});

test('questions of the person can be changed once the server has them', () => {
  const question = { sender: 'user', status: 'complete', config: {} };
  assert.equal(isChangeable(question), true);
  const others = [{ sender: 'model' }, { pending: true }, { isGone: true }, { status: 'streaming' }, { kept: false }];
  for (const other of others) assert.equal(isChangeable({ ...question, ...other }), false);
});

test('a kind that the page does not know has the icon and the permalink that the server says, or the ones of any reference', () => {
  const ticket = { kind: 'ticket', status: 'resolved', icon: 'flag', permalink: '/tickets/7' };
  assert.deepEqual([iconOf(ticket), permalinkOf(ticket)], ['flag', '/tickets/7']);
  assert.deepEqual([iconOf({ kind: 'ticket' }), permalinkOf({ kind: 'ticket' })], ['at', null]);
  assert.equal(iconOf({ kind: 'ticket', icon: null }), 'at');
  // What the page knows it shows in its own way; and no link leads to another server.
  assert.deepEqual([iconOf({ kind: 'claim', icon: 'flag' }), permalinkOf({ kind: 'agent', permalink: '/settings#agents' })], ['lightbulb', null]);
  for (const permalink of ['https://elsewhere.example', '//elsewhere.example', '/\\elsewhere.example', 'javascript:alert(1)', '']) {
    assert.equal(permalinkOf({ kind: 'ticket', permalink }), null, permalink);
  }
});
