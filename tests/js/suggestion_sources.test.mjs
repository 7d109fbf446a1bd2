import assert from 'node:assert/strict';
import test from 'node:test';

import { OFFERS, replacementFor } from '../../interface/static/page/composer/suggestions/sources.js';
import { saysMeaning, suggestionGroups } from '../../interface/static/page/composer/suggestions/suggestions_model.js';

const NAMED = { memories: [], contexts: [], entities: [{ friendly_id: 'car_entity', name: 'Car' }], tags: [], domains: [] };
const MEANT = {
  conversation: { kind: 'conversation', conversation_friendly_id: 'vehicle_rattles_b4f2', conversation_id: 'c1', title: 'My vehicle rattles', last_updated: '2026-02-08 10:00:00' },
  memory: { kind: 'memory', title: 'brakes_new_a3f2', claim: { friendly_id: 'brakes_new_a3f2', claim_id: 'm1', claim_number: 4, claim_type: 'fact', statement: 'The brakes are new' } },
};

/** An API that knows by name what `named` says, and finds by meaning what `MEANT` says. */
function createFakeApi({ conversations = [], memories = NAMED, suggested = [], fails = [] } = {}) {
  const asked = [];
  const answers = {
    '/pkb/autocomplete': () => memories,
    '/search': ({ kind }) => ({ results: MEANT[kind] ? [MEANT[kind]] : [], next: null, warnings: [] }),
  };
  return {
    asked,
    autocompleteConversations: async () => conversations,
    async suggestReferences(query, { without }) {
      asked.push(['/references/suggest', query, without]);
      if (fails.includes('suggest')) throw new Error('busy');
      return suggested.filter(({ kind }) => !without.includes(kind));
    },
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

const TICKET = { kind: 'ticket', reference: 'ticket_7', title: 'The printer is on fire.', icon: 'flag' };
const AGENT = { kind: 'agent', reference: 'agent_cook', title: 'The Cook', icon: 'robot' };

test('things of kinds that were added on the server are offered, by one question that leaves out what other sources know', async () => {
  const api = createFakeApi({ suggested: [TICKET, AGENT] });
  const { groups } = await offered('tick', api);
  assert.deepEqual(groups.ticket, ['ticket_7']);
  assert.equal(groups.agent, undefined);
  const questions = api.asked.filter(([path]) => path === '/references/suggest');
  assert.equal(questions.length, 1);
  for (const known of ['conversation', 'claim', 'context', 'entity', 'tag', 'domain', 'agent']) assert.ok(questions[0][2].includes(known), known);
  assert.deepEqual((await offered('agent_c', createFakeApi({ suggested: [TICKET, AGENT] }))).groups.agent, ['agent_cook']);
});

test('where other kinds can not be suggested, nothing is said of them, but of agents that were meant', async () => {
  const told = async (query) => {
    const found = await OFFERS.any.ask({ query }, { api: createFakeApi({ fails: ['suggest'] }), signal: null, onMore() {} });
    return OFFERS.any.failed(found);
  };
  assert.deepEqual(await told('tick'), []);
  assert.equal((await told('agent_c')).length, 1);
});

test('a thing of an added kind is inserted by its reference, behind whatever sign', () => {
  assert.equal(replacementFor({ kind: 'ticket', hit: { ...TICKET, friendly_id: TICKET.reference } }, { kind: 'any' }), '@ticket_7 ');
  assert.equal(replacementFor({ kind: 'activity', hit: { kind: 'order', reference: '#T-7' } }, { kind: 'activity' }), '#T-7 ');
});

test('behind a number sign, what memories have numbers for is left out, and added kinds are not', async () => {
  const suggested = [{ kind: 'activity', reference: '#a1b2c3' }, { kind: 'order', reference: '#T-7' }, { kind: 'claim', reference: 'tea_a1b2' }];
  const found = await OFFERS.activity.ask({ query: '' }, { api: createFakeApi({ suggested }), conversationId: 'c1', signal: null });
  assert.deepEqual(found.map(({ kind }) => kind), ['activity', 'order']);
});
