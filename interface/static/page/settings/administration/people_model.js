/** The accounts of the server as far as they are loaded: page after page, all of them or those that match a search. */

const PAGE = 50;
const LONGEST_PAGE = 500;

/**
 * @template P
 * @param {(query: {q: string, limit: number, cursor: string|null}) => Promise<{items: P[], cursor: string|null}>} ask
 */
export function createPeople(ask) {
  let shown = { q: '', people: [], cursor: null };
  let asked = 0;

  /** Keeps the result of the newest request; results and failures of older requests are dropped. */
  async function newest(work) {
    asked += 1;
    const mine = asked;
    try {
      const found = await work();
      if (mine === asked) shown = found;
    } catch (error) {
      if (mine === asked) throw error;
    }
    return shown;
  }

  async function read(q, count, { people, cursor }) {
    const wanted = people.length + count;
    const found = [...people];
    let next = cursor;
    do {
      const page = await ask({ q, limit: Math.min(wanted - found.length, LONGEST_PAGE), cursor: next });
      found.push(...page.items);
      next = page.cursor;
    } while (next !== null && found.length < wanted);
    return { q, people: found, cursor: next };
  }

  return {
    /** Loads the accounts that match `q` from the first on: a page, or as many as are shown already where `q` is the same. */
    load(q) {
      const count = q === shown.q ? Math.max(PAGE, shown.people.length) : PAGE;
      return newest(() => read(q, count, { people: [], cursor: null }));
    },
    /** Loads the next page, and returns it behind the accounts that are shown. Only where `cursor` is not null. */
    more() {
      return newest(() => read(shown.q, PAGE, shown));
    },
  };
}
