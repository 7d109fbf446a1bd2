/** What changes of memories, as the server tells them, mean for a list that shows some. */

/** More memories than these are not asked for one by one. */
export const MOST_BY_ID = 20;

/**
 * The memories that changes touched.
 *
 * @param {import('../core/changes.js').Change[]} changes of the kind `memory`
 * @returns {string[]|null} their ids; null where any memory may be another one now
 */
export function touchedClaims(changes) {
  const ids = new Set(changes.flatMap(({ fields }) => fields.claim_ids ?? []));
  const areNamed = changes.every(({ fields }) => fields.claim_ids?.length > 0);
  return areNamed && ids.size <= MOST_BY_ID ? [...ids] : null;
}

/**
 * A list as it is after some memories changed.
 *
 * @param {{claims: object[], total: number}} list one page of it, newest first
 * @param {Map<string, object|null>} found the memories as they are now, null for one that is gone
 * @param {{belongs: (claim: object) => boolean, takesNew: boolean, size: number}} options `belongs`: whether the list shows such
 *   a memory; `takesNew`: whether the page shows the newest; `size` of a page
 */
export function withChanges({ claims, total }, found, { belongs, takesNew, size }) {
  const listed = new Set(claims.map(({ claim_id: id }) => id));
  const stays = (claim) => !found.has(claim.claim_id) || (found.get(claim.claim_id) && belongs(found.get(claim.claim_id)));
  const staying = claims.filter(stays).map((claim) => found.get(claim.claim_id) ?? claim);
  const isNew = (claim) => claim && !listed.has(claim.claim_id) && takesNew && belongs(claim);
  const fresh = [...found.values()].filter(isNew).sort((a, b) => (a.updated_at < b.updated_at ? 1 : -1));
  return {
    claims: [...fresh, ...staying].slice(0, size),
    total: total - (claims.length - staying.length) + fresh.length,
  };
}
