import assert from 'node:assert/strict';
import test from 'node:test';

import { branchTree } from '../../interface/static/page/conversation/branch_tree_model.js';

const fork = (first, branchId, chosen, ...ids) => ({
  message_id: first, branch_id: branchId, chosen, branches: ids.map((id, place) => ({ number: place + 1, message_id: id, preview: id, created_at: '' })),
});
const drawn = (nodes) => nodes.map(({ messageId, isActive, children }) => `${messageId}${isActive ? '*' : ''}${children.length > 0 ? `(${drawn(children)})` : ''}`).join(' ');

test('questions that were asked again stand below the way on which they came', () => {
  const forks = [fork('a', null, 1, 'a', 'b'), fork('c', null, 2, 'c', 'd'), fork('e', 'b', 1, 'e', 'f')];
  assert.equal(drawn(branchTree(forks)), 'a*(c d*) b(e f)');
});

test('a conversation without branches has no tree', () => {
  assert.deepEqual(branchTree([]), []);
});
