import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createImportsApi } from '../../interface/static/page/imports/api.js';
import { actionsOf, choiceOf, chosenOf, isDetailed, isUnderWay, isWorking, saysOf, shareOf } from '../../interface/static/page/imports/imports_model.js';
import { importStrings as words } from '../../interface/static/page/strings/en/imports.js';

const given = (fields) => ({
  import_id: 'i', source: 'chatgpt', file_name: 'a.zip', state: 'running', counted: true, conversations: 3, messages: 200, done: 50, imported: 1, updated: 0,
  skipped: 0, failed: 0, error: '', messages_per_second: 25.4, seconds_left: 6, next_try_at: null, ...fields,
});

test('what can be done with an import depends on how far it is', () => {
  assert.deepEqual(actionsOf(given({ state: 'ready' })), ['start', 'cancel']);
  assert.deepEqual(actionsOf(given({ state: 'running' })), ['pause', 'stop']);
  assert.deepEqual(actionsOf(given({ state: 'paused' })), ['resume', 'stop']);
  assert.deepEqual(actionsOf(given({ state: 'done' })), ['report', 'undo', 'forget']);
  assert.deepEqual(actionsOf(given({ state: 'undoing' })), []);
});

test('an import that brought nothing has nothing to take back', () => {
  assert.deepEqual(actionsOf(given({ state: 'failed', imported: 0 })), ['report', 'forget']);
  assert.deepEqual(actionsOf(given({ state: 'cancelled', imported: 0, updated: 1 })), ['undo', 'forget']);
});

test('the server works on what is counted, stored or taken back; a paused import is under way', () => {
  const states = ['counting', 'ready', 'running', 'paused', 'done', 'failed', 'cancelled', 'undoing', 'undone'];
  const those = (holds) => states.filter((state) => holds(given({ state })));
  assert.deepEqual(those(isWorking), ['counting', 'running', 'undoing']);
  assert.deepEqual(those(isUnderWay), ['counting', 'running', 'paused', 'undoing']);
  assert.deepEqual(those(isDetailed), ['ready', 'done', 'failed', 'undone']);
});

test('how far it came is known once the file is counted', () => {
  assert.equal(shareOf(given({})), 0.25);
  assert.equal(shareOf(given({ done: 300 })), 1);
  assert.equal(shareOf(given({ counted: false })), null);
  assert.equal(shareOf(given({ messages: 0 })), null);
  assert.equal(shareOf(given({ state: 'counting' })), null);
});

test('a file without conversations says so instead of counting none', () => {
  const line = (conversations) => words.states.ready({ conversations, messages: 4 });
  assert.equal(line(2), '2 conversations with 4 messages.');
  assert.match(line(0), /no conversations\.$/);
});

test('each state has a line, which says speed and time left while it runs', () => {
  assert.equal(words.states.running(given({})), '50 of 200 messages · 25 a second · about 6 s left');
  assert.equal(words.states.running(given({ counted: false, seconds_left: null })), '50 messages · 25 a second');
  assert.equal(words.states.running(given({ seconds_left: 600 })), '50 of 200 messages · 25 a second · about 10 min left');
  assert.equal(words.states.done(given({ failed: 2 })), 'Done: 1 imported · 2 with problems.');
});

test('an import that could not be stored says why and when it is tried again, while it is under way', () => {
  const later = { next_try_at: '2026-01-01T12:00:00Z', error: 'The disk is full.' };
  assert.equal(saysOf(given({})), 'running');
  assert.equal(saysOf(given(later)), 'waiting');
  assert.equal(saysOf(given({ ...later, state: 'paused' })), 'paused');
  assert.equal(words.states.waiting(given({ ...later, time: '12:00' })), 'It could not be stored, and is tried again at 12:00. The disk is full.');
});

test('all conversations are chosen unless some are left out', () => {
  const all = ['a', 'b'];
  assert.deepEqual(choiceOf({ workspaceId: '', all, chosen: all, mayChoose: true }), {});
  assert.deepEqual(choiceOf({ workspaceId: 'w', all, chosen: ['b'], mayChoose: true }), { workspace_id: 'w', conversations: ['b'] });
  assert.deepEqual(choiceOf({ workspaceId: '', all, chosen: [], mayChoose: false }), {});
});

test('of several dropped files the one that looks like an export is taken', () => {
  const files = [{ name: 'notes.md' }, { name: 'Export.ZIP' }];
  assert.equal(chosenOf(files).name, 'Export.ZIP');
  assert.equal(chosenOf(files.slice(0, 1)).name, 'notes.md');
  assert.equal(chosenOf([...files.slice(0, 1), { name: 'pkb.sqlite' }]).name, 'pkb.sqlite');
  assert.equal(chosenOf([]), null);
});

test('the file itself is the body of its upload', async () => {
  const asked = [];
  const note = (method) => async (...parts) => asked.push([method, ...parts]);
  const imports = createImportsApi({ upload: note('upload'), post: note('post'), get: note('get'), delete: note('delete') });
  const file = { name: 'ä.zip' };
  await imports.send(file, { signal: null });
  await imports.stop('i/1');
  await imports.start('i', { conversations: ['a'] });
  await imports.forget('i');
  assert.deepEqual(asked, [
    ['upload', '/import', file, { query: { name: 'ä.zip' }, signal: null }],
    ['post', '/imports/i%2F1/cancel', {}],
    ['post', '/imports/i/start', { conversations: ['a'] }],
    ['delete', '/imports/i'],
  ]);
});
