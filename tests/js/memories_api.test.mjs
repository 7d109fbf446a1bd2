import assert from 'node:assert/strict';
import { test } from 'node:test';

import { createApi } from '../../interface/static/page/core/api.js';
import { createKnowledgeApi } from '../../interface/static/page/memories/api.js';
import { saveChanges } from '../../interface/static/page/memories/editor/save.js';

function recording() {
  const requests = [];
  const fetch = async (url, { method, body }) => {
    requests.push([method, url, body === undefined ? undefined : JSON.parse(body)]);
    return Response.json({});
  };
  return { knowledge: createKnowledgeApi(createApi({ fetch })), requests };
}

test('what is named in an address is escaped', async () => {
  const { knowledge, requests } = recording();
  await knowledge.pkbResolve('@a/b?c');
  await knowledge.pkbListClaims({ query: 'a&b', tag: undefined, limit: 50 });
  await knowledge.pkbAutocomplete('50%');
  assert.deepEqual(requests.map(([, url]) => url), ['/pkb/resolve/%40a%2Fb%3Fc', '/pkb/claims?query=a%26b&limit=50', '/pkb/autocomplete?q=50%25&limit=10']);
});

test('a memory is unpinned from a conversation by name, in the body', async () => {
  const { knowledge, requests } = recording();
  await knowledge.pkbPinToConversation('c1', 'm1');
  await knowledge.pkbUnpinFromConversation('c1', 'm1');
  assert.deepEqual(requests, [
    ['PUT', '/pkb/conversation/c1/pin', { claim_id: 'm1' }], ['DELETE', '/pkb/conversation/c1/pin', { claim_id: 'm1' }],
  ]);
});

test('many memories are changed in one request', async () => {
  const { knowledge, requests } = recording();
  await knowledge.pkbChangeClaims(['a', 'b'], 'set_domain', 'health');
  assert.deepEqual(requests, [['POST', '/pkb/claims/bulk_change', { claim_ids: ['a', 'b'], change: 'set_domain', value: 'health' }]]);
});

test('a conflict is resolved with a winner or with none', async () => {
  const { knowledge, requests } = recording();
  await knowledge.pkbResolveConflict('s1', { winningClaimId: 'a', notes: 'newer' });
  await knowledge.pkbResolveConflict('s1');
  assert.deepEqual(requests.map(([, , body]) => body), [{ winning_claim_id: 'a', notes: 'newer' }, { notes: '' }]);
});

test('a changed statement is saved with the one that was changed, so that another tab loses nothing', async () => {
  const { knowledge, requests } = recording();
  await saveChanges(knowledge, { claim_id: 'm1', statement: 'I like tea' }, { statement: 'I like milk' });
  await saveChanges(knowledge, { claim_id: 'm1', statement: 'I like tea' }, { confidence: 0.5 });
  assert.deepEqual(requests.filter(([method]) => method === 'PUT').map(([, , body]) => body), [
    { statement: 'I like milk', based_on: 'I like tea' }, { confidence: 0.5 },
  ]);
});
