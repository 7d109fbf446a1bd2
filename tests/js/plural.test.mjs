import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createCount } from '../../interface/static/page/core/words/plural.js';

test('things are counted by the plural rules of the language, with its numbers', () => {
  const count = createCount('en');
  assert.deepEqual([0, 1, 2, 1200].map((n) => count(n, 'day', 'days')), ['0 days', '1 day', '2 days', '1,200 days']);
  assert.equal(createCount('de')(1200, 'Tag', 'Tage'), '1.200 Tage');
});

test('a language with further plural categories has a form for each', () => {
  const count = createCount('pl');
  const days = (n) => count(n, 'dzień', 'dnia', { few: 'dni', many: 'dni' });
  assert.deepEqual([1, 3, 5, 1.5].map(days), ['1 dzień', '3 dni', '5 dni', '1,5 dnia']);
});
