/** The addresses of files that the page's modules ask for, as the server wrote them into the page: each holds a fingerprint. */

import { strings } from '../strings/en/conversation.js';

let known = null;
/** How often importing a module failed, by its address. */
const failures = new Map();

function page() {
  known ??= JSON.parse(document.getElementById('assets').textContent);
  return known;
}

/** @returns {string} the version of the files that this page was made from */
export const pageVersion = () => page().version;

/**
 * @param {string} name of a file, as a path below `static`: `vendor/icons.svg`
 * @returns {string}
 */
export function assetAddress(name) {
  const address = page().addresses[name];
  if (!address) throw new Error(`The page knows no address of ${name}.`);
  return address;
}

/**
 * Imports a module that is not part of the page's own. Some browsers remember a failed import until the page is reloaded:
 * each further try asks for an address of its own.
 *
 * @param {string} name of the file
 * @returns {Promise<object>} its exports
 */
export async function importAsset(name) {
  const address = assetAddress(name);
  const failed = failures.get(address) ?? 0;
  try {
    // eslint-disable-next-line no-restricted-syntax -- callers bring it
    return await import(failed ? `${address}?try=${failed}` : address);
  } catch (error) {
    failures.set(address, failed + 1);
    throw error;
  }
}

/**
 * Adds a style sheet to the page.
 *
 * @param {string} name of the file
 * @returns {Promise<void>} when it applies. What failed leaves nothing behind
 */
export function addStyle(name) {
  const link = document.createElement('link');
  link.rel = 'stylesheet';
  link.href = assetAddress(name);
  return new Promise((resolve, reject) => {
    link.addEventListener('load', () => resolve());
    link.addEventListener('error', () => {
      link.remove();
      reject(new Error(strings.unreachable));
    });
    document.head.append(link);
  });
}

/** @template T @param {() => Promise<T>} load @returns {() => Promise<T>} loads once; a failed load is tried again */
export function once(load) {
  let loading = null;
  return () => {
    loading ??= load().catch((error) => {
      loading = null;
      throw error;
    });
    return loading;
  };
}
