import assert from 'node:assert/strict';
import test from 'node:test';

import { OFFERS } from '../../interface/static/page/composer/suggestions/sources.js';
import { saysMeaning, suggestionGroups } from '../../interface/static/page/composer/suggestions/suggestions_model.js';

const NAMED = { memories: [], contexts: [], entities: [{ friendly_id: 'car_entity', name: 'Car' }], tags: [], domains: [] };
const MEANT = {
  conversation: { kind: 'conversation', conversation_friendly_id: 'vehicle_rattles_b4f2', conversation_id: 'c1', title: 'My vehicle rattles', last_updated: '2026-02-08 10:00:00' },
  memory: { kind: 'memory', title: 'brakes_new_a3f2', claim: { friendly_id: 'brakes_new_a3f2', claim_id: 'm1', claim_number: 4, claim_type: 'fact', statement: 'The brakes are new' } },
};

/** An API that knows by name what `named` says, and finds by meaning what `MEANT` says. */
function createFakeApi({ conversations = [], memories = NAMED, fails = [] } = {}) {
  const asked = [];
  const answers = {
    '/pkb/autocomplete': () => memories,
    '/search': ({ kind }) => ({ results: MEANT[kind] ? [MEANT[kind]] : [], next: null, warnings: [] }),
  };
  return {
    asked,
    autocompleteConversations: async () => conversations,
    async get(path, parameters) {
      asked.push([path, parameters.kind, parameters.mode]);
      if (fails.includes(parameters.kind)) throw new Error('busy');
      return answers[path](parameters);
    },
  };
}

async function offered(query, api) {
  const found = await OFFERS.any.ask({ query }, { api, signal: null, onMore() {} });
  const groups = suggestionGroups(found.answers, query).map(({ kind, hits }) => [kind, hits.map((hit) => hit.friendly_id)]);
  return { groups: Object.fromEntries(groups), failed: found.failed };
}

const searched = (api) => api.asked.filter(([path]) => path === '/search').map(([, kind, mode]) => [kind, mode]);

test('several words that nothing is called by are asked by their meaning, of conversations and memories', async () => {
  const api = createFakeApi();
  const { groups } = await offered('noise of car', api);
  assert.deepEqual(groups, { conversation: ['vehicle_rattles_b4f2'], claim: ['brakes_new_a3f2'], entity: ['car_entity'] });
  assert.deepEqual(searched(api).toSorted(), [['conversation', 'meaning'], ['memory', 'meaning'], ['message', undefined]]);
});

test('what is called so is not looked for by meaning', async () => {
  const called = { friendly_id: 'noise_car_k3f9', title: 'Noise of the car', last_updated: '' };
  const memories = { ...NAMED, memories: [{ friendly_id: 'noise_a1b2', statement: 'Noise of the car' }] };
  const api = createFakeApi({ conversations: [called], memories });
  const { groups } = await offered('noise of', api);
  assert.deepEqual([groups.conversation, groups.claim], [['noise_car_k3f9'], ['noise_a1b2']]);
  assert.deepEqual(searched(api), [['message', undefined]]);
});

test('one word, or the number of a memory, is a name alone', async () => {
  for (const query of ['noise', 'no', '', '#42', 'claim_4 is', 'a b', '学习了']) {
    assert.ok(!saysMeaning(query), query);
    const api = createFakeApi();
    await offered(query, api);
    assert.ok(searched(api).every(([kind]) => kind === 'message'), query);
  }
  for (const query of ['noise of', '机器学习']) assert.ok(saysMeaning(query), query);
});

test('where the search by meaning fails, what is known by name is offered', async () => {
  const api = createFakeApi({ fails: ['conversation', 'memory', 'message'] });
  const { groups, failed } = await offered('noise of car', api);
  assert.deepEqual([groups, failed], [{ entity: ['car_entity'] }, ['messages']]);
});

test('what was found by meaning is inserted as if it were named', async () => {
  const answer = await OFFERS.any.ask({ query: 'noise of car' }, { api: createFakeApi(), signal: null, onMore() {} });
  assert.deepEqual(answer.answers.conversations[0].title, 'My vehicle rattles');
  assert.deepEqual(answer.answers.memories.memories[0].claim_id, 'm1');
});
