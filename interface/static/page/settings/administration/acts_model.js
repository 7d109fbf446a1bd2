/**
 * What administrators did, page by page, of the kind that was asked for last: answers to what was asked for before are dropped.
 *
 * @param {(wanted: {act: string, subject: string, before: number|null}) => Promise<{acts: object[], next: number|null}>} ask
 */
export function createActs(ask) {
  let filter = null;
  let acts = [];
  /** Before which one the next page ends; null: there is none. */
  let next = null;

  /** @returns {Promise<boolean>} whether it was taken */
  async function asked(before, take) {
    const mine = filter;
    try {
      const found = await ask({ ...mine, before });
      if (mine !== filter) return false;
      take(found);
      return true;
    } catch (error) {
      if (mine !== filter) return false;
      throw error;
    }
  }

  function takeAll(found) {
    [acts, next] = [found.acts, found.next];
  }

  return {
    acts: () => acts,
    hasEarlier: () => next !== null,
    /** Shows those of another kind. @param {{act: string, subject: string}} wanted */
    async begin(wanted) {
      filter = { ...wanted };
      [acts, next] = [[], null];
      return asked(null, takeAll);
    },
    async earlier() {
      const before = next;
      if (before === null) return false;
      return asked(before, (found) => {
        if (before === next) [acts, next] = [[...acts, ...found.acts], found.next];
      });
    },
    /** What was done meanwhile comes above what is shown. */
    async newer() {
      if (filter === null) return false;
      return asked(null, (found) => {
        const newer = found.acts.filter(({ audit_id: id }) => !acts.some((known) => known.audit_id === id));
        if (newer.length === found.acts.length) takeAll(found);
        else acts = [...newer, ...acts];
      });
    },
  };
}
