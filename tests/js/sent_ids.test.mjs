import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ApiError } from '../../interface/static/page/core/api.js';
import { SentIds } from '../../interface/static/page/conversation/turns/answer_stream.js';

const lost = new ApiError({ message: 'unreachable' });

test('each message has an id of its own', () => {
  const ids = new SentIds();
  const first = ids.identified('c', { messageText: 'Hi' });
  ids.accepted('c');
  const second = ids.identified('c', { messageText: 'Hi' });
  assert.match(first.client_message_id, /^[0-9a-f]{32}$/);
  assert.notEqual(first.client_message_id, second.client_message_id);
});

test('after a lost response the same text goes under the same id', () => {
  const ids = new SentIds();
  const first = ids.identified('c', { messageText: 'Hi' });
  ids.failed('c', first, lost);
  assert.deepEqual(ids.identified('c', { messageText: 'Hi' }), first);
  assert.notEqual(ids.identified('d', { messageText: 'Hi' }).client_message_id, first.client_message_id);
  assert.notEqual(ids.identified('c', { messageText: 'Hello' }).client_message_id, first.client_message_id);
  ids.accepted('c');
  assert.notEqual(ids.identified('c', { messageText: 'Hi' }).client_message_id, first.client_message_id);
});

test('what the server refused goes under a new id', () => {
  const ids = new SentIds();
  const first = ids.identified('c', { messageText: 'Hi' });
  ids.failed('c', first, new ApiError({ status: 409, code: 'conflict' }));
  assert.notEqual(ids.identified('c', { messageText: 'Hi' }).client_message_id, first.client_message_id);
});
