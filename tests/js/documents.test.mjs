import assert from 'node:assert/strict';
import test from 'node:test';

import { mentionAt, documentChosen } from '../../interface/static/page/composer/suggestions/mention_model.js';
import { AnswerState } from '../../interface/static/page/conversation/turns/answer_model.js';
import { documentTarget, isBeside, isGiven, labelOf } from '../../interface/static/page/references/report_model.js';
import { documentEntry, documentsOf, findWikilinks, linkText } from '../../interface/static/page/references/wikilinks_model.js';

test('wikilinks are found as the server finds them, none in code', () => {
  const refs = (text) => findWikilinks(text).map(({ ref }) => ref);
  assert.deepEqual(refs('See [[a]] and ![[dir/b#part|that]].'), ['[[a]]', '[[dir/b#part|that]]']);
  assert.deepEqual(refs('`[[a]]` [[]] [[#part]] [[a\nb]] [single]\n\n```\n[[c]]\n```'), []);
  assert.deepEqual(findWikilinks('x [[a]]'), [{ start: 2, end: 7, ref: '[[a]]' }]);
  assert.equal(linkText('[[dir/a#part|that one]]'), 'that one');
  assert.equal(linkText('[[dir/a]]'), 'dir/a');
});

test('two brackets ask for documents until they are closed', () => {
  const at = (text, caret = text.length) => mentionAt(text, caret);
  assert.deepEqual(at('see [[gard'), { kind: 'document', start: 4, end: 10, query: 'gard' });
  assert.deepEqual(at('[[a#he'), { kind: 'document', start: 0, end: 6, query: 'a' });
  assert.deepEqual(at('[[gard]] next', 6), { kind: 'document', start: 0, end: 8, query: 'gard' });
  for (const text of ['[[done]] ', '`[[code', '[single', '[[a\nb']) assert.notEqual(at(text)?.kind, 'document', text);
  assert.equal(documentChosen({ reference: '[[garden plan]]' }), '[[garden plan]] ');
});

const NAMED = { ref: '[[a]]', kind: 'document', status: 'ambiguous', title: 'a.md', preview: 'Alpha.', target: { path: 'a.md', anchor: null } };

test('a question that was just sent has the documents of its report, a stored one its own', () => {
  assert.deepEqual(documentsOf({ references: [NAMED, { ref: '+3', kind: 'document' }, { ref: '@x', kind: 'claim' }] }), [
    { wikilink: '[[a]]', relative_path: 'a.md', summary: 'Alpha.', anchor: null, context_snippet: null, used: true },
  ]);
  const stored = [{ wikilink: '[[b]]', relative_path: null }];
  assert.equal(documentsOf({ references: [NAMED], document_references: stored }), stored);
  assert.deepEqual(documentsOf({}), []);
});

test('a document leads to its place, a broken link nowhere', () => {
  const entry = documentEntry({ wikilink: '[[a#part]]', relative_path: 'dir/a.md', summary: null, context_snippet: 'Found', anchor: 'part' });
  assert.deepEqual(documentTarget(entry), { path: 'dir/a.md', anchor: 'part' });
  assert.deepEqual(entry.notes, ['dir/a.md', '# part', 'Found']);
  assert.equal(labelOf(entry), 'a#part');
  assert.equal(labelOf(NAMED), 'a');
  assert.equal(labelOf({ ...NAMED, ref: '[[dir/a#part|the tall one]]' }), 'the tall one');
  const broken = documentEntry({ wikilink: '[[x]]', relative_path: null });
  assert.equal(documentTarget(broken), null);
  assert.equal(isGiven(broken), false);
  assert.equal(isGiven(NAMED), true);
  assert.equal(isBeside(NAMED), false);
});

test('an answer tells its documents while it is written', () => {
  const state = new AnswerState();
  const documents = [{ wikilink: '[[a]]', relative_path: 'a.md' }];
  assert.deepEqual(state.apply({ seq: 1, text: '', document_references: documents }).changed, ['documents']);
  assert.equal(state.documents, documents);
});
