import assert from 'node:assert/strict';
import { test } from 'node:test';

import { runningTurns, wholeOf } from '../../interface/static/page/core/brief.js';
import { Store } from '../../interface/static/page/core/store.js';

const AT = '2026-03-01T10:00:00.123456Z';
const talk = (id, fields = {}) => ({
  conversation_id: id, title: id, workspace_id: 'w', flag: 'none', message_count: 2, last_updated: '2026-01-01 00:00:00', ...fields,
});
const told = (kind, change, id, fields = {}, more = {}) => ({ seq: 1, kind, change, id, fields, at: AT, ...more });

async function filled({ conversations = [talk('a'), talk('b')], workspaces = [{ workspace_id: 'w', workspace_name: 'W' }], ...options } = {}) {
  const store = new Store(options);
  await store.loadLists(async () => ({ conversations, workspaces }));
  const batches = [];
  store.subscribe((batch) => batches.push(batch));
  return { store, batches };
}

test('a conversation of a brief list gets the values that such a list leaves out', () => {
  const brief = { conversation_id: 'a', title: 'A', updated_at: AT, conversation_friendly_id: 'a_1', workspace_id: 'w', message_count: 2 };
  const usual = { flag: 'none', archived: false, stateless: false, pinned: false, temporary: false, tags: [] };
  assert.deepEqual(wholeOf(brief, 'assistant'), { ...brief, ...usual, domain: 'assistant' });
  const marks = { flag: 'red', archived: true, stateless: true, pinned: true, tags: ['t'] };
  assert.deepEqual(wholeOf({ ...brief, ...marks }, 'assistant'), { ...brief, ...usual, ...marks, domain: 'assistant' });
});

test('what changed together is told once, with what was there before', async () => {
  const { store, batches } = await filled();
  const before = store.conversation('a');
  store.update(() => {
    store.changeConversation('a', { title: 'Bread' });
    store.changeConversation('a', { flag: 'red' });
    store.removeConversation('b');
  });
  assert.equal(batches.length, 1);
  assert.deepEqual([...batches[0].conversations.keys()], ['a', 'b']);
  assert.equal(batches[0].conversations.get('a'), before);
  assert.equal(before.title, 'a', 'what was handed out never changes');
  assert.deepEqual([store.conversation('a').title, store.conversation('a').flag], ['Bread', 'red']);
});

test('what changes nothing is told to nobody', async () => {
  const { store, batches } = await filled();
  store.changeConversation('a', { title: 'a', flag: undefined });
  store.changeConversation('nobody', { title: 'x' });
  store.removeConversation('nobody');
  store.apply([told('conversation', 'changed', 'a', { title: 'a' }), told('conversation', 'gone', 'nobody')]);
  assert.deepEqual(batches, []);
});

test('a selector hears of its own value alone', async () => {
  const { store } = await filled();
  const heard = [];
  const end = store.select((each) => each.conversation('a')?.title, (title) => heard.push(title));
  store.changeConversation('b', { title: 'other' });
  store.changeConversation('a', { flag: 'red' });
  store.changeConversation('a', { title: 'Bread' });
  store.removeConversation('a');
  end();
  store.putConversation(talk('a'));
  assert.deepEqual(heard, ['Bread', undefined]);
});

test('conversations come, change and go as the server tells', async () => {
  const { store, batches } = await filled();
  const rows = Array.from({ length: 300 }, (_, number) => told('conversation', 'created', `n${number}`, { title: 'New', last_updated: 'x' }));
  store.apply(rows);
  assert.equal(store.conversations.size, 302);
  store.apply([told('conversation', 'changed', 'a', { flag: 'red' }), told('conversation', 'changed', 'unknown', { flag: 'red' })]);
  assert.equal(store.conversation('a').flag, 'red');
  assert.equal(store.conversation('unknown'), undefined, 'of what was never listed, one field says too little');
  store.apply(rows.map(({ id }) => told('conversation', 'gone', id)));
  assert.equal(store.conversations.size, 2);
  assert.equal(batches.length, 3);
  store.apply([told('conversation', 'changed', 'back', { title: 'Back', archived: false, last_updated: '2026-01-02 00:00:00' })]);
  assert.equal(store.conversation('back').title, 'Back', 'what comes out of the archive is told whole');
});

test('what a workspace held is where it was moved to', async () => {
  const { store } = await filled({
    conversations: [talk('a', { workspace_id: 'inner' })],
    workspaces: [{ workspace_id: 'w' }, { workspace_id: 'inner', parent_workspace_id: 'w' }, { workspace_id: 'deep', parent_workspace_id: 'inner' }],
  });
  store.apply([told('workspace', 'gone', 'inner', { moved_to: 'w' })]);
  assert.equal(store.conversation('a').workspace_id, 'w');
  assert.deepEqual([...store.workspaces.values()], [{ workspace_id: 'w' }, { workspace_id: 'deep', parent_workspace_id: 'w' }]);
  store.apply([told('workspace', 'created', 'n', { workspace_name: 'N' }), told('workspace', 'changed', 'n', { workspace_name: 'M' })]);
  assert.equal(store.workspaces.get('n').workspace_name, 'M');
});

test('a conversation is answering while one of its turns runs, and unread when it ends unseen', async () => {
  let isSeen = true;
  const { store, batches } = await filled({ isSeen: () => isSeen });
  const where = { conversation_id: 'a' };
  store.open('b');
  store.apply([told('turn', 'created', 'm1', { status: 'streaming', message_count: 4 }, where), told('turn', 'created', 'm2', {}, where)]);
  assert.deepEqual([store.conversation('a').answering, store.conversation('a').message_count], [true, 4]);
  assert.equal(store.conversation('a').last_updated, '2026-03-01 10:00:00');
  store.apply([told('turn', 'changed', 'm1', { status: 'complete' }, where)]);
  assert.equal(store.conversation('a').answering, true);
  store.apply([told('turn', 'changed', 'm2', { status: 'complete' }, where)]);
  assert.deepEqual([store.conversation('a').answering, store.conversation('a').unread], [false, true]);
  assert.equal(batches.at(-1).told.length, 1);
  store.open('a');
  assert.equal(store.conversation('a').unread, false);
  store.apply([told('turn', 'changed', 'm3', { status: 'complete' }, where)]);
  assert.equal(store.conversation('a').unread, false, 'it is open and looked at');
  isSeen = false;
  store.apply([told('turn', 'changed', 'm4', { status: 'complete' }, where)]);
  assert.equal(store.conversation('a').unread, true);
  isSeen = true;
  store.markRead();
  assert.equal(store.conversation('a').unread, false);
});

test('which turns run is forgotten with the changes that were missed', async () => {
  const { store } = await filled();
  store.apply([told('turn', 'created', 'm1', {}, { conversation_id: 'a' })]);
  store.forgetTurns();
  assert.equal(store.conversation('a').answering, false);
});

test('answers that were being written when the page came are in the lists, and end by what is told', async () => {
  const { store } = await filled();
  const turns = runningTurns([{ conversation_id: 'a', running_answers: ['m1'] }, { conversation_id: 'b' }]);
  assert.deepEqual(turns, [['m1', 'a']]);
  await store.loadLists(async () => ({ conversations: [talk('a'), talk('b')], workspaces: [], turns }));
  assert.deepEqual(['a', 'b'].map((id) => Boolean(store.conversation(id).answering)), [true, false]);
  store.apply([told('turn', 'changed', 'm1', { status: 'complete' }, { conversation_id: 'a' })]);
  assert.equal(store.conversation('a').answering, false);
});

test('what changes while lists are on their way is done to them too', async () => {
  const { store } = await filled();
  let answer;
  const loading = store.loadLists(() => new Promise((resolve) => {
    answer = resolve;
  }), ({ archived }) => archived);
  store.apply([told('conversation', 'changed', 'a', { title: 'Bread' }), told('conversation', 'gone', 'b')]);
  store.putConversation(talk('c'));
  store.putConversation(talk('away', { archived: true }));
  answer({ conversations: [talk('a'), talk('b')], workspaces: [] });
  await loading;
  assert.deepEqual([...store.conversations.keys()].sort(), ['a', 'away', 'c']);
  assert.equal(store.conversation('a').title, 'Bread');
});

test('of lists that were asked for twice, the newest answer counts', async () => {
  const { store } = await filled();
  const answers = [];
  const ask = () => store.loadLists(() => new Promise((resolve) => {
    answers.push((...ids) => resolve({ conversations: ids.map((id) => talk(id)), workspaces: [] }));
  }));
  const [first, second] = [ask(), ask()];
  answers[1]('new');
  answers[0]('old');
  await Promise.all([first, second]);
  assert.deepEqual([...store.conversations.keys()], ['new']);
});

test('lists that could not be had leave everything as it is', async () => {
  const { store, batches } = await filled();
  await assert.rejects(store.loadLists(() => Promise.reject(new Error('no'))), /no/);
  store.changeConversation('a', { title: 'Bread' });
  assert.equal(batches.length, 1);
  assert.equal(store.conversations.size, 2);
});

test('conversations that the page deletes itself are known as such', async () => {
  const { store } = await filled();
  const during = await store.removing(['a'], async () => [store.isRemoving('a'), store.isRemoving('b')]);
  assert.deepEqual(during, [true, false]);
  assert.equal(store.isRemoving('a'), false);
});

test('one broken listener does not keep the others from hearing', async () => {
  const { store } = await filled();
  const heard = [];
  const { error } = console;
  console.error = (...args) => heard.push(args[1].message);
  store.subscribe(() => {
    throw new Error('broken');
  });
  store.subscribe(() => heard.push('told'));
  store.changeConversation('a', { title: 'Bread' });
  console.error = error;
  assert.deepEqual(heard, ['broken', 'told']);
});

test('of two conversations on the page both are read, and one is worked in', async () => {
  const { store } = await filled();
  store.open('a');
  store.openBeside('b');
  store.apply([told('turn', 'changed', 'm1', { status: 'complete' }, { conversation_id: 'b' })]);
  assert.equal(store.conversation('b').unread, false);
  assert.deepEqual([store.isShown('b'), store.isShown(null), store.activeId], [true, false, 'a']);
  store.activate(true);
  assert.equal(store.activeId, 'b');
  store.openBeside(null);
  assert.deepEqual([store.isShown('b'), store.activeId], [false, 'a']);
});
