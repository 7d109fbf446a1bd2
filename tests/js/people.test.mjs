import assert from 'node:assert/strict';
import test from 'node:test';

import { createPeople } from '../../interface/static/page/settings/administration/people_model.js';

const named = (count, prefix = 'person') => Array.from({ length: count }, (_, number) => ({ user_email: `${prefix}-${String(number).padStart(4, '0')}@example.org` }));

/** A server with so many people: answers as ours does, and notes what it was asked. */
function serverOf(people) {
  const asked = [];
  async function ask({ q, limit, cursor }) {
    asked.push({ q, limit, cursor });
    const rest = people.filter(({ user_email: email }) => email.includes(q) && (cursor === null || email > cursor));
    const items = rest.slice(0, limit);
    return { items, cursor: rest.length > items.length ? items.at(-1).user_email : null };
  }
  return { ask, asked };
}

/** A server whose answers come when the test says so. */
function slowServer() {
  const waiting = [];
  return { waiting, ask: (query) => new Promise((resolve, reject) => waiting.push({ query, resolve, reject })) };
}

test('people come page after page, each once', async () => {
  const all = named(120);
  const { ask, asked } = serverOf(all);
  const people = createPeople(ask);
  const lengths = [];
  for (let found = await people.load(''); ; found = await people.more()) {
    lengths.push(found.people.length);
    if (found.cursor === null) {
      assert.deepEqual(found.people, all);
      break;
    }
  }
  assert.deepEqual(lengths, [50, 100, 120]);
  assert.deepEqual(asked.map(({ limit }) => limit), [50, 50, 50]);
});

test('as many as were shown are shown again, and another search begins with its first page', async () => {
  const { ask, asked } = serverOf([...named(700), ...named(60, 'zoe')]);
  const people = createPeople(ask);
  let found = await people.load('');
  while (found.people.length < 600) found = await people.more();
  asked.length = 0;
  assert.equal((await people.load('')).people.length, 600);
  assert.deepEqual(asked.map(({ limit }) => limit), [500, 100]);
  found = await people.load('zoe');
  assert.deepEqual([found.people.length, found.people[0].user_email], [50, 'zoe-0000@example.org']);
  assert.equal((await people.more()).cursor, null);
  assert.deepEqual((await people.load('nobody')).people, []);
});

test('the answer and the failure of an older search change nothing', async () => {
  const { ask, waiting } = slowServer();
  const people = createPeople(ask);
  const [older, failed, newer] = ['z', 'zo', 'zoe'].map((q) => people.load(q));
  waiting[2].resolve({ items: named(1, 'zoe'), cursor: null });
  assert.equal((await newer).q, 'zoe');
  waiting[0].resolve({ items: named(50, 'z'), cursor: 'z' });
  waiting[1].reject(new Error('The server is gone.'));
  assert.deepEqual([await older, await failed], [await newer, await newer]);
});

test('of two presses for more, each person comes once', async () => {
  const { ask } = serverOf(named(120));
  const people = createPeople(ask);
  await people.load('');
  await Promise.all([people.more(), people.more()]);
  const { people: found } = await people.more();
  assert.equal(new Set(found.map(({ user_email: email }) => email)).size, found.length);
});

test('a search that fails is told, and what was shown is still there to go on with', async () => {
  const { ask, waiting } = slowServer();
  const people = createPeople(ask);
  const first = people.load('');
  waiting[0].resolve({ items: named(50), cursor: 'c' });
  await first;
  const lost = people.more();
  waiting[1].reject(new Error('The server is gone.'));
  await assert.rejects(lost, /gone/);
  const again = people.more();
  assert.equal(waiting[2].query.cursor, 'c');
  waiting[2].resolve({ items: named(1, 'z'), cursor: null });
  assert.equal((await again).people.length, 51);
});
