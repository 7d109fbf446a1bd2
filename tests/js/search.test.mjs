import assert from 'node:assert/strict';
import test from 'node:test';

import { createSearchApi } from '../../interface/static/page/search/api.js';
import { foundChosen } from '../../interface/static/page/composer/suggestions/mention_model.js';
import { aboutOther, formatSearch, groupsOf, parseSearch, piecesOf, readablePiecesOf } from '../../interface/static/page/search/search_model.js';

test('the address says what is looked for, and only of this panel', () => {
  assert.equal(parseSearch('?panel=memories&q=rye'), null);
  assert.equal(parseSearch(''), null);
  assert.deepEqual(parseSearch('?panel=search'), { q: '', kind: 'all' });
  for (const state of [{ q: '"rye flour" -white&x=1', kind: 'message' }, { q: '', kind: 'all' }, { q: 'é 🙂', kind: 'memory' }]) {
    assert.deepEqual(parseSearch(formatSearch(state)), state);
  }
  assert.equal(parseSearch('?panel=search&kind=everything').kind, 'all');
  assert.equal(formatSearch({}), '?panel=search');
});

test('a snippet is cut where the server counted, an emoji being one character', () => {
  assert.deepEqual(piecesOf('🙂 rye bread', [[2, 5]]), [
    { text: '🙂 ', isMatch: false }, { text: 'rye', isMatch: true }, { text: ' bread', isMatch: false },
  ]);
  assert.deepEqual(piecesOf('<b>', []), [{ text: '<b>', isMatch: false }]);
  assert.deepEqual(piecesOf('', []), []);
});

test('an excerpt reads without the marks of Markdown, and what was sought stands out in it', () => {
  const shown = (text, ...sought) => {
    const characters = Array.from(text);
    const ranges = sought.map((word) => {
      const begin = Array.from(text.slice(0, text.indexOf(word))).length;
      return [begin, begin + Array.from(word).length];
    });
    assert.ok(ranges.every(([begin, end]) => end <= characters.length));
    return readablePiecesOf(text, ranges).map(({ text: piece, isMatch }) => (isMatch ? `<${piece}>` : piece)).join('');
  };
  assert.equal(shown('# 🙂 Bread and **rye flour** with `salt_1`', 'rye', 'salt'), '🙂 Bread and <rye> flour with <salt>_1');
  assert.equal(shown('Take rye **flour** now', 'rye **flour'), 'Take <rye flour> now');
  assert.equal(shown('See [the *mill*](https://rye.example/mill) here', 'the'), 'See <the> mill here');
  // Only the address says it.
  assert.equal(shown('See [the **mill**](https://rye.example/) here', 'rye'), 'See [the mill](https://<rye>.example/) here');
  assert.equal(shown('1. Sow', '1'), '<1>. Sow');
  assert.equal(shown('def __init__(self, *a, **b)', 'init'), 'def __<init>__(self, *a, **b)');
  assert.deepEqual(readablePiecesOf('**<img src=x onerror=alert(1)>**', []), piecesOf('**<img src=x onerror=alert(1)>**', []));
});

test('pieces are the whole text, whatever the ranges are', () => {
  for (const ranges of [[[0, 99]], [[5, 2]], [[1, 3], [2, 4]], [[9, 12]]]) {
    assert.equal(piecesOf('rye flour', ranges).map(({ text }) => text).join(''), 'rye flour');
  }
});

test('results stand in groups, and a full group of a search of everything leads on', () => {
  const memories = Array.from({ length: 5 }, (_, id) => ({ kind: 'memory', id }));
  const results = [{ kind: 'message' }, ...memories, { kind: 'conversation' }];
  const told = (kind) => groupsOf(results, kind).map((group) => [group.kind, group.results.length, group.hasMore]);
  assert.deepEqual(told('all'), [['conversation', 1, false], ['memory', 5, true], ['message', 1, false]]);
  assert.deepEqual(told('memory')[1], ['memory', 5, false]);
  assert.deepEqual(groupsOf([], 'all'), []);
});

test('what was found by its meaning alone stands behind what says the words', () => {
  const memory = { kind: 'memory', title: 'rye_k3f9', ranges: [] };
  const message = { kind: 'message', ranges: [[0, 3]] };
  const kinds = (results, q) => groupsOf(results, 'all', q).map(({ kind }) => kind);
  assert.deepEqual(kinds([memory, { kind: 'document', ranges: [] }, message], 'rye'), ['message', 'memory', 'document']);
  assert.deepEqual(kinds([memory, { ...memory, ranges: [[0, 3]] }, message], 'rye'), ['memory', 'message']);
  assert.deepEqual(kinds([memory, message], '@rye_k3f9'), ['memory', 'message']);
  assert.deepEqual(kinds([{ kind: 'conversation', ranges: [] }, message], 'rye'), ['conversation', 'message']);
  const file = { kind: 'file', title: 'minutes.txt', reference: '@conversation_bread_k3f9_message_1_file_1', ranges: [] };
  assert.deepEqual(kinds([file, message], 'rye'), ['message', 'file']);
  assert.deepEqual(kinds([{ ...file, ranges: [[0, 3]] }, message], 'rye'), ['file', 'message']);
  for (const name of ['minutes.txt', file.reference]) assert.deepEqual(kinds([file, message], name), ['file', 'message']);
});

test('documents are a group of their own before files, and can be asked for alone', () => {
  const documents = Array.from({ length: 5 }, (_, number) => ({ kind: 'document', path: `${number}.md` }));
  const results = [{ kind: 'file' }, ...documents, { kind: 'message' }];
  assert.deepEqual(groupsOf(results, 'all').map(({ kind, hasMore }) => [kind, hasMore]), [['document', true], ['file', false], ['message', false]]);
  assert.equal(groupsOf(documents, 'document')[0].hasMore, false);
  const state = { q: 'rye', kind: 'document' };
  assert.deepEqual(parseSearch(formatSearch(state)), state);
});

test('results of a kind that the page does not know are shown before messages, as the server tells of them', () => {
  const recipes = Array.from({ length: 6 }, () => ({ kind: 'recipe', title: 'Hot soup', snippet: 'soup', reference: '@recipe_7' }));
  const results = [{ kind: 'conversation' }, ...recipes, { kind: 'message' }, { kind: 'file' }, { kind: 'ticket' }];
  const told = groupsOf(results, 'all').map(({ kind, results: some, hasMore }) => [kind, some.length, hasMore]);
  assert.deepEqual(told, [['conversation', 1, false], ['file', 1, false], ['recipe', 6, false], ['ticket', 1, false], ['message', 1, false]]);
  assert.deepEqual(aboutOther(recipes[0]), { title: 'Hot soup', about: ['@recipe_7'], href: null, target: null, icon: 'at' });
  const shown = aboutOther({ kind: 'recipe', title: 'soup', snippet: 'soup', reference: null, icon: 'bookmark', permalink: '/recipes/7' });
  assert.deepEqual(shown, { title: null, about: [null], href: '/recipes/7', target: null, icon: 'bookmark' });
});

test('the route is asked with what was given', async () => {
  const asked = [];
  const api = createSearchApi({ get: async (...given) => asked.push(given) });
  await api.search('rye', { kind: 'message', limit: 5 }, { signal: null });
  assert.deepEqual(asked, [['/search', { q: 'rye', kind: 'message', limit: 5, cursor: undefined }, { signal: null }]]);
});

test('a message that was found is inserted by its whole reference', () => {
  assert.equal(foundChosen({ reference: '@conversation_bread_k3f9_message_a3f2b1' }), '@conversation_bread_k3f9_message_a3f2b1 ');
});
