import assert from 'node:assert/strict';
import test from 'node:test';

import { fieldsOf, filled, isPromptName, promptNamed, promptsLike } from '../../interface/static/page/composer/prompts/prompts_model.js';
import {
  changedSettings, consentOf, fieldsOfPreset, fieldsOfSettings, optionsOf, presetOf, settingsOf, settingsOfConsent, settingsOfTools, toolsOfSettings, wrongField,
} from '../../interface/static/page/composer/settings/settings_model.js';

const FIELDS = { systemPrompt: ' Be kind. ', temperature: '0.5', answerTokens: '300', model: 'openai:x' };
const EMPTY = { systemPrompt: '', temperature: '', answerTokens: '', model: 'main' };

test('what a form holds becomes settings, and settings fill the form again', () => {
  const settings = settingsOf(FIELDS);
  assert.deepEqual(settings, { system_prompt: 'Be kind.', temperature: 0.5, answer_tokens: 300, model_overrides: { main: 'openai:x' } });
  assert.deepEqual(fieldsOfSettings(settings), { ...FIELDS, systemPrompt: 'Be kind.' });
  assert.deepEqual(fieldsOfSettings({}), EMPTY);
});

test('empty fields take settings away, and override nothing in a message', () => {
  assert.deepEqual(settingsOf(EMPTY), { system_prompt: null, temperature: null, answer_tokens: null, model_overrides: null });
  assert.deepEqual(optionsOf(settingsOf(EMPTY)), {});
  assert.deepEqual(optionsOf(settingsOf({ ...EMPTY, temperature: '0' })), { temperature: 0 });
});

test('only what was changed is sent', () => {
  const before = settingsOf(FIELDS);
  assert.deepEqual(changedSettings(before, settingsOf({ ...FIELDS, temperature: '' })), { temperature: null });
  assert.deepEqual(changedSettings(before, settingsOf(FIELDS)), {});
});

test('tools are switched on and off by name, and left to the server where nothing is said', () => {
  assert.deepEqual(toolsOfSettings({}), { use: '', chosen: {}, mayWrite: false });
  assert.deepEqual(settingsOfTools({ use: '', chosen: {}, mayWrite: false }), { use_tools: null, tools: null, allow_writing: null });
  for (const [use, stored] of [['on', true], ['off', false]]) {
    const tools = { use, chosen: { read_document: false }, mayWrite: true };
    const settings = settingsOfTools(tools);
    assert.deepEqual(settings, { use_tools: stored, tools: { read_document: false }, allow_writing: true });
    assert.deepEqual(toolsOfSettings(settings), tools);
    assert.deepEqual(optionsOf(settings), settings);
  }
});

test('consent is listed by who has it, and withdrawn one by one', () => {
  assert.deepEqual(consentOf({}), []);
  assert.deepEqual(consentOf({ allowed_tools: 'x', agents_allowed_tools: { a: 1 } }), []);
  assert.deepEqual(settingsOfConsent([]), { allowed_tools: null, agents_allowed_tools: null });
  const settings = { allowed_tools: ['one', 'two'], agents_allowed_tools: { a: ['one'], b: ['two', 'three'] } };
  const consent = consentOf(settings);
  assert.deepEqual(consent.map(({ tool, agentId }) => [tool, agentId]), [['one', null], ['two', null], ['one', 'a'], ['two', 'b'], ['three', 'b']]);
  assert.deepEqual(settingsOfConsent(consent), settings);
  const left = consent.filter(({ tool }) => tool !== 'one');
  assert.deepEqual(settingsOfConsent(left), { allowed_tools: ['two'], agents_allowed_tools: { b: ['two', 'three'] } });
});

test('a preset holds the same, by other names', () => {
  assert.deepEqual(fieldsOfPreset(presetOf(FIELDS)), { ...FIELDS, systemPrompt: 'Be kind.' });
  assert.deepEqual(fieldsOfPreset(presetOf(EMPTY)), EMPTY);
});

test('the first field that can\'t be saved is named', () => {
  assert.equal(wrongField(FIELDS), null);
  assert.equal(wrongField(EMPTY), null);
  for (const temperature of ['2.1', '-1', 'wrong']) assert.equal(wrongField({ ...FIELDS, temperature }), 'temperature');
  for (const answerTokens of ['0', '1.5', '-3', 'wrong']) assert.equal(wrongField({ ...FIELDS, answerTokens }), 'answerTokens');
  assert.equal(wrongField({ ...FIELDS, systemPrompt: 'x'.repeat(12_001) }), 'systemPrompt');
});

test('a prompt\'s fields are filled wherever they stand, and what they are filled with is text', () => {
  const text = 'Translate into {{language}}: {{ the text }}. {{language}}! {{}} {{a\nb}} {x}';
  assert.deepEqual(fieldsOf(text), ['language', 'the text']);
  assert.equal(filled(text, { language: '$& {{the text}}', 'the text': 'soup' }),
    'Translate into $& {{the text}}: soup. $& {{the text}}! {{}} {{a\nb}} {x}');
  assert.equal(filled('{{toString}}', {}), '{{toString}}');
});

test('prompts are found by the beginning of their name, and by the name', () => {
  const prompts = [{ name: 'übersetze' }, { name: 'translate' }];
  assert.deepEqual(promptsLike(prompts, 'ÜB'), [prompts[0]]);
  assert.equal(promptNamed(prompts, 'Translate'), prompts[1]);
  for (const name of ['a', 'übersetze-2', 'a_b']) assert.ok(isPromptName(name), name);
  for (const name of ['', '2a', 'a b', 'a/b', 'x'.repeat(51)]) assert.ok(!isPromptName(name), name);
});

test('the dialog says in every language that some models have no temperature', async () => {
  for (const language of ['en', 'de', 'es', 'zh-Hans']) {
    const words = await import(`../../interface/static/page/strings/${language}/answer_settings.js`);
    const [strings] = Object.values(words);
    assert.match(strings.temperatureHelp, /Anthropic/);
  }
});
