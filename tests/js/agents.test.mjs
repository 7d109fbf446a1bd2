import assert from 'node:assert/strict';
import { test } from 'node:test';

import { bodyOf, formOf, isSameForm, withGone } from '../../interface/static/page/settings/agents_model.js';

const tools = [{ name: 'search', on_by_default: true }, { name: 'write', on_by_default: false }];
const agent = {
  agent_id: 'a1', title: 'The Cook', slug: 'the_cook', system_prompt: 'You cook.', model: 'small', enabled_tools: ['write'],
  service: 'later', rules: [{ recipe: 'x' }], hourly_limit: 3,
};

test('an agent that is opened and saved stays as it is, with its inbox', () => {
  const { agent_id: _, ...stored } = agent;
  assert.deepEqual(bodyOf(formOf(agent, tools), agent), stored);
});

test('a new agent has the model and the tools of the conversation, and the usual tools are ticked for who chooses some', () => {
  const form = formOf(null, tools);
  assert.deepEqual(form, { title: '', slug: '', told: '', model: '', ownTools: false, tools: ['search'] });
  assert.deepEqual(bodyOf({ ...form, title: ' Bo ', slug: '@agent_bo ' }, null), {
    title: 'Bo', slug: 'bo', system_prompt: '', model: null, enabled_tools: null,
  });
  assert.deepEqual(bodyOf({ ...form, ownTools: true, tools: [] }, null).enabled_tools, []);
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
