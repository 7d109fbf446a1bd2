import assert from 'node:assert/strict';
import test from 'node:test';

import { createApi } from '../../interface/static/page/core/api.js';
import { createExportApi, fileNameIn } from '../../interface/static/page/conversation/export/api.js';
import { setStateless } from '../../interface/static/page/conversation/stateless_api.js';

function apiThatAnswers(answer) {
  const asked = [];
  const api = createApi({
    fetch: async (path, { method }) => {
      asked.push(`${method} ${path}`);
      return answer();
    },
  });
  return { api, asked };
}

test('a file is called what the server calls it', () => {
  const header = "attachment; filename=\"Br_d.md\"; filename*=UTF-8''Br%C3%B6d%20%26%20butter.md";
  assert.equal(fileNameIn(header, 'x'), 'Bröd & butter.md');
  assert.equal(fileNameIn('attachment; filename="a \\"b\\".md"', 'x'), 'a "b".md');
  assert.equal(fileNameIn("attachment; filename=\"plain.md\"; filename*=UTF-8''%E0%A4%A", 'x'), 'plain.md');
  for (const header of [null, '', 'attachment', 'attachment; filename=""']) assert.equal(fileNameIn(header, 'x'), 'x');
});

test('no name leads out of the folder for downloads', () => {
  assert.equal(fileNameIn("attachment; filename*=UTF-8''..%2F..%2Fetc%2Fpasswd", 'x'), 'passwd');
  assert.equal(fileNameIn('attachment; filename="..\\\\start.bat"', 'x'), 'start.bat');
});

test('a conversation comes as the bytes and the name that the server gives', async () => {
  const headers = { 'Content-Disposition': 'attachment; filename="Bread.md"' };
  const { api, asked } = apiThatAnswers(() => new Response('# Bread', { headers }));
  const { blob, name } = await createExportApi(api).exportConversation('a@b_1/2', 'markdown');
  assert.deepEqual([name, await blob.text()], ['Bread.md', '# Bread']);
  assert.deepEqual(asked, ['GET /export_conversation/a%40b_1%2F2?format=markdown&files=true']);
});

test('an export that is refused throws what the server said', async () => {
  const refusal = { code: 'conversation_not_found', message: 'There is no such conversation.' };
  const { api } = apiThatAnswers(() => Response.json(refusal, { status: 404 }));
  await assert.rejects(createExportApi(api).exportConversation('x', 'json'), refusal);
});

test('a conversation is made stateless and stateful by one call each', async () => {
  const { api, asked } = apiThatAnswers(() => Response.json({ stateless: true }));
  assert.deepEqual(await setStateless(api, 'a@b_1', true), { stateless: true });
  await setStateless(api, 'a@b_1', false);
  assert.deepEqual(asked, ['PUT /make_conversation_stateless/a%40b_1', 'PUT /make_conversation_stateful/a%40b_1']);
});
