/** What the Memories panel keeps in the browser, so that nothing typed is lost when it is left. */

/**
 * @param {Storage|null} storage
 * @param {string} owner the account
 * @returns {{get: (name: string) => any, set: (name: string, value: any) => void}} `get` gives null for what is not there
 */
export function createKnowledgeStore(storage, owner) {
  const key = (name) => `anaphora.knowledge.${owner}.${name}`;
  const here = new Map();

  function get(name) {
    if (here.has(name)) return here.get(name);
    try {
      return JSON.parse(storage?.getItem(key(name)) ?? 'null');
    } catch {
      return null;
    }
  }

  function set(name, value) {
    here.set(name, value);
    try {
      if (value === null || value === '') storage?.removeItem(key(name));
      else storage?.setItem(key(name), JSON.stringify(value));
    } catch {
      // Full or forbidden: it then lasts as long as the page.
    }
  }

  return { get, set };
}
