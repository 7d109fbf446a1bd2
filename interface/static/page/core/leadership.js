/**
 * Electing one tab of this browser: it leads until it is closed, gives up or is taken over.
 *
 * By the Web Locks API where the page has it, that is over HTTPS and on localhost; elsewhere by a lease in local storage.
 * For a moment two tabs may lead: when one takes over from a tab that seems frozen, or when two write a lease at once.
 */

const RENEW_MS = 2000;
const LEASE_MS = 7000;

/**
 * @typedef {object} Leadership
 * @property {() => void} takeOver leads from now on, whoever led before
 * @property {() => void} resign stops leading, or waiting to lead
 */

/**
 * @param {string} name what is led; tabs with the same name elect one
 * @param {{begin: () => void, end: () => void}} on this tab leads from now on, and not any more
 * @returns {Leadership}
 */
export function lead(name, on) {
  return navigator.locks ? leadByLock(name, on, navigator.locks) : leadByLease(name, on);
}

/** @returns {Leadership} */
export function leadByLock(name, { begin, end }, locks, fallback = leadByLease) {
  const resigned = new AbortController();
  let release = () => {};
  let lease = null;

  function hold() {
    begin();
    return new Promise((resolve) => {
      release = resolve;
    });
  }

  async function request(options) {
    try {
      await locks.request(name, options, hold);
      end();
    } catch (error) {
      if (resigned.signal.aborted) return;
      end();
      // Another tab took over: this tab is the next in line.
      if (error.name === 'AbortError') request({ signal: resigned.signal });
      // The browser forbids locks to this page, as it forbids cookies.
      else if (error.name === 'SecurityError') lease ??= fallback(name, { begin, end });
      // Anything else is said of a page that is being left. Asking again there would never end.
    }
  }

  request({ signal: resigned.signal });
  return {
    takeOver: () => (lease ? lease.takeOver() : request({ steal: true })),
    resign() {
      resigned.abort();
      release();
      lease?.resign();
    },
  };
}

/** @returns {Leadership} */
export function leadByLease(name, { begin, end }, { storage = localStorage, now = Date.now, every = setInterval } = {}) {
  const me = Math.random().toString(36).slice(2);
  let leads = false;
  let resigned = false;

  function held() {
    try {
      return JSON.parse(storage.getItem(name)) ?? {};
    } catch {
      return {};
    }
  }

  function set(isMine) {
    if (isMine === leads) return;
    leads = isMine;
    if (leads) begin();
    else end();
  }

  function claim() {
    try {
      storage.setItem(name, JSON.stringify({ owner: me, until: now() + LEASE_MS }));
    } catch {
      // Storage may be forbidden: each tab then leads itself.
    }
    set(true);
  }

  function renew() {
    if (resigned) return;
    const { owner, until = 0 } = held();
    if (owner === undefined || owner === me || until < now()) claim();
    else set(false);
  }

  function resign() {
    resigned = true;
    if (held().owner === me) storage.removeItem(name);
    set(false);
  }

  const timer = every(renew, RENEW_MS);
  renew();
  return {
    takeOver: claim,
    resign() {
      clearInterval(timer);
      resign();
    },
  };
}
