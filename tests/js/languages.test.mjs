import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';

import { fill, gaps } from '../../interface/static/page/strings/fill.js';

const folder = new URL('../../interface/static/page/strings/', import.meta.url);
const ENGLISH = 'en';
const languages = readdirSync(folder, { withFileTypes: true }).filter((each) => each.isDirectory()).map(({ name }) => name);
const catalogues = readdirSync(new URL(`${ENGLISH}/`, folder));
// English takes the words of the server's errors, and of what else it says, from the server.
const WITHOUT_ENGLISH = new Set(['errors.js', 'said.js', 'said_imports.js', 'said_later.js']);

const load = (language, catalogue) => import(new URL(`${language}/${catalogue}`, folder));

/** Every word of a catalogue with its path: texts, lists and functions. */
function* wordsOf(group, path = '') {
  for (const [name, value] of Object.entries(group)) {
    if (typeof value === 'object' && !Array.isArray(value)) yield* wordsOf(value, `${path}.${name}`);
    else yield [`${path}.${name}`, value];
  }
}

const shapeOf = (list) => list.map((each) => (Array.isArray(each) ? shapeOf(each) : typeof each));
/** Without the marks between thousands, and in one case. */
const plain = (text) => String(text).replace(/(?<=\d)[.,\s\u00a0\u202f’](?=\d)/gu, '').toLowerCase();
const VALUES = [
  (position) => `value${position}`,
  (position) => 1200 + position,
  (position) => [`value${position}`],
];

/** The positions of the values that a function says, where it takes texts, numbers or lists. */
function said(words) {
  const positions = VALUES.flatMap((valueOf) => {
    const values = Array.from({ length: words.length }, (_, position) => valueOf(position));
    try {
      const text = plain(words(...values));
      return values.flatMap((value, position) => (text.includes(plain(value)) ? [position] : []));
    } catch {
      // It takes no values of this kind.
      return [];
    }
  });
  return [...new Set(positions)].toSorted();
}

test('a translation begins with English, says what is missing, and keeps what English does not have out', () => {
  const before = structuredClone(gaps);
  const english = { one: 'One', group: { two: 'Two', three: () => 'Three' } };
  const own = fill(english, { group: { two: 'Zwei', four: 'Vier' } });
  assert.deepEqual([own.one, own.group.two, own.group.three()], ['One', 'Zwei', 'Three']);
  assert.equal('four' in own.group, false);
  assert.deepEqual(gaps.missing.slice(before.missing.length), ['one', 'group.three']);
  assert.deepEqual(gaps.leftover.slice(before.leftover.length), ['group.four']);
  gaps.missing.length = before.missing.length;
  gaps.leftover.length = before.leftover.length;
});

test('each language has every word that English has, and no other', async () => {
  assert.deepEqual(languages.toSorted(), ['de', ENGLISH, 'es', 'zh-Hans'].toSorted());
  for (const language of languages) {
    assert.deepEqual(readdirSync(new URL(`${language}/`, folder)), catalogues, language);
    for (const catalogue of catalogues) {
      await load(language, catalogue);
      assert.deepEqual(gaps, { missing: [], leftover: [] }, `${language}/${catalogue}`);
    }
  }
});

test('a translation says the values that English says', async () => {
  for (const language of languages) {
    for (const catalogue of catalogues.filter((name) => !WITHOUT_ENGLISH.has(name) && name !== 'count.js')) {
      const [english, own] = await Promise.all([load(ENGLISH, catalogue), load(language, catalogue)]);
      const words = new Map(wordsOf(own));
      for (const [path, value] of wordsOf(english)) {
        const translated = words.get(path);
        const name = `${language}/${catalogue}${path}`;
        assert.equal(typeof translated, typeof value, name);
        if (typeof value === 'function') {
          assert.equal(translated.length, value.length, name);
          assert.deepEqual(said(translated), said(value), name);
        } else if (Array.isArray(value)) assert.deepEqual(shapeOf(translated), shapeOf(value), name);
        else assert.equal(value === '', translated === '', name);
      }
    }
  }
});

test('the errors of the server have words in each language but English, and general ones quote the server', async () => {
  const [german, ...others] = await Promise.all(languages.filter((language) => language !== ENGLISH)
    .map(async (language) => ({ ...(await load(language, 'errors.js')).errorWords, ...(await load(language, 'said_later.js')).laterErrors })));
  for (const code of ['shutting_down', 'conversation_not_found']) assert.ok(code in german);
  for (const words of [german, ...others]) {
    assert.deepEqual(Object.keys(words), Object.keys(german));
    for (const [code, value] of Object.entries(words)) {
      assert.equal(typeof value, typeof german[code], code);
      if (typeof value === 'function') assert.ok(value('A tag has this name.').includes('A tag has this name.'), code);
    }
  }
});

/** The values that words take, written so that they are found in what is said. */
function valuesTaken(words) {
  const taken = {};
  const values = new Proxy({}, { get: (_, name) => { taken[name] = 7000 + Object.keys(taken).length; return taken[name]; } });
  const text = plain(words(values));
  for (const [name, value] of Object.entries(taken)) assert.ok(text.includes(String(value)), `${name} in ${text}`);
  return Object.keys(taken).toSorted();
}

test('what the server says has words in each language but English, which say the same values', async () => {
  const catalogueOf = async (language) => ({ ...(await load(language, 'said.js')).saidWords, ...(await load(language, 'said_later.js')).laterWords });
  const [german, ...others] = await Promise.all(languages.filter((language) => language !== ENGLISH).map(catalogueOf));
  assert.ok('no_conversation' in german);
  for (const words of others) {
    assert.deepEqual(Object.keys(words), Object.keys(german));
    for (const [code, value] of Object.entries(words)) {
      assert.equal(typeof value, typeof german[code], code);
      if (typeof value === 'function') assert.deepEqual(valuesTaken(value), valuesTaken(german[code]), code);
    }
  }
  for (const code of Object.keys(await catalogueOf(ENGLISH))) assert.ok(code in german, code);
});

test('a code has words among those that the page begins with, or among those that it loads later', async () => {
  for (const language of languages) {
    const [{ saidWords, isServersLanguage }, { errorWords }, { laterWords, laterErrors }] = await Promise.all(
      ['said.js', 'errors.js', 'said_later.js'].map((catalogue) => load(language, catalogue)),
    );
    const atOnce = new Set([...Object.keys(saidWords), ...Object.keys(errorWords)]);
    assert.deepEqual([...Object.keys(laterWords), ...Object.keys(laterErrors)].filter((code) => atOnce.has(code)), [], language);
    assert.equal(isServersLanguage, language === ENGLISH);
  }
});

test('Chinese words have full-width punctuation, also around what is counted', async () => {
  for (const catalogue of catalogues) {
    const source = readFileSync(new URL(`zh-Hans/${catalogue}`, folder), 'utf8');
    for (const [found] of source.matchAll(/\p{Script=Han}[,;:?!()](?![ ]*[={]|$)|\(\p{Script=Han}/gmu)) assert.fail(`${catalogue}: ${found}`);
  }
  const { inBrackets } = await load('zh-Hans', 'count.js');
  assert.equal(inBrackets(2), '（2）');
});

test('no line ends between a number and its percent sign', () => {
  for (const language of languages) {
    for (const catalogue of catalogues) {
      const source = readFileSync(new URL(`${language}/${catalogue}`, folder), 'utf8');
      assert.doesNotMatch(source, /[\d}] %/, `${language}/${catalogue}`);
    }
  }
});
