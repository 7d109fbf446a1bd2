/** A plan for new memories, made from a text, and what the person decides about each line of it. */

import { warningsIn } from '../../core/words/said.js';

const ACTIONS = ['add', 'update', 'conflict', 'skip'];
const CHANGEABLE = ['action', 'statement', 'claim_type', 'context_domain', 'tags'];

/** What is worth doing is approved from the start; what would change or contradict something is asked about. */
const approvedAtFirst = ({ action }) => action === 'add' || action === 'update';

export class IngestionPlan {
  #plan;
  #decisions;

  /**
   * @param {object} plan `{plan_id, proposals, expires_at, warnings, warnings_said}` of the server
   * @param {Array<{index: number, approved: boolean, changes: object}>} [decisions] made earlier
   */
  constructor(plan, decisions = []) {
    this.#plan = plan;
    const earlier = new Map(decisions.map((decision) => [decision.index, decision]));
    this.#decisions = new Map(plan.proposals.map((proposal) => [
      proposal.index, earlier.get(proposal.index) ?? { index: proposal.index, approved: approvedAtFirst(proposal), changes: {} },
    ]));
  }

  get planId() {
    return this.#plan.plan_id;
  }

  get proposals() {
    return this.#plan.proposals;
  }

  /** How many proposals there are of each action: `[action, count]`, without those of which there is none. */
  get counts() {
    const count = (action) => this.#plan.proposals.filter((each) => each.action === action).length;
    return ACTIONS.map((action) => [action, count(action)]).filter(([, n]) => n > 0);
  }

  get warnings() {
    return warningsIn(this.#plan);
  }

  get approvedCount() {
    return [...this.#decisions.values()].filter(({ approved }) => approved).length;
  }

  isExpired(now = new Date()) {
    const end = new Date(this.#plan.expires_at ?? NaN).getTime();
    return Number.isFinite(end) && end <= now.getTime();
  }

  isApproved(index) {
    return this.#decisions.get(index).approved;
  }

  approve(index, approved) {
    this.#decisions.get(index).approved = approved;
  }

  approveAll(approved) {
    for (const decision of this.#decisions.values()) decision.approved = approved;
  }

  /** A field of a proposal as it now is. */
  valueOf(index, field) {
    const { changes } = this.#decisions.get(index);
    return field in changes ? changes[field] : this.#proposal(index)[field];
  }

  /** The person changed a field; what is again as it was proposed counts as not changed. */
  change(index, field, value) {
    if (!CHANGEABLE.includes(field)) throw new RangeError(`A proposal has no ${field} to change.`);
    const { changes } = this.#decisions.get(index);
    if (JSON.stringify(value) === JSON.stringify(this.#proposal(index)[field])) delete changes[field];
    else changes[field] = value;
  }

  /** What `execute_ingest` takes: the approved ones, each with what was changed. What was to be skipped is added. */
  approvals() {
    const approved = [...this.#decisions.values()].filter((decision) => decision.approved);
    return approved.map(({ index, changes }) => {
      const skipped = (changes.action ?? this.#proposal(index).action) === 'skip';
      return { index, ...changes, ...(skipped ? { action: 'add' } : {}) };
    });
  }

  /** What there is to keep so that the person can come back to it. */
  toJSON() {
    return { plan: this.#plan, decisions: [...this.#decisions.values()] };
  }

  static fromJSON(kept) {
    return kept?.plan?.proposals ? new IngestionPlan(kept.plan, kept.decisions) : null;
  }

  #proposal(index) {
    return this.#plan.proposals.find((proposal) => proposal.index === index);
  }
}
