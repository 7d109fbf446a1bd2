/** Things that are filed below one another: contexts and tags. */

export const TREE_ROOT = '#';

const byName = (a, b) => a.name.localeCompare(b.name, undefined, { sensitivity: 'base', numeric: true });

/** The server's flat list as a tree. Whatever the list holds, each thing is in the tree once. */
export class FilingTree {
  #things = new Map();
  #children = new Map();
  #id;
  #parent;

  /**
   * @param {object[]} things
   * @param {{id: string, parent: string}} fields names of a thing's own id and of its parent's, such as `context_id`
   */
  constructor(things, { id, parent }) {
    this.#id = id;
    this.#parent = parent;
    for (const thing of things) this.#things.set(thing[id], thing);
    for (const thing of things) {
      const above = this.parentOf(thing[id]);
      if (!this.#children.has(above)) this.#children.set(above, []);
      this.#children.get(above).push(thing);
    }
    for (const children of this.#children.values()) children.sort(byName);
  }

  get size() {
    return this.#things.size;
  }

  get(id) {
    return this.#things.get(id);
  }

  /** By id or friendly id. */
  find(name) {
    return this.#things.get(name) ?? [...this.#things.values()].find(({ friendly_id: friendlyId }) => friendlyId === name);
  }

  /** @returns {string|null} null at the top, also where the list's parent is not in it, or below the thing itself */
  parentOf(id) {
    const above = this.#things.get(id)?.[this.#parent] ?? null;
    if (above === null || !this.#things.has(above)) return null;
    const seen = new Set([id]);
    for (let at = above; at !== null && at !== undefined; at = this.#things.get(at)?.[this.#parent] ?? null) {
      if (seen.has(at)) return null;
      seen.add(at);
    }
    return above;
  }

  /** @param {string|null} id null: those at the top @returns {object[]} by name */
  childrenOf(id) {
    return this.#children.get(id) ?? [];
  }

  /** The names from the top down to a thing. @returns {string[]} */
  path(id) {
    const names = [];
    for (let at = id; at !== null; at = this.parentOf(at)) names.unshift(this.#things.get(at).name);
    return names;
  }

  /** Whether a thing may go below another: not below itself. @param {string|null} parentId null: to the top */
  mayMove(id, parentId) {
    for (let at = parentId; at !== null; at = this.parentOf(at)) if (at === id) return false;
    return true;
  }

  /**
   * All of it in the order in which it is read, with the depth of each.
   *
   * @param {{query?: string}} [options] only what has these letters in its name, and what is above it
   * @returns {Array<{thing: object, depth: number}>}
   */
  outline({ query = '' } = {}) {
    const wanted = query.trim().toLowerCase();
    const kept = wanted ? this.#matching(wanted) : null;
    const rows = [];
    const add = (parentId, depth) => {
      for (const thing of this.childrenOf(parentId)) {
        if (kept && !kept.has(thing[this.#id])) continue;
        rows.push({ thing, depth });
        add(thing[this.#id], depth + 1);
      }
    };
    add(null, 0);
    return rows;
  }

  #matching(letters) {
    const kept = new Set();
    for (const [id, { name }] of this.#things) {
      if (!name.toLowerCase().includes(letters)) continue;
      for (let at = id; at !== null && !kept.has(at); at = this.parentOf(at)) kept.add(at);
    }
    return kept;
  }
}
