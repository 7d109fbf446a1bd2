import assert from 'node:assert/strict';
import test from 'node:test';

import { askTogether } from '../../interface/static/page/core/ask_together.js';
import { COMMANDS, commandNamed, commandsLike, readCommand, usageOf } from '../../interface/static/page/composer/commands/commands_model.js';
import { aboutSuggestion, agentsOf, groupsAmong, memoriesFound, othersOf, sourcesFor, suggestionGroups } from '../../interface/static/page/composer/suggestions/suggestions_model.js';
import { composerStrings } from '../../interface/static/page/strings/en/composer.js';

const countMemories = (n) => `${n} memories`;
const memories = {
  memories: [{ friendly_id: 'prefer_morning_a3f2', statement: 'I prefer mornings', claim_number: 42, claim_type: 'preference' }],
  contexts: [],
  entities: [{ friendly_id: 'morgan_person_entity', name: 'Morgan', entity_type: 'person' }],
  tags: [],
  domains: [{ friendly_id: 'work_domain', name: 'work', claim_count: 3 }],
};
const conversations = [{ friendly_id: 'morning_plan_b4f2', title: 'Morning plan' }];

test('what several sources know stands in groups, in one order, empty ones left out', () => {
  const kinds = suggestionGroups({ memories, conversations }, 'mor').map(({ kind, hits }) => [kind, hits.length]);
  assert.deepEqual(kinds, [['conversation', 1], ['claim', 1], ['entity', 1], ['domain', 1]]);
});

test('memories that only mean what is typed stand behind the messages that say it', () => {
  const messages = { results: [{ reference: '@conversation_a_b4f2_message_5' }] };
  const meant = { memories: memoriesFound([{ claim: { friendly_id: 'rye_k3f9' } }]) };
  const kinds = (known) => suggestionGroups({ memories: known, messages }, 'rye flour').map(({ kind }) => kind);
  assert.deepEqual(kinds(meant), ['found', 'claim']);
  assert.deepEqual(kinds({ memories: [{ friendly_id: 'rye_k3f9' }] }), ['claim', 'found']);
});

test('the group of the very thing that was named comes first', () => {
  assert.equal(suggestionGroups({ memories, conversations }, 'Work_Domain')[0].kind, 'domain');
  assert.equal(suggestionGroups({ memories, conversations }, '')[0].kind, 'conversation');
});

test('a source that did not answer, or answered less, is no harm', () => {
  assert.deepEqual(suggestionGroups({ conversations }, 'x').map(({ kind }) => kind), ['conversation']);
  assert.deepEqual(suggestionGroups({ memories: { tags: [{ friendly_id: 'a_tag', name: 'a' }] } }, 'x').map(({ kind }) => kind), ['tag']);
  assert.deepEqual(suggestionGroups({}, 'x'), []);
});

test('to groups, groups alone are joined', () => {
  const groups = suggestionGroups({ memories: groupsAmong(memories) }, 'mor').map(({ kind }) => kind);
  assert.deepEqual(groups, ['entity', 'domain']);
});

test('numbers are asked of the knowledge base alone', () => {
  for (const query of ['#', '#42', 'claim_4', 'CLAIM_']) assert.deepEqual(sourcesFor(query), ['memories']);
  for (const query of ['', 'cl', '42']) assert.deepEqual(sourcesFor(query), ['conversations', 'memories']);
});

test('agents are asked for where what is typed begins as their references do, and stand above the others', () => {
  for (const query of ['ag', 'Agent', 'agent_', 'agent_co', 'AGENT_CO']) assert.ok(sourcesFor(query).includes('agents'), query);
  for (const query of ['', 'a', 'cook', 'agents', 'again', '#1']) assert.ok(!sourcesFor(query).includes('agents'), query);
  const agents = agentsOf([
    { kind: 'conversation', reference: 'conversation_agent_plan_b4f2', title: 'Agent plan', icon: 'chat' },
    { kind: 'agent', reference: 'agent_cook', title: 'The Cook', icon: 'robot' },
  ]);
  assert.deepEqual(agents, [{ friendly_id: 'agent_cook', name: 'The Cook' }]);
  assert.equal(aboutSuggestion('agent', agents[0], countMemories), 'agent_cook');
  assert.deepEqual(suggestionGroups({ agents, conversations }, 'agent').map(({ kind }) => kind), ['agent', 'conversation']);
});

test('messages are found by words of three letters or more, and stand below conversations and memories', () => {
  for (const query of ['claims', 'go sourdough', '学习了']) assert.ok(sourcesFor(query).includes('messages'), query);
  for (const query of ['a_b', 'if so', '']) assert.ok(!sourcesFor(query).includes('messages'), query);
  const messages = { results: [{ reference: '@conversation_morning_plan_b4f2_message_a3f2b1' }, { reference: null }] };
  const groups = suggestionGroups({ memories, conversations, messages }, 'mor').map(({ kind, hits }) => [kind, hits.length]);
  assert.deepEqual(groups.slice(0, 4), [['conversation', 1], ['claim', 1], ['found', 1], ['entity', 1]]);
});

test('what is suggested of unknown kinds stands in groups of their own below memories', () => {
  const suggested = [
    { kind: 'ticket', reference: 'ticket_7', title: 'Fire', icon: 'flag' }, { kind: 'agent', reference: 'agent_cook', title: 'The Cook' },
    { kind: 'order', reference: 'order_1', title: 'Pears', icon: 'box' }, { kind: 'ticket', reference: 'ticket_8', title: 'Water', icon: 'flag' },
  ];
  const groups = suggestionGroups({ memories, conversations, others: othersOf(suggested) }, 'x').map(({ kind, hits }) => [kind, hits.length]);
  assert.deepEqual(groups, [['conversation', 1], ['claim', 1], ['ticket', 2], ['order', 1], ['entity', 1], ['domain', 1]]);
});

test('each kind says what it is beside its name', () => {
  assert.equal(aboutSuggestion('claim', memories.memories[0], countMemories), 'prefer_morning_a3f2 · #42 · Preference');
  assert.equal(aboutSuggestion('entity', memories.entities[0], countMemories), 'morgan_person_entity · Person');
  assert.equal(aboutSuggestion('domain', memories.domains[0], countMemories), 'work_domain · 3 memories');
  assert.equal(aboutSuggestion('context', { friendly_id: 'a_context', claim_count: 0 }, countMemories), 'a_context · 0 memories');
  assert.equal(aboutSuggestion('tag', { friendly_id: 'a_tag', name: 'a' }, countMemories), 'a_tag');
});

test('sources that fail or take too long are named, the others are heard', async () => {
  const never = new Promise(() => {});
  const { answers, failed } = await askTogether({
    quick: async () => [1],
    broken: async () => { throw new Error('out of order'); },
    thrown: () => { throw new Error('at once'); },
    slow: () => never,
  }, { longestWait: 20 });
  assert.deepEqual(answers, { quick: [1] });
  assert.deepEqual(failed.toSorted(), ['broken', 'slow', 'thrown']);
});

function deferred() {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
}

test('of a source that answers late, the answer comes late', async () => {
  const slow = deferred();
  const heard = deferred();
  const sources = { quick: async () => [1], slow: () => slow.promise };
  const found = await askTogether(sources, { longestWait: 20, onLate: heard.resolve });
  assert.deepEqual(found, { answers: { quick: [1] }, failed: ['slow'] });
  slow.resolve([2]);
  assert.deepEqual(await heard.promise, { answers: { quick: [1], slow: [2] }, failed: [] });
});

test('a source that fails late has failed', async () => {
  const slow = deferred();
  const found = await askTogether({ slow: () => slow.promise }, { longestWait: 20, onLate: () => assert.fail('nothing came') });
  slow.reject(new Error('out of order'));
  await slow.promise.catch(() => {});
  assert.deepEqual(found, { answers: {}, failed: ['slow'] });
});

test('a command is read with what follows it, over several lines too', () => {
  assert.deepEqual(readCommand('/memory I like tea,\nblack'), { name: 'memory', rest: 'I like tea,\nblack', isKnown: true });
  assert.deepEqual(readCommand('  /HELP '), { name: 'help', rest: '', isKnown: true });
  assert.deepEqual(readCommand('/memroy x'), { name: 'memroy', rest: 'x', isKnown: false });
  assert.deepEqual(readCommand(' / '), { name: '', rest: '', isKnown: false });
});

test('what only begins with a stroke is no command', () => {
  for (const text of ['/etc/hosts is broken', '/ memory', 'and /memory x', '/2', '']) assert.equal(readCommand(text), null, text);
});

test('commands are offered by their beginning, and not when they stand there whole', () => {
  assert.deepEqual(commandsLike(''), COMMANDS);
  assert.deepEqual(commandsLike('me').map(({ name }) => name), ['memory']);
  assert.deepEqual(commandsLike('memory'), []);
});

test('a command is shown with what it takes, in words of the page', () => {
  const { takes } = composerStrings.commands;
  assert.equal(usageOf(commandNamed('title'), takes), '/title [text]');
  assert.equal(usageOf(commandNamed('stateless'), takes), '/stateless [on|off]');
  assert.equal(usageOf(commandNamed('help'), takes), '/help');
  for (const command of COMMANDS) assert.ok(!usageOf(command, takes).includes('undefined'), command.name);
});
