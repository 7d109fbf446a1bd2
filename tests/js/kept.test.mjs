import assert from 'node:assert/strict';
import test from 'node:test';

import { dropForgotten } from '../../interface/static/page/app/forgotten.js';
import { isUploadKept, keepUpload } from '../../interface/static/page/core/browser_storage/draft_uploads.js';
import { openDatabase } from '../../interface/static/page/core/browser_storage/database.js';
import { createDrafts, createEditDrafts } from '../../interface/static/page/core/browser_storage/drafts.js';
import { takeFormerDrafts } from '../../interface/static/page/core/browser_storage/local_storage_drafts.js';
import { Kept, keptIn } from '../../interface/static/page/core/browser_storage/kept.js';
import { createUnwritten } from '../../interface/static/page/core/browser_storage/unwritten.js';
import { createMemory, settled } from './fake_kept.mjs';

const CLAIM = { claim_id: 'c-1', friendly_id: 'prefer_tea_a3f2', statement: 'I prefer tea.' };

test('drafts are kept for each conversation and person, until they are empty', async () => {
  const memory = createMemory();
  const drafts = createDrafts(await memory.openTab('ada'));
  drafts.set('c1', 'half a thought');
  drafts.set(null, '', [CLAIM]);
  drafts.set('c2', '', [], { message_id: 'm1' });
  const later = createDrafts(await memory.openTab('ada'));
  assert.deepEqual([later.get('c1'), later.attached('c1')], ['half a thought', []]);
  assert.deepEqual([later.get(null), later.attached(null), later.isEmpty(null)], ['', [CLAIM], false]);
  assert.deepEqual([later.replyTo('c1'), later.replyTo('c2'), later.isEmpty('c2')], [null, { message_id: 'm1' }, false]);
  later.set('c2', '');
  assert.equal(later.isEmpty('c2'), true);
  assert.equal(createDrafts(await memory.openTab('bob')).get('c1'), '');
  later.set('c1', ' ');
  later.set(null, '', []);
  assert.equal(memory.stored.size, 0);
});

test('what is written in one tab is known in the others', async () => {
  const memory = createMemory();
  const [one, two] = [await memory.openTab(), await memory.openTab()];
  const told = [];
  createDrafts(two).followElsewhere((conversationId) => told.push(conversationId));
  createDrafts(one).set('c1', 'one');
  createDrafts(two).set('c2', 'two');
  await settled();
  assert.deepEqual([createDrafts(one).get('c2'), createDrafts(two).get('c1'), told], ['two', 'one', ['c1']]);
});

test('what is written here is not undone by what was read before', async () => {
  const memory = createMemory();
  const [one, two] = [await memory.openTab(), await memory.openTab()];
  createDrafts(one).set('c1', 'one');
  createDrafts(two).set('c1', 'two');
  await settled();
  assert.equal(createDrafts(two).get('c1'), 'two');
});

test('a long draft is known at once and written every few seconds, in a pause, with what is changed otherwise, and when the page is left', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  const memory = createMemory();
  const puts = t.mock.method(memory.database, 'put');
  const kept = await memory.openTab();
  const drafts = createDrafts(kept);
  const long = 'x'.repeat(200_000);
  const stored = () => memory.stored.get(JSON.stringify(['ada', 'draft', 'c1']))?.text.length;
  // What is pasted is kept as soon as anything.
  drafts.set('c1', long);
  assert.deepEqual([puts.mock.callCount(), stored()], [1, 200_000]);
  for (let key = 1; key <= 20; key += 1) {
    drafts.set('c1', `${long}${'y'.repeat(key)}`);
    t.mock.timers.tick(100);
  }
  assert.deepEqual([puts.mock.callCount(), drafts.get('c1').length], [1, 200_020]);
  // Another tab's older text does not come back meanwhile.
  await kept.fresh('draft', 'c1');
  assert.equal(drafts.get('c1').length, 200_020);
  t.mock.timers.tick(500);
  assert.deepEqual([puts.mock.callCount(), stored()], [2, 200_020]);
  drafts.set('c1', `${long}y`);
  kept.flush();
  kept.flush();
  assert.deepEqual([puts.mock.callCount(), stored()], [3, 200_001]);
  // What becomes short, or is sent, is written at once, and no older text after it.
  drafts.set('c1', `${long}yy`);
  drafts.set('c1', 'short');
  assert.equal(stored(), 5);
  drafts.set('c1', long);
  kept.change(drafts.removal('c1'));
  t.mock.timers.tick(10_000);
  assert.equal(stored(), undefined);
});

test('where nothing can be kept, what is typed lives as long as the page, and that is said', async () => {
  const drafts = createDrafts(await createMemory({ isFull: true }).openTab());
  drafts.set('c1', 'text');
  const files = [{ name: 'a', text: 'one' }];
  assert.equal(await drafts.setFiles('c1', files), false);
  assert.deepEqual([drafts.get('c1'), drafts.files('c1')], ['text', files]);
});

test('files are kept apart from the text, and go with it', async () => {
  const memory = createMemory();
  const drafts = createDrafts(await memory.openTab());
  const files = [{ name: 'a', text: 'x'.repeat(10_000_000) }];
  drafts.set('c1', 'see');
  assert.equal(await drafts.setFiles('c1', files), true);
  const kept = await memory.openTab();
  assert.deepEqual(createDrafts(kept).files('c1'), files);
  await kept.change(createDrafts(kept).removal('c1'));
  assert.equal(memory.stored.size, 0);
});

test('what is typed into a message is kept with the text it began with, until that very text is saved', async () => {
  const memory = createMemory();
  const [edits, elsewhere] = [createEditDrafts(await memory.openTab()), createEditDrafts(await memory.openTab())];
  edits.set('m1', 'new', 'old');
  await settled();
  const { at, ...typed } = elsewhere.get('m1');
  assert.deepEqual([typed, at <= Date.now()], [{ text: 'new', basedOn: 'old' }, true]);
  elsewhere.set('m1', 'newer', 'old');
  await settled();
  edits.drop('m1', 'new');
  assert.equal(edits.get('m1').text, 'newer');
  edits.drop('m1');
  assert.equal(edits.get('m1'), null);
});

test('all that is kept for an account can be removed', async () => {
  const memory = createMemory();
  const [ada, bob] = [await memory.openTab('ada'), await memory.openTab('bob')];
  createDrafts(ada).set('c1', 'text');
  createDrafts(bob).set('c1', 'text');
  await ada.clear();
  assert.deepEqual([createDrafts(ada).get('c1'), createDrafts(bob).get('c1'), memory.stored.size], ['', 'text', 1]);
});

test('files that the server does not have yet are kept one by one, until they are files of the draft', async () => {
  const memory = createMemory();
  const [kept, elsewhere] = [await memory.openTab(), await memory.openTab()];
  const drafts = createDrafts(kept);
  const upload = { id: 'u1', name: 'a.pdf', file: new Blob(['%PDF']), place: 1, problem: 'The server cannot be reached.', share: 0.5, isNew: true };
  assert.equal(await keepUpload(kept, 'c1', upload), true);
  await keepUpload(kept, 'c2', { ...upload, id: 'u2', problem: '' });
  await settled();
  const [{ file, at, ...known }] = createDrafts(await memory.openTab()).uploads('c1');
  assert.deepEqual(known, {
    conversation: 'c1', id: 'u1', name: 'a.pdf', place: 1, problem: 'The server cannot be reached.', isRefused: false,
  });
  assert.equal(await file.text(), '%PDF');
  assert.deepEqual([drafts.isEmpty('c1'), drafts.isEmpty('c3'), await isUploadKept(elsewhere, 'u1')], [false, true, true]);
  await drafts.setFiles('c1', [{ name: 'a.pdf', stored: { attachment_id: '1' } }], ['u1']);
  assert.deepEqual([drafts.uploads('c1'), await isUploadKept(elsewhere, 'u1'), drafts.uploads('c2').length], [[], false, 1]);
});

test('files that the server does not have yet come in the order in which they were chosen', async () => {
  const memory = createMemory();
  const kept = await memory.openTab();
  for (const [id, place] of [['c', 1], ['a', 3], ['b', 2]]) {
    await keepUpload(kept, 'c1', { id, name: `${id}.pdf`, file: new Blob(['%PDF']), place, problem: '' });
  }
  await settled();
  assert.deepEqual(createDrafts(await memory.openTab()).uploads('c1').map(({ id }) => id), ['c', 'b', 'a']);
});

const DAY_MS = 24 * 3600 * 1000;

/** A server that has conversations by their ids alone, whatever their domains; `fails`: with which error it answers for others. */
const serverWith = (there, fails = { code: 'conversation_not_found' }) => ({
  getConversationDetails: async (id) => there.includes(id) || Promise.reject(Object.assign(new Error(), fails)),
});
const nothingShown = { conversation: () => null };

test('old drafts go whose conversations the server has not had for as long as a bin keeps one, and others stay', async () => {
  const kept = await createMemory().openTab();
  const drafts = createDrafts(kept);
  const ids = ['shown', 'of another domain', 'restored', 'gone', null];
  for (const id of ids) drafts.set(id, 'text');
  await drafts.setFiles('gone', [{ name: 'a', text: 'one' }]);
  for (const id of ['gone', 'only a file']) await keepUpload(kept, id, { id: `of ${id}`, name: 'a', file: new Blob(['a']), place: 1, problem: '' });
  const page = { kept, store: { conversation: (id) => (id === 'shown' ? {} : null) } };
  const left = () => [...ids, 'only a file'].map((id) => !drafts.isEmpty(id));
  const lookAfter = (days, api) => dropForgotten({ ...page, api }, Date.now() + days * DAY_MS);
  const inBin = serverWith(['of another domain']);
  await lookAfter(1, serverWith([]));
  await lookAfter(3, inBin);
  await lookAfter(20, serverWith(['of another domain', 'restored']));
  await lookAfter(33, inBin);
  assert.deepEqual(left(), [true, true, true, true, true, true]);
  await lookAfter(35, inBin);
  assert.deepEqual(left(), [true, true, true, false, true, false]);
});

test('a draft of which the server can say nothing stays, and one that was touched since', async () => {
  const kept = await createMemory().openTab();
  const drafts = createDrafts(kept);
  drafts.set('c1', 'text');
  for (const fails of [{ code: 'network_failed' }, { status: 404, code: 'http_404' }, { status: 401, code: 'unauthorized' }]) {
    for (const days of [3, 100]) await dropForgotten({ kept, store: nothingShown, api: serverWith([], fails) }, Date.now() + days * DAY_MS);
  }
  assert.equal(drafts.isEmpty('c1'), false);
  const touching = { getConversationDetails: (id) => kept.set('draft', id, { text: 'now', attached: [], at: Infinity }).then(() => Promise.reject(Object.assign(new Error(), { code: 'conversation_not_found' }))) };
  for (const [days, api] of [[3, serverWith([])], [100, touching]]) await dropForgotten({ kept, store: nothingShown, api }, Date.now() + days * DAY_MS);
  assert.equal(drafts.get('c1'), 'now');
  await keepUpload(kept, 'c1', { id: 'u', name: 'a', file: new Blob(['a']), place: 1, problem: '' });
  kept.set('draft', 'c1', { text: 'old', attached: [], at: Date.now() - 3 * DAY_MS });
  assert.deepEqual(drafts.untouchedSince(Date.now() - DAY_MS), []);
});

test('edits and refused messages of what is gone go like drafts, and what may have its place stays', async () => {
  const kept = await createMemory().openTab();
  const now = Date.now();
  const refused = { conversationId: 'gone', at: now, problem: { code: 'conversation_not_found', isRefused: true } };
  const form = (version) => ({ text: 'typed', version, at: now });
  await kept.change([
    ['draft', 'gone', { text: 'typed', attached: [], at: now }], ['outbox', 'o1', refused], ['outbox', 'o2', refused],
    ['outbox', 'not refused', { ...refused, problem: null }], ['outbox', 'refused where one is', { ...refused, conversationId: 'there' }],
    ['edit', 'gone', { text: 'typed', basedOn: '', at: now }], ['edit', 'of an earlier page', { text: 'typed', basedOn: '' }], ['edit', 'there', { text: 'typed', basedOn: '' }],
    ['form', 'documents:gone.md', form('v')], ['form', 'documents:new.md', form(null)], ['form', 'documents:there.md', form('v')], ['form', 'account', ['typed']],
  ]);
  const answer = (code) => async (id) => id === 'there' || Promise.reject(Object.assign(new Error(), { code }));
  const api = {
    getConversationDetails: answer('conversation_not_found'), listEdits: answer('message_not_found'),
  };
  const left = () => ['draft', 'outbox', 'edit', 'form'].flatMap((kind) => kept.all(kind).map(([id]) => id));
  const before = left();
  for (const days of [3, 20, 33]) await dropForgotten({ kept, store: nothingShown, api }, now + days * DAY_MS);
  assert.deepEqual(left(), before);
  kept.set('edit', 'of an earlier page', { text: 'touched', basedOn: '', at: now + 34 * DAY_MS });
  await dropForgotten({ kept, store: nothingShown, api }, now + 35 * DAY_MS);
  assert.deepEqual(left(), ['not refused', 'refused where one is', 'of an earlier page', 'there', 'documents:gone.md', 'documents:new.md', 'documents:there.md', 'account']);
  assert.deepEqual(kept.all('view'), []);
});

test('what an earlier version kept is taken over once, and nothing newer is lost for it', async () => {
  const kept = await createMemory().openTab('ada');
  createDrafts(kept).set('newer', 'now');
  const storage = {
    'anaphora:drafts:ada': JSON.stringify({ c: 'text', m: { text: '', attached: [CLAIM] }, newer: 'then' }),
    'anaphora:drafts:bob': '{"c": "of bob"}',
    'anaphora:edits:ada': JSON.stringify({ m1: { text: 'new', basedOn: 'old' } }),
    'anaphora:draft-files:ada:c': '[{"name": "a", "text": "one"}]',
    'anaphora.knowledge.ada.many': '"one\\ntwo"',
  };
  const own = (name, value) => Object.defineProperty(storage, name, { value, enumerable: false });
  own('getItem', (key) => storage[key] ?? null);
  own('removeItem', (key) => delete storage[key]);
  await takeFormerDrafts(kept, storage, 'ada');
  const drafts = createDrafts(kept);
  assert.deepEqual([drafts.get('c'), drafts.attached('m'), drafts.get('newer')], ['text', [CLAIM], 'now']);
  assert.deepEqual([drafts.files('c'), createEditDrafts(kept).get('m1').text], [[{ name: 'a', text: 'one' }], 'new']);
  assert.equal(kept.get('form', 'memories:many'), 'one\ntwo');
  assert.deepEqual(Object.keys(storage), ['anaphora:drafts:bob']);
});

test('what a database keeps that opens late comes then, and what was written until then stays', async () => {
  const memory = createMemory();
  const before = await memory.openTab('ada');
  for (const id of ['a', 'b']) await before.set('draft', id, `${id} of before`);
  const page = new Kept({ owner: 'ada', database: memory.database });
  const told = [];
  page.set('draft', 'b', 'b of now');
  page.follow(({ id, isElsewhere }) => isElsewhere && told.push(id));
  await page.loadLate();
  assert.deepEqual([page.get('draft', 'a'), page.get('draft', 'b'), told], ['a of before', 'b of now', ['a']]);
});

/** The storage of one window. */
function windowStorage() {
  const values = new Map();
  return { values, get: (key) => values.get(key) ?? null, set: (key, value) => (value === null ? values.delete(key) : values.set(key, value)) };
}

test('what is typed before the database is open outlives a reload, and is written by the next page', async () => {
  const [memory, storage] = [createMemory(), windowStorage()];
  const given = { owner: 'ada', unwritten: createUnwritten(storage) };
  const leaving = await keptIn(new Promise(() => {}), { ...given, isSoon: false });
  leaving.set('form', 'draft', { statement: 'Half' });
  leaving.set('form', 'draft', { statement: 'Half a thought' });
  leaving.set('form', 'gone', { statement: 'No' });
  leaving.set('form', 'gone', null);
  leaving.set('upload', 'file', { file: new Blob(['x']) });
  const next = await keptIn(Promise.resolve(memory.database), { ...given, isSoon: true });
  assert.deepEqual([next.get('form', 'draft'), next.get('form', 'gone'), next.get('upload', 'file')], [{ statement: 'Half a thought' }, null, null]);
  await settled();
  assert.deepEqual([...memory.stored.values()], [{ statement: 'Half a thought' }]);
  assert.equal(storage.values.size, 0);
});

test('what is written late is newer than what stood there, and is another one’s for nobody', async () => {
  const [memory, storage] = [createMemory(), windowStorage()];
  await (await memory.openTab('ada')).set('draft', 'a', 'of before');
  let open;
  const opening = new Promise((resolve) => { open = resolve; });
  const given = { unwritten: createUnwritten(storage) };
  const page = await keptIn(opening, { ...given, owner: 'ada', isSoon: false });
  page.set('draft', 'a', 'of now');
  assert.equal((await keptIn(Promise.resolve(createMemory().database), { ...given, owner: 'bob', isSoon: true })).get('draft', 'a'), null);
  open(memory.database);
  await page.ready();
  await settled();
  assert.deepEqual([page.get('draft', 'a'), [...memory.stored.values()], storage.values.size], ['of now', ['of now'], 0]);
  await page.clear();
  assert.equal(memory.stored.size, 0);
});

/** As much of IndexedDB as one table needs; `close` closes the connection that is open as a browser does, `refuses` is what the next ones say. */
function fakeFactory() {
  const stored = new Map();
  const connections = [];
  const later = (request, name, fields = {}) => queueMicrotask(() => Object.assign(request, fields)[name]?.()) ?? request;
  const factory = { refuses: null, stored, connections };
  factory.open = () => {
    if (factory.refuses) return later({}, 'onerror', { error: factory.refuses });
    const connection = { isClosed: false, close: () => { connection.isClosed = true; } };
    connection.transaction = () => {
      if (connection.isClosed) throw new DOMException('closed', 'InvalidStateError');
      const transaction = { commit: () => {}, error: null };
      queueMicrotask(() => transaction[connection.aborts ? 'onabort' : 'oncomplete']?.());
      const put = (value, key) => connection.aborts || stored.set(JSON.stringify(key), value);
      return Object.assign(transaction, { objectStore: () => ({ put, get: (key) => later({}, 'onsuccess', { result: stored.get(JSON.stringify(key)) }) }) });
    };
    connections.push(connection);
    return later({}, 'onsuccess', { result: connection });
  };
  return factory;
}

/** What an account keeps in the database of `factory`, and how often it was said and taken back that it does not. */
async function keptBy(factory) {
  const said = [];
  const onUnkept = () => {
    said.push('unkept');
    return () => said.push('kept');
  };
  return { said, kept: new Kept({ owner: 'ada', database: await openDatabase(factory), onUnkept }) };
}

test('a connection that the browser closed is opened again, and what was under way is written as it is by then', async () => {
  const factory = fakeFactory();
  const { kept, said } = await keptBy(factory);
  const [first] = factory.connections;
  first.isClosed = true;
  assert.equal(await kept.set('draft', 'a', 'closed unheard'), true);
  factory.connections[1].onversionchange();
  assert.deepEqual([await kept.set('draft', 'b', 'closed for a newer page'), factory.connections.length], [true, 3]);
  factory.connections[2].isClosed = true;
  factory.connections[2].onclose();
  assert.equal(await kept.fresh('draft', 'a'), 'closed unheard');
  factory.connections[3].aborts = true;
  assert.deepEqual(await Promise.all([kept.set('draft', 'a', 'one'), kept.set('draft', 'a', 'two')]), [true, true]);
  assert.deepEqual([[...factory.stored.values()], said], [['two', 'closed for a newer page'], []]);
});

test('what can not be kept is said once, and taken back once something can be', async () => {
  const factory = fakeFactory();
  const { kept, said } = await keptBy(factory);
  factory.connections[0].isClosed = true;
  factory.refuses = new DOMException('no room', 'UnknownError');
  assert.deepEqual([await kept.set('view', 'seen', 1), await kept.set('draft-files', 'a', ['said by who adds them']), said], [false, false, []]);
  assert.deepEqual([await kept.set('draft', 'a', 'one'), await kept.set('draft', 'a', 'two'), said], [false, false, ['unkept']]);
  factory.refuses = null;
  assert.deepEqual([await kept.set('draft', 'a', 'three'), said], [true, ['unkept', 'kept']]);
});

test('a message that was taken back has its id as long as it says and brings the same', async () => {
  const drafts = createDrafts(await createMemory().openTab());
  const said = { text: 'Hi', files: [{ id: 'f1', name: 'a.txt' }], attached: [CLAIM], replyTo: { message_id: 'm1' } };
  drafts.set('c', 'Hi', [CLAIM], said.replyTo);
  drafts.setResend('c', { ...said, id: 'one' });
  assert.equal(drafts.resendId('c', said), 'one');
  const others = [{ text: 'Hi!' }, { files: [] }, { files: [...said.files, { id: 'f2', name: 'b.txt' }] }, { attached: [] }, { replyTo: null }];
  assert.deepEqual(others.map((other) => drafts.resendId('c', { ...said, ...other })), others.map(() => undefined));
});

test('a long draft that comes in the place of something else is written with it, and not some seconds later', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 1_000_000 });
  const memory = createMemory();
  const puts = t.mock.method(memory.database, 'put');
  const drafts = createDrafts(await memory.openTab('ada'));
  const long = 'x'.repeat(30_000);
  const stored = (id) => memory.stored.get(JSON.stringify(['ada', 'draft', id]))?.text.length;
  drafts.set(null, long);
  drafts.set(null, `${long}y`);
  drafts.move(null, 'c1', `${long}y`, [CLAIM]);
  assert.deepEqual([stored(''), stored('c1'), drafts.get('c1').length, drafts.attached('c1')], [undefined, 30_001, 30_001, [CLAIM]]);
  assert.equal(puts.mock.callCount(), 2);
  drafts.setNow('c1', `${long}yy`);
  assert.equal(stored('c1'), 30_002);
  drafts.move('c1', 'c2', '');
  assert.deepEqual([stored('c1'), stored('c2'), drafts.isEmpty('c2')], [undefined, undefined, true]);
});

test('where the clock was set back, a long draft is written at once', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'], now: 100_000_000 });
  const memory = createMemory();
  const drafts = createDrafts(await memory.openTab('ada'));
  const long = 'x'.repeat(30_000);
  drafts.set('c1', long);
  t.mock.timers.setTime(1_000_000);
  drafts.set('c1', `${long}y`);
  assert.equal(memory.stored.get(JSON.stringify(['ada', 'draft', 'c1'])).text.length, 30_001);
});
