import assert from 'node:assert/strict';
import test from 'node:test';

import { createShareApi, fileAddress, linkOf } from '../../interface/static/page/conversation/sharing/api.js';

function recorder() {
  const asked = [];
  const note = (method) => (path, more) => {
    asked.push([method, path, more]);
    return Promise.resolve({});
  };
  return { asked, api: createShareApi({ get: note('GET'), post: note('POST'), delete: note('DELETE') }) };
}

test('each part of an address is escaped', async () => {
  const { asked, api } = recorder();
  await api.getShare('ada@example.org_a/b');
  await api.share('a/b', ['1']);
  await api.withdraw('a/b');
  await api.readShared('t/?k', 50);
  assert.deepEqual(asked, [
    ['GET', '/share/ada%40example.org_a%2Fb', undefined],
    ['POST', '/share/a%2Fb', { files: ['1'] }],
    ['DELETE', '/share/a%2Fb', undefined],
    ['GET', '/shared_chat/t%2F%3Fk', { after: 50 }],
  ]);
  assert.equal(fileAddress('t/?k', 'a?b', 3, 1), '/shared_chat/t%2F%3Fk/files/a%3Fb/3/1');
});

test('a link is whole, and empty where it can not be shown', (t) => {
  globalThis.location = { origin: 'https://chat.example.org' };
  t.after(() => delete globalThis.location);
  assert.equal(linkOf({ url: '/shared_chat/abc' }), 'https://chat.example.org/shared_chat/abc');
  assert.equal(linkOf({ url: null }), '');
});
