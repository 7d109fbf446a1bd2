/**
 * The service worker: where the server can't be reached, the page's shell and its files come from a cache of this version's
 * own. Online, everything comes from the server. Answers with what people wrote are never kept.
 *
 * The server writes `self.KEPT` above this: `version`, `shell` (an address) and `files` (addresses, the shell among them).
 */

const PREFIX = 'anaphora-';
const CACHE = PREFIX + self.KEPT.version;

async function keep() {
  const cache = await caches.open(CACHE);
  await cache.addAll(self.KEPT.files);
  await self.skipWaiting();
}

async function forgetOthers() {
  const names = await caches.keys();
  await Promise.all(names.filter((name) => name.startsWith(PREFIX) && name !== CACHE).map((name) => caches.delete(name)));
}

/** @param {Request} request @param {RequestInfo} kept what is answered without a network */
async function answer(request, kept) {
  try {
    return await fetch(request);
  } catch (error) {
    const cache = await caches.open(CACHE);
    const known = await cache.match(kept);
    if (known) return known;
    throw error;
  }
}

self.addEventListener('install', (event) => event.waitUntil(keep()));
self.addEventListener('activate', (event) => event.waitUntil(forgetOthers()));
self.addEventListener('fetch', (event) => {
  const { request } = event;
  const { origin, pathname } = new URL(request.url);
  if (origin !== self.location.origin || request.method !== 'GET') return;
  const isPage = request.mode === 'navigate' && (pathname === '/' || pathname.startsWith('/interface/'));
  if (isPage) event.respondWith(answer(request, self.KEPT.shell));
  else if (pathname.startsWith('/static/')) event.respondWith(answer(request, request));
});
