import assert from 'node:assert/strict';
import { test } from 'node:test';

import { agentName, agentTitle } from '../../interface/static/page/core/words/agent_name.js';
import { activityKinds, bodyOf, formOf, isSameForm, lineOf, withGone } from '../../interface/static/page/settings/agents/agents_model.js';
import { shellStrings } from '../../interface/static/page/strings/en/shell.js';

const tools = [{ name: 'search', on_by_default: true }, { name: 'write', on_by_default: false }];
const agent = {
  agent_id: 'a1', title: 'The Cook', slug: 'the_cook', system_prompt: 'You cook.', model: 'small', enabled_tools: ['write'],
  service: 'later', hourly_limit: 3,
  rules: [
    { recipe: 'x', type: 'y', conversation_id: 'c1', from_agents: true },
    { recipe: 'x', type: 'z', conversation_id: null, from_agents: false },
    { recipe: 'x', type: 'z', conversation_id: 'deleted', from_agents: false },
  ],
  conversations: { c1: 'Soups' },
};

test('an agent that is opened and saved stays as it is, with its inbox', () => {
  const { agent_id: _id, conversations: _titles, ...stored } = agent;
  assert.deepEqual(bodyOf(formOf(agent, tools)), stored);
});

test('a new agent has the model and the tools of the conversation, and the usual tools are ticked for who chooses some', () => {
  const form = formOf(null, tools);
  assert.deepEqual(form, {
    title: '', slug: '', told: '', model: '', ownTools: false, tools: ['search'], service: 'asked', hourlyLimit: '20', rules: [],
  });
  assert.deepEqual(bodyOf({ ...form, title: ' Bo ', slug: '@agent_bo ' }), {
    title: 'Bo', slug: 'bo', system_prompt: '', model: null, enabled_tools: null, service: 'asked', rules: [], hourly_limit: 20,
  });
  assert.deepEqual(bodyOf({ ...form, ownTools: true, tools: [] }).enabled_tools, []);
  assert.equal(formOf({ ...agent, enabled_tools: [] }, tools).ownTools, true);
});

test('forms are the same where the same agent is stored', () => {
  const form = formOf(agent, tools);
  assert.ok(isSameForm({ ...form, tools: ['a', 'b'] }, { ...form, tools: ['b', 'a'], title: 'The Cook ' }));
  const [without, other] = [{ ...form, ownTools: false, tools: ['a'] }, { ...form, ownTools: false, tools: [] }];
  assert.ok(isSameForm(without, other));
  assert.ok(!isSameForm(form, { ...form, told: 'You bake.' }));
});

test('what was chosen and is not there any more can still be chosen', () => {
  assert.deepEqual(withGone(['a', 'b'], ['b', 'c']), [{ name: 'a', isGone: false }, { name: 'b', isGone: false }, { name: 'c', isGone: true }]);
});

test('rules have the id of their conversation, and the title that it is shown by', () => {
  const form = formOf(agent, tools);
  assert.deepEqual(form.rules.map(({ kind, room, title }) => [kind, room, title]), [['x/y', 'c1', 'Soups'], ['x/z', '', ''], ['x/z', 'deleted', 'deleted']]);
  form.rules = [{ kind: 'a/b', room: 'c2', title: 'Stews', fromAgents: false }];
  assert.deepEqual(bodyOf(form).rules, [{ recipe: 'a', type: 'b', conversation_id: 'c2', from_agents: false }]);
  assert.ok(!isSameForm(form, formOf(agent, tools)));
});

test('chat messages are offered first, kinds of the product by their own names, others by their recipe', () => {
  const chat = { domain: 'general-discussion', title: 'Chat', activity_types: [{ type: 'chat_message', section: 'Messages' }] };
  const game = { domain: 'game', title: 'Game', activity_types: [{ type: 'move', section: 'Moves' }] };
  assert.deepEqual(activityKinds([game, chat], { 'general-discussion/chat_message': 'Nachrichten' }), [
    { kind: 'general-discussion/chat_message', label: 'Nachrichten' },
    { kind: 'game/move', label: 'Game: Moves (move)' },
  ]);
});

test('an activity is one line, a long one its beginning', () => {
  assert.equal(lineOf({ line: '[#a1b2c3] It runs', actor: { name: 'x' }, content: null }), '[#a1b2c3] It runs');
  assert.equal(lineOf({ line: null, actor: { name: 'Ada' }, content: 'One\ntwo' }), 'Ada: One…');
  assert.equal(lineOf({ line: 'x'.repeat(500), actor: { name: 'x' }, content: null }).length, 201);
});

test('the agent that everybody has is named in the words of the page, until it is renamed', () => {
  assert.equal(agentName('Global Assistant'), shellStrings.globalAssistant);
  assert.equal(agentName('The Botanist'), 'The Botanist');
  assert.equal(agentName(null), null);
  assert.equal(agentTitle(shellStrings.globalAssistant), 'Global Assistant');
  const form = formOf({ ...agent, title: 'Global Assistant' }, tools);
  assert.deepEqual([form.title, bodyOf(form).title], [shellStrings.globalAssistant, 'Global Assistant']);
});

test('the Global Assistant has another name in each other language', async () => {
  for (const language of ['de', 'es', 'zh-Hans']) {
    const { shellStrings: words } = await import(`../../interface/static/page/strings/${language}/shell.js`);
    assert.notEqual(words.globalAssistant, 'Global Assistant', language);
  }
});
