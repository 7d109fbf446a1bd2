import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createApi } from '../../interface/static/page/core/api.js';
import { createMemoriesApi } from '../../interface/static/page/memories/api.js';
import { saveChanges } from '../../interface/static/page/memories/editor/save.js';

function recording() {
  const requests = [];
  const fetch = async (url, { method, body }) => {
    requests.push([method, url, body === undefined ? undefined : JSON.parse(body)]);
    return Response.json({});
  };
  return { memories: createMemoriesApi(createApi({ fetch })), requests };
}

test('what is named in an address is escaped', async () => {
  const { memories, requests } = recording();
  await memories.pkbResolve('@a/b?c');
  await memories.pkbListClaims({ query: 'a&b', tag: undefined, limit: 50 });
  await memories.pkbAutocomplete('50%');
  assert.deepEqual(requests.map(([, url]) => url), ['/pkb/resolve/%40a%2Fb%3Fc', '/pkb/claims?query=a%26b&limit=50', '/pkb/autocomplete?q=50%25&limit=10']);
});

test('a memory is unpinned from a conversation by name, in the body', async () => {
  const { memories, requests } = recording();
  await memories.pkbPinToConversation('c1', 'm1');
  await memories.pkbUnpinFromConversation('c1', 'm1');
  assert.deepEqual(requests, [
    ['PUT', '/pkb/conversation/c1/pin', { claim_id: 'm1' }], ['DELETE', '/pkb/conversation/c1/pin', { claim_id: 'm1' }],
  ]);
});

test('many memories are changed in one request', async () => {
  const { memories, requests } = recording();
  await memories.pkbChangeClaims(['a', 'b'], 'set_domain', 'health');
  assert.deepEqual(requests, [['POST', '/pkb/claims/bulk_change', { claim_ids: ['a', 'b'], change: 'set_domain', value: 'health' }]]);
});

test('a conflict is resolved with a winner or with none', async () => {
  const { memories, requests } = recording();
  await memories.pkbResolveConflict('s1', { winningClaimId: 'a', notes: 'newer' });
  await memories.pkbResolveConflict('s1');
  assert.deepEqual(requests.map(([, , body]) => body), [{ winning_claim_id: 'a', notes: 'newer' }, { notes: '' }]);
});

test('a changed statement is saved with the one that was changed, so that another tab loses nothing', async () => {
  const { memories, requests } = recording();
  await saveChanges(memories, { claim_id: 'm1', statement: 'I like tea' }, { statement: 'I like milk' });
  await saveChanges(memories, { claim_id: 'm1', statement: 'I like tea' }, { confidence: 0.5 });
  assert.deepEqual(requests.filter(([method]) => method === 'PUT').map(([, , body]) => body), [
    { statement: 'I like milk', based_on: 'I like tea' }, { confidence: 0.5 },
  ]);
});
