import assert from 'node:assert/strict';
import test from 'node:test';

import { cutText, inReadingOrder, lengthOf, reduceParts } from '../../interface/static/page/conversation/card/content/parts_model.js';
import { kindOf, registerPart } from '../../interface/static/page/conversation/card/content/part_kinds.js';
import { MessageContent } from '../../interface/static/page/conversation/card/content/content.js';

const isInline = ({ kind }) => kind === 'tool_call';
const read = (text, parts) => inReadingOrder(text, parts, isInline).map(({ kind, text: words, id }) => (kind === 'text' ? words : `${kind} ${id}`));

test('a part is added, replaced by one of the same id, and grows by its text', () => {
  const thinking = { id: 1, kind: 'thinking', at: 0, text: 'Hm' };
  const grown = reduceParts(reduceParts([], { part: thinking }), { part_text: { id: 1, text: ', well' } });
  assert.deepEqual(grown, [{ ...thinking, text: 'Hm, well' }]);
  assert.deepEqual(reduceParts(grown, { part: { ...thinking, text: 'No' } }), [{ ...thinking, text: 'No' }]);
  assert.equal(reduceParts(grown, { text: 'words' }), grown);
});

test('parts among the words stand where they came, the others below', () => {
  const parts = [
    { id: 1, kind: 'notice', at: 0 },
    { id: 2, kind: 'tool_call', at: 4 },
    { id: 3, kind: 'tool_call', at: 4 },
    { id: 4, kind: 'tool_call', at: 9 },
  ];
  assert.deepEqual(read('Look.Well.', parts), ['Look', 'tool_call 2', 'tool_call 3', '.Well', 'tool_call 4', '.', 'notice 1']);
  assert.deepEqual(read('', parts.slice(0, 1)), ['', 'notice 1']);
  assert.deepEqual(read('Look', parts.slice(1, 2)), ['Look', 'tool_call 2']);
});

test('places count characters as the server counts them, not halves of them', () => {
  assert.equal(lengthOf('a😀b'), 3);
  assert.deepEqual(read('😀😀 done', [{ id: 1, kind: 'tool_call', at: 2 }]), ['😀😀', 'tool_call 1', ' done']);
});

test('words that come piece by piece are cut at the same places', () => {
  for (const pieces of [['ab', 'cd😀', 'ef'], ['abcd😀ef'], [...'abcd😀ef']]) {
    const texts = new Map();
    let from = 0;
    for (const piece of pieces) {
      for (const { at, text } of cutText(piece, from, [2, 5])) texts.set(at, (texts.get(at) ?? '') + text);
      from += lengthOf(piece);
    }
    assert.deepEqual([...texts], [[0, 'ab'], [2, 'cd😀'], [5, 'ef']]);
  }
});

/** As much of an element as the content of a message needs. */
class Place {
  children = [];

  insertBefore(node, next) {
    node.remove();
    node.parent = this;
    this.children.splice(next ? this.children.indexOf(next) : this.children.length, 0, node);
  }
}

class Shown {
  remove() {
    if (this.parent) this.parent.children = this.parent.children.filter((each) => each !== this);
  }
}

test('a kind of part comes from outside: shown among the words, brought up to date, closed', () => {
  const log = [];
  const view = (name) => ({ node: new Shown(), update: (part) => log.push(`${name}: ${part.text ?? part.question}`), begin() {}, append: (text) => log.push(`+${text}`), close: () => log.push(`${name} closed`) });
  registerPart('text', { inline: true, create: () => view('text') });
  registerPart('poll', { inline: true, create: (part, { person }) => view(`poll of ${person}`) });
  assert.equal(kindOf({ kind: 'poll' }).inline, true);
  const place = new Place();
  const content = new MessageContent(place, { person: 'Ada' });
  content.show('Before.After.', [{ id: 1, kind: 'poll', at: 7, question: 'Tea?' }]);
  const [, poll] = place.children;
  assert.deepEqual(log.splice(0), ['text: Before.', 'poll of Ada: Tea?', 'text: After.']);
  assert.equal(place.children.length, 3);

  content.show('Before.After.', [{ id: 1, kind: 'poll', at: 7, question: 'Coffee?' }]);
  assert.equal(place.children[1], poll);
  content.show('Before.', []);
  assert.ok(log.includes('poll of Ada: Coffee?') && log.includes('poll of Ada closed'));

  log.length = 0;
  content.begin('', []);
  content.append('One');
  content.showParts([{ id: 1, kind: 'poll', at: 3, question: 'Tea?' }]);
  content.append('Two');
  assert.deepEqual(log.filter((line) => !line.startsWith('text')), ['+One', 'poll of Ada: Tea?', '+Two']);
  assert.equal(place.children.length, 3);
});

test('a part of a kind that nobody knows stands below the words', () => {
  assert.equal(kindOf({ kind: 'hologram' }).inline, false);
});
