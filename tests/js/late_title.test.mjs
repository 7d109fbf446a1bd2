import assert from 'node:assert/strict';
import { test } from 'node:test';

import { ApiError } from '../../interface/static/page/core/api.js';
import { lateTitle } from '../../interface/static/page/conversation/late_title_model.js';

/** Looks that give these one after the other, the last one for ever; `pauses` are those before each. */
function looking(...answers) {
  const pauses = [];
  const look = async () => {
    const answer = answers[Math.min(pauses.length, answers.length) - 1];
    if (answer instanceof Error) throw answer;
    return answer;
  };
  return { pauses, look, wait: async (milliseconds) => pauses.push(milliseconds) };
}

const ANSWERING = { title: '', message_count: 2 };
const TITLED = { title: 'Growing tomatoes', message_count: 2 };

test('looks until there is a title, also over a broken connection', async () => {
  const { look, wait, pauses } = looking(ANSWERING, new ApiError({}), ANSWERING, TITLED);
  assert.equal(await lateTitle(look, { wait }), TITLED);
  assert.equal(pauses.length, 4);
});

test('looks less and less often, and not for ever', async () => {
  const { look, wait, pauses } = looking(ANSWERING);
  assert.equal(await lateTitle(look, { wait }), null);
  assert.equal(pauses.length, 60);
  assert.deepEqual(pauses.slice(0, 3), [1000, 1500, 2250]);
  assert.equal(pauses.at(-1), 30_000);
});

test('waits a little for the first message, and for none where there is none', async () => {
  const empty = { title: '', message_count: 0 };
  const arrived = looking(empty, empty, ANSWERING, TITLED);
  assert.equal(await lateTitle(arrived.look, { wait: arrived.wait }), TITLED);
  const never = looking(empty);
  assert.equal(await lateTitle(never.look, { wait: never.wait }), null);
  assert.equal(never.pauses.length, 3);
});

test('ends with the conversation, and where nobody wants to know', async () => {
  const gone = looking(ANSWERING, new ApiError({ status: 404, code: 'conversation_not_found' }));
  assert.equal(await lateTitle(gone.look, { wait: gone.wait }), null);
  assert.equal(gone.pauses.length, 2);
  const unwanted = looking(TITLED);
  assert.equal(await lateTitle(unwanted.look, { wait: unwanted.wait, isWanted: () => false }), null);
});
