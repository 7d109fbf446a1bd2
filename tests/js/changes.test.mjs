import assert from 'node:assert/strict';
import { getEventListeners } from 'node:events';
import { afterEach, test } from 'node:test';

import { ApiError } from '../../interface/static/page/core/api.js';
import { ChangeFeed } from '../../interface/static/page/core/changes.js';
import { leadByLease, leadByLock } from '../../interface/static/page/core/leadership.js';

const settled = () => new Promise((resolve) => {
  setImmediate(resolve);
});
const line = (seq) => ({ seq, kind: 'conversation', change: 'changed', id: 'a', fields: {}, at: '' });

const feeds = [];
afterEach(() => feeds.splice(0).forEach((feed) => feed.close()));

/** A server with numbered changes, and the browser whose tabs watch it. */
class World {
  constructor(newest = 0) {
    this.epoch = 'e';
    this.newest = newest;
    this.streams = [];
    this.asked = [];
    this.tabs = [];
    this.inLine = [];
    this.refusals = [];
    this.waits = [];
  }

  open({ after, epoch }, { signal }) {
    this.asked.push({ after, epoch });
    const refusal = this.refusals.shift();
    if (refusal) return Promise.reject(refusal);
    let controller;
    const body = new ReadableStream({ start: (given) => { controller = given; } });
    const stream = { send: (...lines) => controller.enqueue(new TextEncoder().encode(lines.map((each) => `${JSON.stringify(each)}\n`).join(''))), end: () => controller.close(), signal };
    this.streams.push(stream);
    signal.addEventListener('abort', () => {
      this.streams = this.streams.filter((each) => each !== stream);
      controller.error(signal.reason);
    });
    if (epoch !== this.epoch) stream.send({ seq: this.newest, reset: true, epoch: this.epoch });
    else for (let seq = after + 1; seq <= this.newest; seq += 1) stream.send(line(seq));
    return Promise.resolve({ body });
  }

  async say(count = 1) {
    for (let number = 0; number < count; number += 1) {
      this.newest += 1;
      for (const stream of this.streams) stream.send(line(this.newest));
    }
    await settled();
    await settled();
  }

  /** A tab; the first one leads, the next when it closes. */
  tab(position = { seq: this.newest, epoch: this.epoch }) {
    const world = this;
    const tab = { seen: [], heard: 0, resets: 0, ended: null, listeners: [], isFrozen: false };
    const channel = {
      addEventListener: (_name, listener) => tab.listeners.push(listener),
      postMessage: (data) => queueMicrotask(() => {
        for (const other of world.tabs) if (other !== tab && !other.isFrozen) other.listeners.forEach((hear) => hear({ data }));
      }),
      close: () => {
        world.tabs = world.tabs.filter((each) => each !== tab);
      },
    };
    world.tabs.push(tab);
    tab.feed = new ChangeFeed({
      name: 'n', channel, position, open: (query, options) => world.open(query, options), 
      wait: (milliseconds) => {
        world.waits.push(milliseconds);
        return settled();
      },
      leadBy: (_name, on) => {
        tab.on = on;
        world.inLine.push(tab);
        if (world.inLine[0] === tab) queueMicrotask(on.begin);
        return { takeOver: () => world.lead(tab), resign: () => world.leave(tab) };
      },
      on: {
        changes: (changes) => tab.seen.push(...changes.map(({ seq }) => seq)),
        reset: () => {
          tab.resets += 1;
        },
        alive: () => {
          tab.heard += 1;
        },
        end: (error) => {
          tab.ended = error;
        },
      },
    });
    feeds.push(tab.feed);
    return tab;
  }

  lead(tab) {
    this.tabs.find((each) => each.feed.leads)?.on.end();
    tab.on.begin();
  }

  leave(tab) {
    const wasFirst = this.inLine[0] === tab;
    this.inLine = this.inLine.filter((each) => each !== tab);
    if (wasFirst) this.inLine[0]?.on.begin();
  }
}

test('one stream serves all tabs, and each sees each change once', async () => {
  const world = new World(7);
  const tabs = [world.tab(), world.tab(), world.tab()];
  await world.say(3);
  for (const tab of tabs) assert.deepEqual(tab.seen, [8, 9, 10]);
  for (const tab of tabs) assert.ok(tab.heard > 0, 'each knows that the server is there');
  assert.equal(world.streams.length, 1);
  assert.equal(world.asked.length, 1);
});

test('when the leading tab closes, another takes over and nothing is lost', async () => {
  const world = new World();
  const [first, second] = [world.tab(), world.tab()];
  await world.say();
  first.feed.close();
  world.newest = 3;
  await settled();
  await world.say();
  assert.deepEqual(second.seen, [1, 2, 3, 4]);
  assert.equal(world.streams.length, 1);
});

test('a tab that was frozen asks only for what it missed', async () => {
  const world = new World();
  const [leader, frozen] = [world.tab(), world.tab()];
  await world.say();
  frozen.isFrozen = true;
  await world.say(4);
  frozen.isFrozen = false;
  frozen.feed.wake();
  await settled();
  await settled();
  assert.deepEqual(frozen.seen, [1, 2, 3, 4, 5]);
  assert.deepEqual(leader.seen, [1, 2, 3, 4, 5]);
  assert.deepEqual(world.asked.map(({ after }) => after), [0, 1]);
  assert.equal(world.streams.length, 1);
});

test('a gap is noticed without being told', async () => {
  const world = new World();
  const [, other] = [world.tab(), world.tab()];
  await settled();
  other.isFrozen = true;
  await world.say();
  other.isFrozen = false;
  await world.say();
  await settled();
  assert.deepEqual(other.seen, [1, 2]);
});

test('a tab that was made from an older page catches up; one from a newer page repeats nothing', async () => {
  const world = new World(5);
  world.tab({ seq: 5, epoch: 'e' });
  await settled();
  const older = world.tab({ seq: 3, epoch: 'e' });
  const newer = world.tab({ seq: 6, epoch: 'e' });
  await settled();
  await world.say(2);
  assert.deepEqual(older.seen, [4, 5, 6, 7]);
  assert.deepEqual(newer.seen, [7]);
});

test('another epoch lets every tab load everything again, once', async () => {
  const world = new World(9);
  const tabs = [world.tab(), world.tab()];
  await settled();
  Object.assign(world, { epoch: 'f', newest: 4 });
  world.streams[0].end();
  world.streams = [];
  await settled();
  await settled();
  await world.say();
  for (const tab of tabs) {
    assert.equal(tab.resets, 1);
    assert.deepEqual(tab.seen, [5]);
    assert.deepEqual(tab.feed.position, { seq: 5, epoch: 'f' });
  }
  assert.equal(world.asked.at(-1).epoch, 'e');
});

test('a broken connection is taken up again from the last change, with growing pauses', async () => {
  const world = new World();
  world.refusals = [new TypeError('network'), new ApiError({ status: 503 }), new ApiError({ status: 429, retryAfter: 7 })];
  const tab = world.tab();
  for (let turn = 0; turn < 6; turn += 1) await settled();
  await world.say();
  assert.deepEqual(tab.seen, [1]);
  assert.equal(world.waits[2], 7000);
  assert.ok(world.waits[0] <= 500 && world.waits[1] <= 1000 && world.waits[1] >= 500);
});

test('a session that has ended, or is of another account, ends the watching', async () => {
  for (const status of [401, 409]) {
    const world = new World();
    world.refusals = [new ApiError({ status })];
    const tab = world.tab();
    await settled();
    await settled();
    assert.equal(tab.ended.status, status);
    assert.equal(world.asked.length, 1);
  }
});

test('the last line of a session that has ended is no change, and the next answer tells that nobody is logged in', async () => {
  const world = new World();
  const tab = world.tab();
  await settled();
  await world.say();
  world.refusals = [new ApiError({ status: 401 })];
  const [stream] = world.streams;
  stream.send({ seq: 1, text: '', status: '', error: { code: 'unauthorized', message: 'Please log in.' } });
  stream.end();
  for (let turn = 0; turn < 6; turn += 1) await settled();
  assert.deepEqual([tab.seen, tab.resets, tab.ended?.status], [[1], 0, 401]);
  assert.deepEqual(world.asked.at(-1), { after: 1, epoch: 'e' });
});

test('where somebody has logged in again, tabs whose session had ended go on watching', async () => {
  const world = new World();
  world.refusals = [401, 401].map((status) => new ApiError({ status }));
  const [first, second] = [world.tab(), world.tab()];
  for (let turn = 0; turn < 4; turn += 1) await settled();
  assert.deepEqual([first.ended.status, second.ended.status], [401, 401]);
  assert.equal(world.asked.length, 2);
  await world.say(2);
  assert.deepEqual([first.seen, second.seen], [[], []]);

  const fresh = world.tab();
  await settled();
  await world.say();
  assert.deepEqual([first.seen, second.seen, fresh.seen], [[1, 2, 3], [1, 2, 3], [3]]);
  fresh.feed.close();
  await settled();
  await world.say();
  assert.deepEqual([first.seen.at(-1), second.seen.at(-1)], [4, 4], 'one of them leads now');
});

test('a tab whose session had ended asks again when it is looked at', async () => {
  const world = new World();
  world.refusals = [new ApiError({ status: 401 })];
  const tab = world.tab();
  await settled();
  await settled();
  assert.equal(tab.feed.leads, false);
  tab.feed.wake();
  await settled();
  await world.say();
  assert.deepEqual(tab.seen, [1]);
});

test('a tab that is looked at takes over from a leader that does not answer', async () => {
  const world = new World();
  const [leader, looked] = [world.tab(), world.tab()];
  await settled();
  await looked.feed.watch();
  assert.deepEqual([leader.feed.leads, looked.feed.leads], [true, false], 'it answers, also while nothing happens');
  leader.isFrozen = true;
  looked.feed.wake();
  await settled();
  await settled();
  assert.equal(looked.feed.leads, true);
  await world.say(2);
  assert.deepEqual(looked.seen, [1, 2]);
});

/** Web Locks, as far as leading needs them. */
class Locks {
  constructor() {
    this.queue = [];
    this.held = null;
  }

  request(_name, { steal = false, signal }, hold) {
    return new Promise((resolve, reject) => {
      const entry = { hold, resolve, reject };
      signal?.addEventListener('abort', () => {
        if (!this.queue.includes(entry)) return;
        this.queue = this.queue.filter((each) => each !== entry);
        reject(signal.reason);
      });
      if (steal) {
        this.held?.reject(new DOMException('stolen', 'AbortError'));
        this.grant(entry);
      } else if (this.held) this.queue.push(entry);
      else this.grant(entry);
    });
  }

  grant(entry) {
    this.held = entry;
    entry.hold().then((value) => {
      entry.resolve(value);
      if (this.held !== entry) return;
      this.held = null;
      if (this.queue.length) this.grant(this.queue.shift());
    });
  }
}

function candidate(elect) {
  const tab = { leads: false };
  const set = (leads) => () => {
    tab.leads = leads;
  };
  tab.leadership = elect({ begin: set(true), end: set(false) });
  return tab;
}

test('one tab leads by a lock until it resigns or is taken over', async () => {
  const locks = new Locks();
  const [first, second, third] = [1, 2, 3].map(() => candidate((on) => leadByLock('n', on, locks)));
  assert.deepEqual([first.leads, second.leads], [true, false]);
  first.leadership.resign();
  await settled();
  assert.deepEqual([first.leads, second.leads, third.leads], [false, true, false]);
  third.leadership.takeOver();
  await settled();
  assert.deepEqual([second.leads, third.leads], [false, true]);
  third.leadership.resign();
  await settled();
  assert.deepEqual([second.leads, third.leads], [true, false]);
});

test('a page that is being left asks for the lock no more', async () => {
  let asked = 0;
  const request = (_name, _options, hold) => {
    asked += 1;
    if (asked === 1) hold();
    // As WebKit says it: first of the lock that the page held, then of each that it asks for.
    return Promise.reject(new DOMException('left', asked === 1 ? 'AbortError' : 'InvalidStateError'));
  };
  const left = candidate((on) => leadByLock('n', on, { request }));
  await settled();
  await settled();
  assert.equal(left.leads, false);
  assert.equal(asked, 2);
});

test('where the browser forbids locks, a lease decides', async () => {
  const refused = { request: () => Promise.reject(new DOMException('forbidden', 'SecurityError')) };
  const leases = [];
  const byLease = (_name, { begin }) => {
    begin();
    const lease = { taken: 0, resigned: 0, takeOver: () => (lease.taken += 1), resign: () => (lease.resigned += 1) };
    leases.push(lease);
    return lease;
  };
  const tab = candidate((on) => leadByLock('n', on, refused, byLease));
  await settled();
  assert.equal(tab.leads, true);
  tab.leadership.takeOver();
  tab.leadership.resign();
  assert.deepEqual(leases.map(({ taken, resigned }) => [taken, resigned]), [[1, 1]]);
});

test('without locks, one tab leads by a lease that it renews', () => {
  const stored = new Map();
  const storage = { getItem: (key) => stored.get(key) ?? null, setItem: (key, value) => stored.set(key, value), removeItem: (key) => stored.delete(key) };
  let moment = 0;
  const ticks = new Set();
  const every = (tick) => {
    ticks.add(tick);
    return null;
  };
  const elect = (on) => leadByLease('n', on, { storage, now: () => moment, every });
  const [first, second] = [candidate(elect), candidate(elect)];
  assert.deepEqual([first.leads, second.leads], [true, false]);
  moment += 6000;
  for (const tick of ticks) tick();
  moment += 6000;
  for (const tick of ticks) tick();
  assert.deepEqual([first.leads, second.leads], [true, false]);
  const [renewFirst, renewSecond] = ticks;
  moment += 60_000;
  renewSecond();
  renewFirst();
  assert.deepEqual([first.leads, second.leads], [false, true], 'one that was frozen has lost its lease');
  second.leadership.resign();
  renewFirst();
  assert.deepEqual([first.leads, second.leads], [true, false]);
});

test('who watches for weeks leaves nothing behind', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const listening = t.mock.method(EventTarget.prototype, 'addEventListener');
  const feed = new ChangeFeed({
    name: 'n', position: { seq: 0, epoch: 'e' }, on: {}, open: () => {}, leadBy: () => ({ takeOver: () => {}, resign: () => {} }),
    channel: { addEventListener: () => {}, postMessage: () => {}, close: () => {} },
  });
  for (let turn = 0; turn < 5; turn += 1) {
    const watching = feed.watch();
    t.mock.timers.tick(2000);
    await watching;
  }
  const [signal] = listening.mock.calls.map((call) => call.this);
  assert.ok(signal instanceof AbortSignal);
  assert.equal(getEventListeners(signal, 'abort').length, 0);
  feed.close();
});
