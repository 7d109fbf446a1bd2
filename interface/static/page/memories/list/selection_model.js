/** More cannot be changed at once: the server's limit. */
export const MOST_SELECTED = 500;

/** The memories that are selected, across pages; a range is chosen from the last one touched. */
export class ClaimSelection {
  #claims = new Map();
  #order = [];
  #anchor = null;

  get size() {
    return this.#claims.size;
  }

  get ids() {
    return [...this.#claims.keys()];
  }

  get claims() {
    return [...this.#claims.values()];
  }

  has(claimId) {
    return this.#claims.has(claimId);
  }

  /** What is listed now, in order: ranges run along it. @param {object[]} claims */
  list(claims) {
    this.#order = claims;
    if (!claims.some(({ claim_id: id }) => id === this.#anchor)) this.#anchor = null;
  }

  /**
   * @param {string} claimId
   * @param {boolean} selected
   * @param {{range?: boolean}} [options] `range`: all from the last one touched to this one
   * @returns {boolean} false where the limit left some out
   */
  set(claimId, selected, { range = false } = {}) {
    const at = this.#position(claimId);
    const from = range ? this.#position(this.#anchor) : -1;
    const [first, last] = from < 0 ? [at, at] : [Math.min(at, from), Math.max(at, from)];
    this.#anchor = claimId;
    return this.#setAll(this.#order.slice(first, last + 1), selected);
  }

  /** All that are listed, or none of them. */
  setListed(selected) {
    return this.#setAll(this.#order, selected);
  }

  /** Further memories, listed or not. */
  add(claims) {
    return this.#setAll(claims, true);
  }

  /** @returns {'none'|'some'|'all'} how many of those listed are selected */
  get listed() {
    const chosen = this.#order.filter(({ claim_id: id }) => this.#claims.has(id)).length;
    if (chosen === 0) return 'none';
    return chosen === this.#order.length ? 'all' : 'some';
  }

  clear() {
    this.#claims.clear();
    this.#anchor = null;
  }

  #position(claimId) {
    return this.#order.findIndex(({ claim_id: id }) => id === claimId);
  }

  #setAll(claims, selected) {
    let fits = true;
    for (const claim of claims) {
      if (!selected) this.#claims.delete(claim.claim_id);
      else if (this.#claims.size < MOST_SELECTED || this.#claims.has(claim.claim_id)) this.#claims.set(claim.claim_id, claim);
      else fits = false;
    }
    return fits;
  }
}
