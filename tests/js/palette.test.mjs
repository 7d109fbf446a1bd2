import assert from 'node:assert/strict';
import { test } from 'node:test';

import { matchOf, newestFirst, paletteGroups, withRecent } from '../../interface/static/page/app/palette/palette_model.js';
import { ALSO_ELSEWHERE, COMMANDS } from '../../interface/static/page/composer/commands/commands_model.js';

const entry = (key, label, more = {}) => ({ key, group: key.split(':')[0], icon: 'chat', label, run: () => {}, ...more });
const ENTRIES = [
  entry('conversation:pin', 'Pin'),
  entry('conversation:red', 'Set Flag › Red', { isDeep: true }),
  entry('actions:settings', 'Settings'),
  entry('actions:fork', 'Copy this conversation', { about: '/clear' }),
  entry('conversations:1', 'Seteais, a day trip'),
  entry('conversations:2', 'Café in Porto', { words: 'travel' }),
  entry('settings:people', 'People'),
  entry('search', 'Search everything for “set”'),
];
const shown = (options) => paletteGroups(ENTRIES, options).map(({ group, entries }) => [group, ...entries.map(({ key }) => key)]);

test('what was used lately comes first while nothing is typed, and what lies deeper is not listed', () => {
  assert.deepEqual(shown({ query: '', recent: ['settings:people', 'conversations:2', 'gone:1'] }), [
    ['recent', 'settings:people', 'conversations:2'],
    ['conversations', 'conversations:1'],
    ['conversation', 'conversation:pin'],
    ['actions', 'actions:settings', 'actions:fork'],
  ]);
});

test('groups come by what fits best in them, and the search for everything last', () => {
  assert.deepEqual(shown({ query: 'set', recent: [] }), [
    ['conversation', 'conversation:red'], ['actions', 'actions:settings'], ['conversations', 'conversations:1'], ['search', 'search'],
  ]);
});

test('entries are found by their beginnings, their words, their second lines, with and without accents', () => {
  assert.equal(matchOf(entry('a', 'Café in Porto'), 'cafe'), 0);
  assert.equal(matchOf(entry('a', 'Café in Porto'), 'por caf'), 1);
  assert.equal(matchOf(entry('a', 'Café in Porto'), 'ort'), 2);
  assert.equal(matchOf(entry('a', 'Copy', { about: '/fork' }), '/fork'), 1);
  assert.equal(matchOf(entry('a', 'Copy', { about: '/fork' }), 'fork'), 1);
  assert.equal(matchOf(entry('a', 'Copy', { words: 'travel' }), 'trav'), 1);
  assert.equal(matchOf(entry('a', 'Café in Porto'), 'porto lisbon'), null);
});

test('of hundreds of workspaces to move to, the first are listed', () => {
  const many = Array.from({ length: 300 }, (_, i) => entry(`conversation:to${i}`, `Move to… › Place ${i}`, { isDeep: true }));
  assert.equal(paletteGroups(many, { query: 'place', recent: [] })[0].entries.length, 8);
  assert.deepEqual(paletteGroups(many, { query: '', recent: [] }), []);
});

test('what is used again moves to the front, and only so much is kept', () => {
  assert.deepEqual(withRecent(['a', 'b', 'c'], 'b'), ['b', 'a', 'c']);
  assert.equal(withRecent(Array.from({ length: 30 }, (_, i) => `k${i}`), 'new').length, 20);
});

test('conversations come newest first', () => {
  const times = ['2026-01-02', '2026-03-01', '2026-02-01'].map((at) => ({ updated_at: at }));
  assert.deepEqual(newestFirst(times).map(({ updated_at: at }) => at), ['2026-03-01', '2026-02-01', '2026-01-02']);
});

test('what the palette leaves out of the commands is a command', () => {
  const names = new Set(COMMANDS.map(({ name }) => name));
  for (const name of ALSO_ELSEWHERE) assert.ok(names.has(name), name);
});
