import assert from 'node:assert/strict';
import test from 'node:test';

import { formatAddress, parseAddress, permalink } from '../../interface/static/page/core/address.js';
import { addCopyFallback, copyText } from '../../interface/static/page/core/clipboard.js';
import { conversationTitle, shownTitle } from '../../interface/static/page/core/words/conversation_title.js';
import { createEvents, createOwnEvents } from '../../interface/static/page/core/events.js';
import { createLatest } from '../../interface/static/page/core/latest.js';
import { fullTime, saysNoDay, shortTime } from '../../interface/static/page/core/words/times.js';
import { strings } from '../../interface/static/page/strings/en/conversation.js';
import { createAnnouncer } from '../../interface/static/page/ui/notices/announcer.js';

test('an address leads back to the conversation and message it was made of', () => {
  const cases = [['ada@example.org_x9', null], ['ada@example.org_x9', 'm-1'], ['ö/ä?#%_1', 'm&2'], [null, null]];
  for (const [conversationId, messageId] of cases) {
    const { pathname, search } = new URL(formatAddress(conversationId, messageId), 'http://localhost');
    assert.deepEqual(parseAddress({ pathname, search }), { conversationId, messageId });
  }
});

test('an address that is none names nothing', () => {
  for (const pathname of ['/interface/', '/account', '/interface/a/b', '/interface/%E0%A4%A']) {
    assert.deepEqual(parseAddress({ pathname, search: '?message=m' }), { conversationId: null, messageId: null });
  }
});

test('a permalink names the friendly id and the hash or number', () => {
  assert.equal(permalink('https://a.example', 'react_p44e', 'a3f2b1'), 'https://a.example/r/react_p44e/a3f2b1');
  assert.equal(permalink('https://a.example', 'react_p44e', 5), 'https://a.example/r/react_p44e/5');
});

test('every listener hears an event, also when one of them fails', (t) => {
  t.mock.method(console, 'error', () => {});
  const events = createEvents();
  const heard = [];
  events.on('said', () => {
    throw new Error('broken');
  });
  const leave = events.on('said', ({ word }) => heard.push(word));
  events.emit('said', { word: 'a' });
  leave();
  events.emit('said', { word: 'b' });
  assert.deepEqual(heard, ['a']);
  assert.equal(console.error.mock.callCount(), 2);
});

test('only the newest of quick requests is asked', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const asked = [];
  const answers = [];
  const latest = createLatest(async (query) => (asked.push(query), query.toUpperCase()), {
    delay: 150, onAnswer: (answer) => answers.push(answer),
  });
  latest.request('r');
  t.mock.timers.tick(149);
  latest.request('re');
  t.mock.timers.tick(150);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual([asked, answers], [['re'], ['RE']]);
});

test('an answer that comes late, after a newer question, is dropped', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const waiting = {};
  const answers = [];
  const latest = createLatest((query, { signal }) => new Promise((resolve) => {
    waiting[query] = { resolve, signal };
  }), { delay: 10, onAnswer: (answer) => answers.push(answer) });
  latest.request('old');
  t.mock.timers.tick(10);
  latest.request('new');
  t.mock.timers.tick(10);
  waiting.new.resolve('new answer');
  waiting.old.resolve('old answer');
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(answers, ['new answer']);
  assert.equal(waiting.old.signal.aborted, true);
});

test('where the clipboard is refused the next way copies, and the last shows the text', async () => {
  const tried = [];
  let works = true;
  addCopyFallback((text) => (tried.push(`select ${text}`), works));
  addCopyFallback((text) => (tried.push(`show ${text}`), false));
  assert.equal(await copyText('a'), true);
  works = false;
  assert.equal(await copyText('b'), false);
  assert.deepEqual(tried, ['select a', 'select b', 'show b']);
});

test('times are said as short as they may be', () => {
  const now = new Date(2026, 5, 15, 18, 0);
  const say = (...date) => shortTime(new Date(...date).toISOString(), { now, locale: 'en-GB' });
  assert.equal(say(2026, 5, 15, 9, 5), '09:05');
  assert.equal(say(2026, 1, 2, 9, 5), '2 Feb, 09:05');
  assert.equal(say(2024, 1, 2, 9, 5), '2 Feb 2024, 09:05');
  assert.equal(shortTime('never'), '');
  assert.match(fullTime(new Date(2026, 5, 15, 9, 5).toISOString(), { locale: 'en-GB' }), /15 June 2026.*09:05:00/);
});

test('a time without its day is known as such from the next day on', () => {
  const moment = new Date(2026, 5, 15, 23, 50).toISOString();
  const says = (text, day) => saysNoDay(text, moment, { now: new Date(2026, 5, day, 0, 5), locale: 'en-GB' });
  assert.deepEqual([says('23:50', 15), says('23:50', 16), says('15 Jun, 23:50', 16), says('', 16)], [false, true, false, false]);
  assert.equal(saysNoDay('', 'never'), false);
});

test('a part has events of its own among those of the page', () => {
  const page = createEvents();
  const part = createOwnEvents(page, new Set(['shown']));
  const heard = [];
  for (const [where, events] of [['page', page], ['part', part]]) {
    for (const name of ['shown', 'told']) events.on(name, () => heard.push(`${where} ${name}`));
  }
  part.emit('shown');
  page.emit('shown');
  part.emit('told');
  assert.deepEqual(heard, ['part shown', 'page shown', 'page told', 'part told']);
});

test('the same announcement twice is a change that a screen reader speaks', () => {
  const region = { textContent: '' };
  const announce = createAnnouncer(region);
  const heard = [];
  for (const text of ['Copied', 'Copied', 'Copied', 'Done', '']) {
    announce(text);
    heard.push(region.textContent);
  }
  assert.deepEqual(heard.map((text) => text.trim()), ['Copied', 'Copied', 'Copied', 'Done', '']);
  assert.ok(heard.every((text, place) => text !== heard[place - 1]));
});

test('a conversation that the server named is called so in the language of the page; others keep their titles', () => {
  const { transcript } = strings;
  const english = transcript.none;
  transcript.none = 'Neue Unterhaltung';
  assert.equal(conversationTitle('New conversation'), 'Neue Unterhaltung');
  transcript.none = english;
  assert.deepEqual([conversationTitle(' New bread '), conversationTitle(null), conversationTitle(' ')], ['New bread', '', '']);
  assert.deepEqual([shownTitle('Bread'), shownTitle(undefined), shownTitle(' ')], ['Bread', '(untitled)', '(untitled)']);
});
