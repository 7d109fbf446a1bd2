import assert from 'node:assert/strict';
import test from 'node:test';

import { bodyOf, nameOf } from '../../interface/static/page/settings/tool_servers_model.js';

const FORM = { name: 'tickets', url: ' https://example.org/mcp ', key: '', header: 'Authorization' };

test('a name is made of what was typed as the server takes it', () => {
  for (const [typed, name] of [['Own Things', 'own-things'], [' a__b ', 'a-b'], ['9 lives', 'lives'], ['Ü', ''], ['x'.repeat(40), 'x'.repeat(31)]]) {
    assert.equal(nameOf(typed), name);
  }
});

test('a key goes as a bearer token, or in the header that is named for it', () => {
  assert.deepEqual(bodyOf(FORM), { name: 'tickets', url: 'https://example.org/mcp' });
  for (const header of ['Authorization', ' authorization', '']) {
    assert.equal(bodyOf({ ...FORM, key: ' secret ', header }).token, 'secret');
    assert.equal(bodyOf({ ...FORM, key: 'Bearer secret', header }).token, 'secret');
  }
  const { token, headers } = bodyOf({ ...FORM, key: 'secret', header: ' X-Api-Key ' });
  assert.deepEqual([token, headers], [undefined, { 'X-Api-Key': 'secret' }]);
});
