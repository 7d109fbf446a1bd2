import assert from 'node:assert/strict';
import test from 'node:test';

import { claimFrom, draftOf, nearestQuestion, tagsIn, withSuggestions } from '../../interface/static/page/memories/proposals/draft_model.js';
import { asksToBeRemembered } from '../../interface/static/page/conversation/message_model.js';
import { referenceStrings } from '../../interface/static/page/strings/en/references.js';
import {
  bareReference, entriesByReference, iconOf, isBeside, isFound, memoriesTarget, looksLikeMemory, summaryLine,
} from '../../interface/static/page/references/report_model.js';

const CLAIM = { claim_id: 'c-1', friendly_id: 'prefer_tea_a3f2', statement: 'I prefer tea.' };
const ANALYSIS = {
  claim_type: 'preference', context_domain: 'health', tags: ['tea'], entities: [{ name: 'Ada', type: 'person', role: 'subject' }],
  possible_questions: ['What do I drink?'], friendly_id: 'prefer_tea_a3f2', similar: [],
};

test('suggestions fill in what the person has not decided', () => {
  const draft = { ...draftOf('I prefer tea.'), context_domain: 'personal' };
  const filled = withSuggestions(draft, ANALYSIS, new Set(['context_domain']));
  assert.deepEqual(filled, {
    statement: 'I prefer tea.', claim_type: 'preference', context_domain: 'personal', tags: ['tea'], entities: ANALYSIS.entities,
  });
  assert.deepEqual(withSuggestions(draft, { tags: [], claim_type: '' }, new Set()), draft);
});

test('a memory is added as it was shown; what was found for another text is left out', () => {
  const draft = { ...draftOf(' I prefer tea. '), tags: ['tea'] };
  const claim = claimFrom(draft, { analysis: ANALYSIS, analysed: 'I prefer tea.', supersedes: 'c-9' });
  assert.deepEqual(claim, {
    statement: 'I prefer tea.', claim_type: 'fact', context_domain: 'personal', tags: ['tea'], entities: [], auto_extract: false,
    possible_questions: ['What do I drink?'], supersedes: 'c-9',
  });
  const other = claimFrom({ ...draft, statement: 'I prefer milk.' }, { analysis: ANALYSIS, analysed: 'I prefer tea.' });
  assert.deepEqual([other.possible_questions, other.supersedes], [undefined, undefined]);
});

test('a memory that says otherwise than a known one is added with the conflict, unless it replaces that one', () => {
  const draft = draftOf('I prefer tea.');
  const similar = [{ claim: CLAIM, kind: 'contradiction', similarity: 0.8 }];
  const analysed = { analysis: { ...ANALYSIS, similar }, analysed: 'I prefer tea.' };
  assert.equal(claimFrom(draft, analysed).contradicts, 'c-1');
  assert.deepEqual(claimFrom(draft, { ...analysed, supersedes: 'c-1' }).contradicts, undefined);
  assert.equal(claimFrom({ ...draft, statement: 'I prefer milk.' }, analysed).contradicts, undefined);
  const same = { ...analysed, analysis: { ...ANALYSIS, similar: [{ ...similar[0], kind: 'duplicate' }] } };
  assert.equal(claimFrom(draft, same).contradicts, undefined);
});

test('tags are read from a line, each once', () => {
  assert.deepEqual(tagsIn(' tea, #black ,, tea'), ['tea', 'black']);
  assert.deepEqual(tagsIn(''), []);
});

test('the nearest memory that says the same or otherwise is asked about, a related one is not', () => {
  const similar = [
    { claim: { claim_id: 'a' }, similarity: 0.99, kind: 'related' },
    { claim: { claim_id: 'b' }, similarity: 0.8, kind: 'contradiction' },
    { claim: { claim_id: 'c' }, similarity: 0.9, kind: 'duplicate' },
  ];
  assert.equal(nearestQuestion(similar).claim.claim_id, 'c');
  assert.equal(nearestQuestion(similar.slice(0, 1)), null);
  assert.equal(nearestQuestion(undefined), null);
});

test('who says "remember this" asks for proposals, who answers so does not', () => {
  const asks = (text, sender = 'user') => asksToBeRemembered({ sender, text });
  for (const text of ['Remember this: I moved.', 'please remember that I moved', ' REMEMBER THIS']) assert.ok(asks(text), text);
  for (const text of ['I remember this', 'Remember to call', 'remember thistles', '']) assert.ok(!asks(text), text);
  assert.ok(!asks('Remember this', 'model'));
});

test('one memory has one name, however it is written', () => {
  for (const ref of ['#42', '@claim_42', '@CLAIM_42', 'claim_42', '@#42'.slice(1)]) assert.equal(bareReference(ref), 'claim_42');
  assert.equal(bareReference('@memory:abc-1'), 'abc-1');
  assert.equal(bareReference('@Prefer_Tea_a3f2'), 'Prefer_Tea_a3f2');
  assert.equal(entriesByReference([{ ref: '#42' }]).get('claim_42').ref, '#42');
});

test('what a report names in the knowledge base can be shown there, each kind by its own id and icon', () => {
  const ids = { claim: 'claim_id', context: 'context_id', entity: 'entity_id', tag: 'tag_id', domain: 'domain' };
  for (const [kind, field] of Object.entries(ids)) {
    assert.deepEqual(memoriesTarget({ kind, target: { [field]: 'x' } }), { kind, id: 'x' });
    assert.equal(memoriesTarget({ kind, target: {} }), null);
  }
  assert.equal(memoriesTarget({ kind: 'message', target: { conversation_id: 'c', message_id: 'm' } }), null);
  assert.equal(memoriesTarget(null), null);
  assert.deepEqual(memoriesTarget({ kind: 'domain', target: { group: 'a_domain&b_tag' } }), { kind: 'group', id: 'a_domain&b_tag' });
  const icons = Object.keys(ids).map((kind) => iconOf({ kind }));
  assert.equal(new Set(icons).size, icons.length);
});

test('names that look like ids of ours are worth a question, handles and decorators are not', () => {
  for (const name of ['claim_42', 'prefer_tea_a3f2', 'health_goals_context', 'fitness_tag', 'a_1bcd']) assert.ok(looksLikeMemory(name), name);
  for (const name of ['pytest', 'some_code', 'fixture_scope', 'claim_x', 'tag', '_context', 'prefer_tea_a3f2x']) assert.ok(!looksLikeMemory(name), name);
});

test('memories that are missing are said, and are no reference', () => {
  const missing = { ref: 'memories', kind: 'claim', status: 'unavailable', notes: ['The knowledge base is locked.'], muted: false };
  const named = { ref: '@prefer_tea_a3f2', kind: 'claim', status: 'resolved' };
  assert.deepEqual([missing, named, { ref: '+5' }, { ref: '#42' }].map(isBeside), [true, false, false, false]);
  assert.equal(summaryLine([missing], referenceStrings), 'memories are missing');
  assert.equal(summaryLine([named, missing], referenceStrings), '1 reference · memories are missing');
  assert.equal(summaryLine([named, { ...missing, muted: true }], referenceStrings), '1 reference');
});

test('what was found by its content is no reference, and no memory that is missing', () => {
  const named = { ref: '@garage_a1b2_message_1', kind: 'message', status: 'resolved' };
  const message = { ref: 'garage_a1b2_message_c0ffee', kind: 'message', status: 'resolved', target: { message_id: 'm' } };
  const excerpt = { ref: 'car.md:3-9', kind: 'document', status: 'truncated', target: { path: 'car.md' } };
  assert.deepEqual([named, message, excerpt, { ref: 'memories', status: 'unavailable' }].map(isFound), [false, true, true, false]);
  assert.equal(summaryLine([named, message, excerpt], referenceStrings), '1 reference · 2 found by content');
  assert.equal(summaryLine([message, { ref: 'memories', status: 'unavailable' }], referenceStrings), '1 found by content · memories are missing');
});
