import assert from 'node:assert/strict';
import { test } from 'node:test';

import { panelIn } from '../../interface/static/page/core/address.js';
import { differences, excerpt, isCurrent, marksOf, referenceTo, splitNames, spoken } from '../../interface/static/page/memories/memory_model.js';
import { describeChange } from '../../interface/static/page/memories/tabs/history_model.js';
import { sentAs } from '../../interface/static/page/memories/editor/save.js';
import { splitLinks } from '../../interface/static/page/memories/editor/links_model.js';
import {
  activeFilters, changed, claimParams, formatPanel, initialState, isNarrowed, learningFrom, nameIn, pageRange, parsePanel, showing, withoutFilter, withoutFilters,
} from '../../interface/static/page/memories/query_model.js';
import { ClaimSelection, MOST_SELECTED } from '../../interface/static/page/memories/list/selection_model.js';
import { accept, openSuggestions, statementsIn, worthAsking } from '../../interface/static/page/memories/editor/suggestions_model.js';
import { MOST_TEXT_BYTES, bytesOf, exportIn, refusalOf } from '../../interface/static/page/memories/tabs/ingest_model.js';
import { FilingTree } from '../../interface/static/page/memories/filing/tree_model.js';

test('a memory that is sent again keeps its id, and one with another statement gets another', () => {
  const first = sentAs('I like tea', null);
  assert.equal(sentAs('I like tea', first), first);
  assert.notEqual(sentAs('I like coffee', first).id, first.id);
});

const claims = (...ids) => ids.map((id) => ({ claim_id: id, statement: id }));

test('what the panel shows is in the address and comes back from it', () => {
  const state = { ...initialState(), q: 'tea & cake', tag: 'food_tag', status: 'all', page: 3 };
  const search = formatPanel(state);
  assert.equal(search, '?panel=memories&q=tea+%26+cake&status=all&tag=food_tag&page=3');
  assert.deepEqual(parsePanel(search), state);
  assert.equal(formatPanel(initialState()), '?panel=memories');
});

test('an address kept from an earlier version, which called the panel otherwise, shows the memories', () => {
  assert.equal(panelIn('?panel=knowledge&tag=food_tag'), 'memories');
  assert.deepEqual(parsePanel('?panel=knowledge&tag=food_tag'), { ...initialState(), tag: 'food_tag' });
});

test('an address without the panel shows none, and one with nonsense in it shows the usual', () => {
  assert.equal(parsePanel('?message=m1'), null);
  assert.deepEqual(parsePanel('?panel=memories&tab=x&page=-1&status=y&strategy=z'), initialState());
});

test('another search begins at the first page, turning the page does not', () => {
  const third = { ...initialState(), page: 3 };
  assert.equal(changed(third, { q: 'tea' }).page, 1);
  assert.equal(changed(third, { q: '' }).page, 3);
  assert.equal(changed(third, { page: 4 }).page, 4);
});

test('the server is asked for a page, with a strategy only where something is searched', () => {
  const state = { ...initialState(), type: 'fact', page: 2 };
  assert.deepEqual(claimParams(state), { limit: 50, offset: 50, claim_type: 'fact', status: 'active' });
  assert.deepEqual(claimParams({ ...initialState(), q: ' tea ', strategy: 'fts' }, 10), {
    limit: 10, offset: 0, status: 'active', query: 'tea', strategy: 'fts',
  });
});

test('filters that are set are told, and taken away one by one or all', () => {
  const state = { ...initialState(), domain: 'health', status: 'retracted', pinned: '' };
  assert.equal(claimParams({ ...state, pinned: 'true' }).pinned, 'true');
  assert.deepEqual(activeFilters(state), [{ name: 'domain', value: 'health' }, { name: 'status', value: 'retracted' }]);
  assert.equal(isNarrowed(state), true);
  assert.deepEqual(activeFilters(changed(state, withoutFilter('status'))), [{ name: 'domain', value: 'health' }]);
  assert.equal(isNarrowed(changed(state, withoutFilters())), false);
});

test('what is named in a conversation is shown where it belongs', () => {
  assert.equal(formatPanel(showing({ kind: 'claim', id: 'c1' })), '?panel=memories&claim=c1');
  assert.equal(formatPanel(showing({ kind: 'context', id: 'x1' })), '?panel=memories&tab=contexts&open=x1');
  assert.equal(formatPanel(showing({ kind: 'tag', id: 't1' })), '?panel=memories&tag=t1');
  const joined = showing({ kind: 'group', id: 'health_domain&tea_tag' });
  assert.equal(formatPanel(joined), '?panel=memories&group=health_domain%26tea_tag');
  assert.equal(parsePanel(formatPanel(joined)).group, 'health_domain&tea_tag');
  assert.equal(claimParams(joined).group, 'health_domain&tea_tag');
  assert.equal(formatPanel(learningFrom('A/b c.md')), '?panel=memories&tab=add&document=A%2Fb+c.md');
  assert.equal(parsePanel('?panel=memories&tab=add&document=A%2Fb+c.md').document, 'A/b c.md');
  assert.equal('claim' in claimParams(showing({ kind: 'claim', id: 'c1' })), false);
});

test('a filter is called by the name of what it lets through', () => {
  const known = [{ claim_id: 'c1', friendly_id: 'likes_tea_a1b2', tags: [{ tag_id: 't1', name: 'tea', friendly_id: 'tea_tag' }], entities: [] }];
  assert.equal(nameIn({ name: 'tag', value: 'tea_tag' }, known), 'tea');
  assert.equal(nameIn({ name: 'tag', value: 't1' }, known), 'tea');
  assert.equal(nameIn({ name: 'claim', value: 'c1' }, known), 'likes_tea_a1b2');
  assert.equal(nameIn({ name: 'entity', value: 'e1' }, known), null);
  assert.equal(nameIn({ name: 'type', value: 'fact' }, known), null);
});

test('a page says which part of the whole it is', () => {
  assert.deepEqual(pageRange({ page: 1, total: 10_000, shown: 50 }), { first: 1, last: 50, pages: 200 });
  assert.deepEqual(pageRange({ page: 3, total: 120, shown: 20 }), { first: 101, last: 120, pages: 3 });
  assert.deepEqual(pageRange({ page: 1, total: 0, shown: 0 }), { first: 0, last: 0, pages: 1 });
});

test('a memory bears the marks of what happened to it', () => {
  assert.deepEqual(marksOf({ status: 'active' }), []);
  assert.deepEqual(marksOf({ status: 'active', pinned: true, is_contested: true }), [{ kind: 'pinned' }, { kind: 'contested' }]);
  assert.deepEqual(marksOf({ status: 'superseded', superseded_by: 'new_one_a1b2' }), [{ kind: 'superseded', by: 'new_one_a1b2' }]);
  assert.deepEqual(marksOf({ status: 'retracted' }), [{ kind: 'retracted' }]);
  assert.equal(isCurrent({ status: 'retracted' }), false);
  assert.equal(isCurrent({ status: 'contested' }), true);
  assert.equal(referenceTo({ friendly_id: 'likes_tea_a1b2' }), '@likes_tea_a1b2');
});

test('names and texts are said as people read them', () => {
  assert.equal(spoken('life_ops'), 'Life ops');
  assert.equal(spoken(null), '');
  assert.equal(excerpt('one two three four', 12), 'one two…');
  assert.equal(excerpt('short'), 'short');
  assert.deepEqual(splitNames(' #tea, Tea,  green tea ,'), ['Tea', 'green tea']);
});

test('only the fields that differ are sent', () => {
  assert.equal(differences({ a: [1], b: null }, { a: [1], b: null }), null);
  assert.deepEqual(differences({ a: [1], b: null }, { a: [1, 2], b: null }), { a: [1, 2] });
});

test('what a memory is filed under is told apart from what it says', () => {
  const claim = {
    tags: [{ tag_id: 't1', name: 'Tea' }, { tag_id: 't2', name: 'old' }], entities: [{ entity_id: 'e1', name: 'Mira' }], contexts: [{ context_id: 'x1' }],
  };
  const { fields, added, removed } = splitLinks(claim, { statement: 'new', tags: ['tea', 'green'], entities: [], contexts: ['x1', 'x2'] });
  assert.deepEqual(fields, { statement: 'new' });
  assert.deepEqual(added, { tags: ['green'], entities: [], contexts: ['x2'] });
  assert.deepEqual(removed, { tags: [claim.tags[1]], entities: claim.entities, contexts: [] });
  assert.equal(splitLinks(claim, { tags: ['tea'] }).fields, null);
});

test('a range is selected from the last one touched, across what is listed', () => {
  const selection = new ClaimSelection();
  selection.list(claims('a', 'b', 'c', 'd'));
  selection.set('b', true);
  selection.set('d', true, { range: true });
  assert.deepEqual(selection.ids, ['b', 'c', 'd']);
  assert.equal(selection.listed, 'some');
  selection.setListed(true);
  assert.equal(selection.listed, 'all');
});

test('a selection is kept over pages, and a range does not begin on another page', () => {
  const selection = new ClaimSelection();
  selection.list(claims('a', 'b'));
  selection.set('a', true);
  selection.list(claims('c', 'd', 'e'));
  selection.set('e', true, { range: true });
  assert.deepEqual(selection.ids, ['a', 'e']);
  assert.equal(selection.listed, 'some');
});

test('no more are selected than can be changed at once', () => {
  const selection = new ClaimSelection();
  selection.list(claims(...Array.from({ length: MOST_SELECTED + 1 }, (_each, at) => `c${at}`)));
  assert.equal(selection.setListed(true), false);
  assert.equal(selection.add(claims('another')), false);
  assert.equal(selection.size, MOST_SELECTED);
});

const CONTEXTS = [
  { context_id: '1', name: 'Health', parent_context_id: null, friendly_id: 'health_context' },
  { context_id: '2', name: 'Sleep', parent_context_id: '1', friendly_id: 'sleep_context' },
  { context_id: '3', name: 'diet', parent_context_id: '1', friendly_id: 'diet_context' },
  { context_id: '4', name: 'Lost', parent_context_id: 'gone', friendly_id: 'lost_context' },
];
const treeOf = (things) => new FilingTree(things, { id: 'context_id', parent: 'parent_context_id' });

test('contexts are a tree by name; what lost its parent is at the top', () => {
  const rows = treeOf(CONTEXTS).outline().map(({ thing, depth }) => [thing.name, depth]);
  assert.deepEqual(rows, [['Health', 0], ['diet', 1], ['Sleep', 1], ['Lost', 0]]);
});

test('a filter keeps what matches and what is above it', () => {
  const rows = treeOf(CONTEXTS).outline({ query: 'SLE' }).map(({ thing }) => thing.name);
  assert.deepEqual(rows, ['Health', 'Sleep']);
});

test('a context is found by its reference, has a path, and does not go below itself', () => {
  const tree = treeOf(CONTEXTS);
  assert.equal(tree.find('sleep_context').context_id, '2');
  assert.deepEqual(tree.path('2'), ['Health', 'Sleep']);
  assert.equal(tree.mayMove('1', '2'), false);
  assert.equal(tree.mayMove('2', '3'), true);
  assert.equal(tree.mayMove('2', null), true);
});

test('a cycle in the data does not hide anything, and does not go round for ever', () => {
  const tree = treeOf([
    { context_id: 'a', name: 'A', parent_context_id: 'b' }, { context_id: 'b', name: 'B', parent_context_id: 'a' },
    { context_id: 'c', name: 'C', parent_context_id: 'a' },
  ]);
  assert.deepEqual(tree.outline().map(({ thing }) => thing.name).sort(), ['A', 'B', 'C']);
});

const ANALYSIS = {
  claim_type: 'preference', context_domain: 'health', tags: ['sleep', 'Tea'], entities: [{ name: 'Mira', type: 'person', role: 'subject' }], friendly_id: 'mira_tea_a1b2',
};
const FORM = { claim_type: 'fact', context_domain: 'personal', tags: ['tea'], entities: [], friendly_id: '' };

test('what is offered is what the form does not have yet', () => {
  const keys = openSuggestions(ANALYSIS, FORM, { touched: new Set() }).map(({ key }) => key);
  assert.deepEqual(keys, ['claim_type:preference', 'context_domain:health', 'tags:sleep', 'entities:Mira', 'friendly_id:mira_tea_a1b2']);
});

test('nothing that a person chose is offered to be replaced', () => {
  const offers = openSuggestions(ANALYSIS, FORM, { touched: new Set(['claim_type', 'friendly_id']) });
  assert.deepEqual(offers.map(({ field }) => field), ['context_domain', 'tags', 'entities']);
});

test('an offer that is taken is in the form, and offered no more', () => {
  const touched = new Set();
  const form = openSuggestions(ANALYSIS, FORM, { touched }).reduce(accept, FORM);
  assert.deepEqual(form.tags, ['tea', 'sleep']);
  assert.deepEqual(form.entities, ANALYSIS.entities);
  assert.equal(form.claim_type, 'preference');
  assert.deepEqual(openSuggestions(ANALYSIS, form, { touched }), []);
  assert.deepEqual(openSuggestions(null, form, { touched }), []);
});

test('only what says the same or otherwise is asked about, the nearest first', () => {
  const similar = [{ kind: 'related', similarity: 0.99 }, { kind: 'duplicate', similarity: 0.8 }, { kind: 'contradiction', similarity: 0.9 }];
  assert.deepEqual(worthAsking(similar).map(({ kind }) => kind), ['contradiction', 'duplicate']);
  assert.deepEqual(worthAsking(undefined), []);
});

test('lines become statements, without the marks of lists', () => {
  assert.deepEqual(statementsIn('- I like tea\n\n 2. I run\n* I run\nI run\n-5 degrees is cold'), ['I like tea', 'I run', '-5 degrees is cold']);
});

test('a file is read where it is a text that fits', () => {
  assert.equal(refusalOf({ name: 'notes.MD', size: 10 }), null);
  assert.equal(refusalOf({ name: 'notes', size: 10, type: 'text/plain' }), null);
  assert.equal(refusalOf({ name: 'photo.png', size: 10, type: 'image/png' }), 'no_text');
  assert.equal(refusalOf({ name: 'a.txt', size: MOST_TEXT_BYTES + 1 }), 'too_large');
  assert.equal(bytesOf('ü€'), 5);
});

test('only an object is an export', () => {
  assert.deepEqual(exportIn('{"claims": []}'), { claims: [] });
  assert.equal(exportIn('[1]'), null);
  assert.equal(exportIn('nonsense'), null);
});

test('a change is said in words, one that nobody named as the server calls it', () => {
  const said = { words: { retract: 'Retracted', delete: 'Deleted', delete_claim: 'Retracted', add: 'Added' }, things: { claim: 'memory' } };
  assert.equal(describeChange({ action: 'retract', object_type: 'claim', title: 'I like tea' }, said), 'Retracted memory: I like tea');
  assert.equal(describeChange({ action: 'delete', object_type: 'claim' }, said), 'Retracted memory');
  assert.equal(describeChange({ action: 'delete', object_type: 'tag' }, said), 'Deleted tag');
  assert.equal(describeChange({ action: 'add_tag', object_type: 'tag_set' }, said), 'Added tag set');
  assert.equal(describeChange({ action: 'add_bulk', object_type: 'claim', title: '5 memories' }, said), 'Added: 5 memories');
  assert.equal(describeChange({ action: 'fold', object_type: 'claim' }, said), 'Fold memory');
});
