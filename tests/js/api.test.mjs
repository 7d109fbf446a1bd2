import assert from 'node:assert/strict';
import test from 'node:test';

import { ApiError, bring, createApi, followMissingParts, mayPass, nextCursor } from '../../interface/static/page/core/api.js';

/** An API whose server answers with `answer`; what it was asked is in `requests`. */
function apiAnswering(answer, options = {}) {
  const requests = [];
  const fetch = async (url, init) => {
    requests.push({ url, ...init });
    return typeof answer === 'function' ? answer() : answer;
  };
  return { api: createApi({ fetch, ...options }), requests };
}

test('what is named in an address is escaped', async () => {
  const { api, requests } = apiAnswering(() => Response.json([]));
  await api.listMessages('ada@example.org_a/b?c', { before: 51, after: undefined, limit: 50 });
  await api.resolveReference('conversation_ü_message_1&x=1');
  assert.deepEqual(requests.map(({ url }) => url), [
    '/list_messages_by_conversation/ada%40example.org_a%2Fb%3Fc?before=51&limit=50',
    '/references/resolve?ref=conversation_%C3%BC_message_1%26x%3D1',
  ]);
});

test('what is asked for ahead is asked once, told to the first that wants it, and not kept for a second', async () => {
  let answers = 0;
  const { api, requests } = apiAnswering(() => Response.json([(answers += 1)]));
  api.ahead.listMessages('c', { limit: 2 });
  assert.deepEqual(await api.listMessages('c', { limit: 3 }), [2]);
  assert.deepEqual(await api.listMessages('c', { limit: 2 }), [1]);
  assert.deepEqual(await api.listMessages('c', { limit: 2 }), [3]);
  api.ahead.getConversationDetails('c');
  api.ahead.forget();
  assert.deepEqual(await api.getConversationDetails('c'), [5]);
  assert.equal(requests.length, 5);
});

test('who no longer wants what was asked for ahead is not told it, and a failure is told to who wanted it', async () => {
  const { api } = apiAnswering(() => Response.json({ code: 'conversation_not_found', message: 'Gone.' }, { status: 404 }));
  api.ahead.getConversationDetails('c');
  await assert.rejects(api.getConversationDetails('c'), (error) => error.code === 'conversation_not_found');
  const { api: other } = apiAnswering(() => Response.json({}));
  other.ahead.getConversationDetails('c');
  await assert.rejects(other.getConversationDetails('c', { signal: AbortSignal.abort() }), { name: 'AbortError' });
});

test('what is done with a message is asked of the route for it', async () => {
  const { api, requests } = apiAnswering(() => Response.json({}));
  await api.restoreMessage('c', 'm');
  await api.showOrHideMessage('c', 'm', 3, 'hide');
  await api.listEdits('m');
  await api.pinMessage('m');
  await api.unpinMessage('m');
  await api.listPinnedMessages('c');
  await api.forkConversation('c', 'm');
  await api.regenerate('c', 'm', 'wish');
  await api.chooseVariant('m', 2);
  assert.deepEqual(requests.map(({ method, url }) => `${method} ${url}`), [
    'POST /restore_message/c/m', 'POST /show_hide_message_from_conversation/c/m/3', 'GET /messages/m/edits',
    'PUT /messages/m/pin', 'DELETE /messages/m/pin', 'GET /conversations/c/pinned_messages', 'POST /fork_conversation/c/m',
    'POST /regenerate/c/m', 'PUT /variant/m/2',
  ]);
});

test('bodies go as JSON, and always some', async () => {
  const { api, requests } = apiAnswering(() => Response.json({}));
  await api.editMessage('c', 'm', 3, 'new text');
  await api.cancelResponse('c');
  assert.deepEqual(requests.map(({ method, body, headers }) => [method, body, headers['Content-Type']]), [
    ['POST', '{"text":"new text"}', 'application/json'],
    ['POST', '{}', 'application/json'],
  ]);
});

test('an error of the server keeps its code, words and waiting time', async () => {
  const body = { status: 'error', code: 'rate_limited', message: 'Slow down.', details: { after: 3 } };
  const { api } = apiAnswering(() => Response.json(body, { status: 429, headers: { 'Retry-After': '7' } }));
  await assert.rejects(api.models(), (error) => {
    assert.ok(error instanceof ApiError);
    const { status, code, message, details, retryAfter } = error;
    assert.deepEqual({ status, code, message, details, retryAfter }, {
      status: 429, code: 'rate_limited', message: 'Slow down.', details: { after: 3 }, retryAfter: 7,
    });
    return true;
  });
});

test('no waiting time is longer than timers are', async () => {
  const { api } = apiAnswering(() => Response.json({}, { status: 429, headers: { 'Retry-After': '2592000' } }));
  await assert.rejects(api.models(), (error) => error.retryAfter === 3600);
});

test('an error that is no JSON is still one', async () => {
  const { api } = apiAnswering(() => new Response('<h1>Oops</h1>', { status: 500, statusText: 'Internal Server Error' }));
  await assert.rejects(api.models(), { name: 'ApiError', status: 500, code: 'http_500', message: 'Internal Server Error' });
});

test('what a gateway answers in the place of the server is said in words of the page', async () => {
  // Over HTTP/2 there is no text beside the number.
  for (const statusText of ['Bad Gateway', '']) {
    const { api } = apiAnswering(() => new Response('<h1>Bad gateway</h1>', { status: 502, statusText }));
    await assert.rejects(api.models(), { name: 'ApiError', status: 502, code: 'http_502', message: 'The server cannot be reached.' });
  }
});

test('a server that can not be reached is told apart from one that refuses', async () => {
  const { api } = apiAnswering(() => Promise.reject(new TypeError('Failed to fetch')));
  await assert.rejects(api.models(), { name: 'ApiError', status: 0, code: 'network_failed' });
});

test('who leaves gets no error of the network', async () => {
  const { api } = apiAnswering(() => Promise.reject(new DOMException('left', 'AbortError')));
  await assert.rejects(api.models(), { name: 'AbortError' });
});

test('a session that ended is told', async () => {
  let told = 0;
  const { api } = apiAnswering(() => Response.json({ code: 'unauthorized' }, { status: 401 }), {
    onUnauthorized: () => {
      told += 1;
    },
  });
  await assert.rejects(api.models(), { status: 401 });
  assert.equal(told, 1);
});

test('sending hands out the stream itself', async () => {
  const { api, requests } = apiAnswering(() => new Response('{"seq":1}\n'));
  const response = await api.sendMessage('c', { messageText: 'Hi' });
  assert.equal(await response.text(), '{"seq":1}\n');
  assert.equal(requests[0].headers.Accept, 'application/x-ndjson');
});

test('the next page is found in the Link header', async () => {
  const headers = { Link: '</list_conversation_by_user/assistant?limit=2&cursor=a%2Bb>; rel=next' };
  const { api } = apiAnswering(() => Response.json([{ conversation_id: 'c' }], { headers }));
  assert.deepEqual(await api.listConversationsPage('assistant', { limit: 2 }), {
    conversations: [{ conversation_id: 'c' }], cursor: 'a+b',
  });
  assert.equal(nextCursor(null), null);
  assert.equal(nextCursor('</x?cursor=1>; rel=prev'), null);
});

test('it is told while a request runs that somebody waits for, once for several', async () => {
  const told = [];
  const pending = [];
  const api = createApi({ fetch: () => new Promise((resolve) => pending.push(resolve)), onBusy: (busy) => told.push(busy) });
  const both = [api.pinMessage('m'), api.listEdits('m')];
  assert.deepEqual(told, [true]);
  pending[0](Response.json({}));
  await both[0];
  assert.deepEqual(told, [true]);
  pending[1](Response.json([], { status: 500 }));
  await assert.rejects(both[1]);
  assert.deepEqual(told, [true, false]);
});

test('nothing is told of what nobody waits for', async () => {
  const told = [];
  const { api } = apiAnswering(() => Response.json({}), { onBusy: (busy) => told.push(busy) });
  await api.models();
  await api.resolveReference('conversation_x_message_1');
  await api.watchStream('m', 0);
  await api.autocompleteConversations('x', {}, { quiet: true });
  assert.deepEqual(told, []);
});

test('what nobody answered, or the server could not do now, may go well the next time', () => {
  const errors = [0, 429, 500, 503, 404, 409, 422].map((status) => new ApiError({ status }));
  assert.deepEqual(errors.map(mayPass), [true, true, true, true, false, false, false]);
  assert.equal(mayPass(new TypeError('Failed to fetch dynamically imported module')), true);
});

test('a part of the page that does not come is said in words; a mistake in it stays what it is', async () => {
  const lost = new TypeError('Failed to fetch dynamically imported module: http://127.0.0.1:5000/static/page/search/panel.js');
  await assert.rejects(bring(() => Promise.reject(lost)), (error) => {
    assert.ok(error instanceof ApiError);
    assert.deepEqual([error.code, error.message], ['network_failed', 'The server cannot be reached.']);
    return mayPass(error);
  });
  const mistake = new SyntaxError('Unexpected token');
  await assert.rejects(bring(() => Promise.reject(mistake)), mistake);
  assert.deepEqual(await bring(async () => ({ one: 1 })), { one: 1 });
});

test('a part that does not fit to the page, since the server has another version, only comes by a reload', async () => {
  const lost = new TypeError('Failed to fetch dynamically imported module');
  const unfitting = new SyntaxError('The requested module does not provide an export named x');
  followMissingParts(async () => true);
  for (const error of [lost, unfitting]) {
    await assert.rejects(bring(() => Promise.reject(error)), (told) => {
      assert.deepEqual([told.code, told.message], ['page_outdated', 'Anaphora was updated on the server. Reload the page; what you typed is kept.']);
      return !mayPass(told);
    });
  }
  followMissingParts(async () => false);
  await assert.rejects(bring(() => Promise.reject(unfitting)), unfitting);
});

test('each request says whose page it is, and that another account is logged in is told', async () => {
  const told = [];
  const refusal = () => Response.json({ code: 'other_account', message: 'Another account.' }, { status: 409 });
  const { api, requests } = apiAnswering(refusal, { user: 'adä@example.org', onOtherAccount: () => told.push('other') });
  await assert.rejects(api.models(), { code: 'other_account' });
  assert.deepEqual([requests[0].headers['X-Anaphora-User'], told], ['ad%C3%A4%40example.org', ['other']]);
});

test('of a session that ended it is told whether anybody waits for the answer', async () => {
  const told = [];
  const { api } = apiAnswering(() => Response.json({}, { status: 401 }), { onUnauthorized: ({ quiet }) => told.push(quiet) });
  await assert.rejects(api.models());
  await assert.rejects(api.listWorkspaces('assistant'));
  assert.deepEqual(told, [true, false]);
});

/** A request that nobody answers. */
const unanswered = (url, { signal }) => new Promise((resolve, reject) => {
  signal.addEventListener('abort', () => reject(signal.reason));
});

test('a server that does not answer in time is told apart from one that can not be reached', async () => {
  const api = createApi({ fetch: unanswered, patience: 5 });
  await assert.rejects(api.models(), { name: 'ApiError', status: 0, code: 'timed_out' });
  await assert.rejects(api.sendMessage('c', {}), { code: 'timed_out' });
});

test('a stream that began may take as long as it likes', async () => {
  let signal;
  const api = createApi({ patience: 5, fetch: async (url, options) => {
    ({ signal } = options);
    return new Response('');
  } });
  await api.sendMessage('c', {});
  await new Promise((resolve) => { setTimeout(resolve, 20); });
  assert.equal(signal.aborted, false);
});
