import assert from 'node:assert/strict';
import test from 'node:test';

import { megabytes, quotaOf, used } from '../../interface/static/page/settings/administration/usage_model.js';

test('a small file is no nothing', () => {
  assert.deepEqual([0, 1, 1_500_000, 12_400_000, 5_000_000_000].map(megabytes), ['0', '0.1', '1.5', '12', '5,000']);
});

test('where any number may be used, none is named', () => {
  assert.deepEqual([used(3, 50), used(3, null), used(0, 0)], ['3 of 50', '3', '0 of 0']);
});

test('an empty field is as the settings say, and nought is nought', () => {
  assert.deepEqual(quotaOf([['messages_a_day', ' '], ['tokens_a_day', '0'], ['tokens_a_month', '1000']]),
    { messages_a_day: null, tokens_a_day: 0, tokens_a_month: 1000 });
});
