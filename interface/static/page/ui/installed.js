/** What the browser keeps so that the page opens without a network: the service worker with its cache, and whose page it is. */

import { device } from '../core/browser_storage/storage.js';

const ACCOUNT = 'anaphora:account';
const CACHES = 'anaphora-';

/**
 * The bootstrap of a page that came from the server; of one that came without a network, with the account that was last here.
 *
 * @param {object} bootstrap
 * @returns {object|null} null where nobody was here
 */
export function withAccount(bootstrap) {
  if (!bootstrap.is_shell) {
    const { user_email: email, name } = bootstrap;
    device.set(ACCOUNT, JSON.stringify({ user_email: email, name }));
    return bootstrap;
  }
  const account = device.get(ACCOUNT);
  return account && { ...bootstrap, ...JSON.parse(account) };
}

/** Has the browser keep the shell, once it has nothing better to do. Without a secure context it has no workers. */
export function keepShell() {
  const { serviceWorker } = navigator;
  if (!serviceWorker) return;
  const register = () => serviceWorker.register('/service_worker.js').catch(() => {});
  const whenIdle = () => (globalThis.requestIdleCallback ?? setTimeout)(register);
  if (document.readyState === 'complete') whenIdle();
  else addEventListener('load', whenIdle, { once: true });
}

/** Nothing of it stays: neither the worker nor its cache, nor who was here. */
export async function forgetShell() {
  device.set(ACCOUNT, null);
  try {
    const registrations = (await navigator.serviceWorker?.getRegistrations()) ?? [];
    await Promise.all(registrations.map((registration) => registration.unregister()));
    const names = globalThis.caches ? await caches.keys() : [];
    await Promise.all(names.filter((name) => name.startsWith(CACHES)).map((name) => caches.delete(name)));
  } catch {
    // A browser that forbids these, as in some private windows, kept nothing.
  }
}
