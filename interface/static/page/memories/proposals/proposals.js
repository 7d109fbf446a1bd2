import { createMemoriesApi } from '../api.js';
import { memoryStrings } from '../../strings/en/memory_proposals.js';
import { excerpt, spoken } from '../memory_model.js';
import { IngestionPlan } from './plan_model.js';
import { asksToBeRemembered } from '../../conversation/message_model.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, inRow, whenReleased } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoryStrings.proposals;

function button(label, onclick, kind = 'btn-quiet', more = {}) {
  return element('button', { type: 'button', class: `btn btn-sm ${kind}`, text: label, onclick, ...more });
}

function factsOf(proposal) {
  const { claim_type: type, context_domain: domain, tags = [] } = proposal;
  return [spoken(type), spoken(domain), ...tags.map((tag) => `#${tag}`)].filter(Boolean).join(' · ');
}

/** What would happen to a memory that exists already, and why. */
function relationOf({ action, existing, reason }) {
  if (!existing) return reason ?? '';
  const say = words.action[action] || (() => '');
  return [say(existing.friendly_id), existing.statement].filter(Boolean).join(': ');
}

/** The message that memories come from: of an answer to "remember this", the one that said what is to be remembered. */
function sourceOf({ message_id: messageId }, page) {
  const { messages } = page.transcript();
  const before = messages[messages.findIndex((message) => message.message_id === messageId) - 1];
  return before && asksToBeRemembered(before) ? before.message_id : messageId;
}

/** A small card under a message: what of it is worth remembering, with a box for each; then what became of them. */
class ProposalCard {
  #page;
  #memories;
  #asked;
  #controller = new AbortController();
  /** What rules propose, then what the model finds beside it. */
  #plans = [];
  /** What became of the plans that were carried out. */
  #executed = new Map();
  #offered = null;
  #content = element('div', { class: 'proposals-content' });

  constructor(asked, page) {
    this.#asked = asked;
    this.#page = page;
    this.#memories = createMemoriesApi(page.api);
    this.node = element('div', { class: 'memory-proposals', role: 'group', 'aria-label': words.title },
      element('p', { class: 'proposals-title', text: words.title }), this.#content);
    this.node.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
  }

  async begin() {
    this.#tell(words.looking, button(words.dismiss, () => this.close()));
    const { signal } = this.#controller;
    const where = [this.#asked.conversation_id, sourceOf(this.#asked, this.#page)];
    const found = this.#memories.pkbProposeUpdates(...where, { signal }).then((plan) => ({ plan }), (error) => ({ error }));
    // The model's answer says what is wrong, too.
    const ruled = await this.#memories.pkbProposeUpdatesByRules(...where, { signal }).catch(() => null);
    // The buttons stand below: what is pressed stays where it is.
    await whenReleased();
    if (ruled?.proposals.length && !signal.aborted) this.#offer(new IngestionPlan(ruled), words.modelLooks(ruled.expected_seconds));
    const { plan, error } = await found;
    await whenReleased();
    if (signal.aborted) return;
    if (plan) this.#addFound(plan);
    else if (this.#offered) this.#offered.tell(words.modelFailed(error.message));
    else this.#tellFailure(error, () => this.begin());
  }

  /** What the model proposes, without what rules have proposed already. */
  #addFound(plan) {
    const known = new Set(this.#plans.flatMap(({ proposals }) => proposals.map(({ statement }) => statement)));
    const fresh = new IngestionPlan({ ...plan, proposals: plan.proposals.filter(({ statement }) => !known.has(statement)) });
    if (this.#offered) {
      // It may say in other words what is above it.
      fresh.approveAll(false);
      this.#offered.add(fresh, fresh.warnings.join(' '));
      if (fresh.proposals.length > 0) this.#page.announce(words.title);
    } else if (fresh.proposals.length > 0) this.#offer(fresh, fresh.warnings.join(' '));
    else this.#tell([words.none, ...fresh.warnings].join(' '), button(words.close, () => this.close()));
  }

  close() {
    this.#controller.abort();
    const hadFocus = this.node.contains(document.activeElement);
    this.node.remove();
    if (hadFocus) this.#page.focusComposer();
  }

  /** @param {string} text in the place of everything else @param {...HTMLElement} buttons */
  #tell(text, ...buttons) {
    this.#content.replaceChildren(element('p', { class: 'proposals-note', role: 'status', text }), element('div', { class: 'proposals-buttons' }, ...buttons));
  }

  #tellFailure(error, again) {
    this.#tell(words.failed(error.message), button(words.again, again), button(words.dismiss, () => this.close()));
  }

  /** @param {IngestionPlan} first @param {string} note below the proposals */
  #offer(first, note) {
    const accept = button('', () => this.#accept(), 'btn-primary');
    const list = element('ul', { class: 'proposals-list' });
    const told = element('p', { class: 'proposals-note' });
    const tellCount = () => {
      const count = this.#plans.reduce((sum, plan) => sum + plan.approvedCount, 0);
      accept.textContent = words.accept(count);
      accept.disabled = count === 0;
    };
    const tell = (text) => {
      told.textContent = text;
      told.hidden = !text;
    };
    const add = (plan, text) => {
      this.#plans.push(plan);
      list.append(...plan.proposals.map((proposal) => this.#row(plan, proposal, tellCount)));
      tellCount();
      tell(text);
    };
    this.#offered = { add, tell };
    add(first, note);
    this.#content.replaceChildren(list, told, element('div', { class: 'proposals-buttons' }, accept, button(words.dismiss, () => this.close())));
    this.#page.announce(words.title);
  }

  #row(plan, proposal, onChange) {
    const box = element('input', { type: 'checkbox', checked: plan.isApproved(proposal.index) });
    box.addEventListener('change', () => {
      plan.approve(proposal.index, box.checked);
      onChange();
    });
    const relation = relationOf(proposal);
    return element('li', {}, element('label', { class: 'proposal' }, box, element('span', { class: 'proposal-text' },
      element('span', { class: 'proposal-statement', text: proposal.statement }),
      element('span', { class: 'proposal-about', text: factsOf(proposal) }),
      relation ? element('span', { class: 'proposal-about', text: relation }) : null)));
  }

  async #accept() {
    // What the model would still find comes too late.
    this.#controller.abort();
    if (this.#plans.some((plan) => plan.isExpired())) {
      this.#tell(words.expired, button(words.again, () => this.#beginAgain()), button(words.dismiss, () => this.close()));
      return;
    }
    this.#tell(words.accepting);
    try {
      for (const plan of this.#plans.filter((each) => each.approvedCount > 0 && !this.#executed.has(each))) {
        this.#executed.set(plan, await this.#memories.pkbExecuteUpdates(plan.planId, plan.approvals()));
      }
      this.#tellResults();
    } catch (error) {
      this.#tellFailure(error, () => this.#accept());
    }
  }

  #beginAgain() {
    this.#controller = new AbortController();
    this.#plans = [];
    this.#offered = null;
    this.begin();
  }

  #tellResults() {
    const rows = [...this.#executed].flatMap(([plan, { results }]) => results.map((result) => ({ plan, result })));
    const auditIds = [...this.#executed.values()].map(({ audit_id: auditId }) => auditId).filter(Boolean);
    const kept = rows.filter(({ result: { success, action } }) => success && action !== 'skip').length;
    const close = button(words.close, () => this.close());
    const undo = auditIds.length > 0 ? button(words.undo, () => this.#undo(auditIds)) : null;
    this.#content.replaceChildren(
      element('p', { class: 'proposals-note', role: 'status', text: words.done(kept) }),
      element('ul', { class: 'proposals-list' }, ...rows.map(({ plan, result }) => this.#resultRow(plan, result))),
      element('div', { class: 'proposals-buttons' }, undo, close),
    );
    close.focus();
    this.#page.events.emit('memories:changed');
  }

  #resultRow(plan, { index, success, action, claim_id: claimId, error }) {
    const outcome = success ? words.result[action] ?? action : error;
    const open = () => this.#page.events.emit('memories:open', { kind: 'claim', id: claimId });
    return element('li', { class: 'proposal' }, element('span', { class: 'proposal-text' },
      element('span', { class: 'proposal-statement', text: plan.valueOf(index, 'statement') }),
      element('span', { class: `proposal-about${success ? '' : ' proposal-failed'}`, text: outcome })),
    success && claimId ? button(words.show, open, 'btn-quiet', inRow(words.show, excerpt(plan.valueOf(index, 'statement')))) : null);
  }

  async #undo(auditIds) {
    const undoAll = async () => {
      while (auditIds.length > 0) {
        await this.#memories.pkbUndo(auditIds.at(-1));
        auditIds.pop();
      }
    };
    if (!(await attempt(undoAll, { failed: words.failed }))) return;
    this.close();
    this.#page.events.emit('memories:changed');
    showToast(words.undone);
  }
}

const shown = new WeakMap();

/**
 * Asks what of a message is worth remembering, and offers it under that message.
 *
 * @param {{conversation_id: string, message_id: string}} asked
 * @param {object} page
 */
export function proposeMemories(asked, page) {
  const message = page.transcript().card(asked.message_id)?.node;
  if (!message) {
    showToast(words.gone);
    return;
  }
  shown.get(message)?.close();
  const card = new ProposalCard(asked, page);
  shown.set(message, card);
  message.append(card.node);
  card.begin();
}
