import assert from 'node:assert/strict';
import { test } from 'node:test';

import { TranscriptRequests } from '../../interface/static/page/conversation/transcript/requests_model.js';
import { TranscriptWindow } from '../../interface/static/page/conversation/transcript/window_model.js';

const range = (from, to, text = '') => Array.from({ length: to - from + 1 }, (_, i) => ({ message_id: `m${from + i}`, message_index: from + i, text }));
const idsOf = ({ messages }) => messages.map(({ message_id: id }) => id);

/** A transcript that shows messages 951 to 1000, whose requests are answered when and as the test says. */
function transcript() {
  const window = new TranscriptWindow();
  window.replace(range(951, 1000), { atEnd: true });
  const asked = [];
  const requests = new TranscriptRequests((query) => new Promise((answer, fail) => asked.push({ query, answer, fail })));
  return {
    window,
    asked,
    requests,
    lookAround: (index) => requests.replace({ around: index }, (messages) => window.replace(messages, { atEnd: false })),
    refresh: () => requests.refresh({ after: 950 }, (messages) => window.refresh(messages, { atEnd: true, stays: () => false })),
    addNewer: () => requests.add({ after: 1000 }, (messages) => window.addNewer(messages, { atEnd: true })),
  };
}

test('what was fetched again for the end does not take away the message that was jumped to meanwhile', async () => {
  for (const order of ['jump answered first', 'jump answered last']) {
    const { window, asked, lookAround, refresh } = transcript();
    const refreshed = refresh();
    const jumped = lookAround(5);
    const [again, around] = asked;
    const answers = [() => around.answer(range(1, 24)), () => again.answer(range(951, 1001))];
    for (const answer of order === 'jump answered first' ? answers : answers.toReversed()) {
      answer();
      await Promise.resolve();
    }
    await Promise.all([refreshed, jumped]);
    assert.deepEqual(idsOf(window), idsOf({ messages: range(1, 24) }), order);
  }
});

test('of two requests for the same messages the later one is shown, in whichever order they are answered', async () => {
  for (const isReversed of [false, true]) {
    const { window, asked, refresh } = transcript();
    const both = [refresh(), refresh()];
    const answers = asked.map(({ answer }, place) => () => answer(range(951, 1000, place ? 'new' : 'old')));
    for (const answer of isReversed ? answers.toReversed() : answers) {
      answer();
      await Promise.resolve();
    }
    await Promise.all(both);
    assert.deepEqual([...new Set(window.messages.map(({ text }) => text))], ['new']);
  }
});

test('a request for what is shown is done when what is newest is shown, and fails where that fails', async () => {
  const { window, asked, refresh } = transcript();
  const first = refresh();
  const second = refresh();
  let isDone = false;
  first.then(() => { isDone = true; });
  asked[0].answer(range(951, 1000, 'old'));
  await new Promise(setImmediate);
  assert.equal(isDone, false);
  asked[1].answer(range(951, 1000, 'new'));
  await Promise.all([first, second]);
  assert.equal(window.last.text, 'new');

  const lost = refresh();
  asked[2].fail(new Error('The network is gone.'));
  await assert.rejects(lost, /network/);
});

test('of two jumps the later one is shown, and what was asked before another conversation was opened is not', async () => {
  const { window, asked, requests, lookAround, addNewer } = transcript();
  const jumps = [lookAround(5), lookAround(500)];
  asked[1].answer(range(490, 510));
  asked[0].answer(range(1, 24));
  await Promise.all(jumps);
  assert.equal(window.first.message_index, 490);

  const newer = addNewer();
  requests.forget();
  asked[2].answer(range(1001, 1002));
  await newer;
  assert.equal(window.last.message_index, 510);
});

test('what came since stands behind what is shown', async () => {
  const { window, asked, addNewer } = transcript();
  const newer = addNewer();
  asked[0].answer(range(1001, 1002));
  await newer;
  assert.equal(window.last.message_index, 1002);
});
