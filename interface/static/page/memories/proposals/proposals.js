import { createKnowledgeApi } from '../api.js';
import { memoryStrings } from '../../strings/en/memory_proposals.js';
import { spoken } from '../memory_model.js';
import { IngestionPlan } from './plan_model.js';
import { asksToBeRemembered } from '../../conversation/message_model.js';
import { attempt } from '../../ui/attempts.js';
import { element } from '../../ui/dom.js';
import { showToast } from '../../ui/toast.js';

const words = memoryStrings.proposals;

function button(label, onclick, kind = 'btn-quiet') {
  return element('button', { type: 'button', class: `btn btn-sm ${kind}`, text: label, onclick });
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
  #knowledge;
  #asked;
  #controller = new AbortController();
  #plan = null;
  #content = element('div', { class: 'proposals-content' });

  constructor(asked, page) {
    this.#asked = asked;
    this.#page = page;
    this.#knowledge = createKnowledgeApi(page.api);
    this.node = element('div', { class: 'memory-proposals', role: 'group', 'aria-label': words.title },
      element('p', { class: 'proposals-title', text: words.title }), this.#content);
    this.node.addEventListener('keydown', (event) => event.key === 'Escape' && this.close());
  }

  async begin() {
    this.#tell(words.looking, button(words.dismiss, () => this.close()));
    const { conversation_id: conversationId } = this.#asked;
    const { signal } = this.#controller;
    try {
      const proposed = await this.#knowledge.pkbProposeUpdates(conversationId, sourceOf(this.#asked, this.#page), { signal });
      this.#plan = new IngestionPlan(proposed);
    } catch (error) {
      if (!signal.aborted) this.#tellFailure(error, () => this.begin());
      return;
    }
    if (this.#plan.proposals.length > 0) this.#offer();
    else this.#tell([words.none, ...this.#plan.warnings].join(' '), button(words.close, () => this.close()));
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

  #offer() {
    const accept = button('', () => this.#accept(), 'btn-primary');
    const tellCount = () => {
      accept.textContent = words.accept(this.#plan.approvedCount);
      accept.disabled = this.#plan.approvedCount === 0;
    };
    const rows = this.#plan.proposals.map((proposal) => this.#row(proposal, tellCount));
    const notes = this.#plan.warnings.map((warning) => element('p', { class: 'proposals-note', text: warning }));
    tellCount();
    this.#content.replaceChildren(element('ul', { class: 'proposals-list' }, ...rows), ...notes,
      element('div', { class: 'proposals-buttons' }, accept, button(words.dismiss, () => this.close())));
    this.#page.announce(words.title);
  }

  #row(proposal, onChange) {
    const box = element('input', { type: 'checkbox', checked: this.#plan.isApproved(proposal.index) });
    box.addEventListener('change', () => {
      this.#plan.approve(proposal.index, box.checked);
      onChange();
    });
    const relation = relationOf(proposal);
    return element('li', {}, element('label', { class: 'proposal' }, box, element('span', { class: 'proposal-text' },
      element('span', { class: 'proposal-statement', text: proposal.statement }),
      element('span', { class: 'proposal-about', text: factsOf(proposal) }),
      relation ? element('span', { class: 'proposal-about', text: relation }) : null)));
  }

  async #accept() {
    if (this.#plan.isExpired()) {
      this.#tell(words.expired, button(words.again, () => this.begin()), button(words.dismiss, () => this.close()));
      return;
    }
    this.#tell(words.accepting);
    try {
      this.#tellResults(await this.#knowledge.pkbExecuteUpdates(this.#plan.planId, this.#plan.approvals()));
    } catch (error) {
      this.#tellFailure(error, () => this.#accept());
    }
  }

  #tellResults({ results, audit_id: auditId }) {
    const kept = results.filter(({ success, action }) => success && action !== 'skip').length;
    const close = button(words.close, () => this.close());
    const undo = auditId ? button(words.undo, () => this.#undo(auditId)) : null;
    this.#content.replaceChildren(
      element('p', { class: 'proposals-note', role: 'status', text: words.done(kept) }),
      element('ul', { class: 'proposals-list' }, ...results.map((result) => this.#resultRow(result))),
      element('div', { class: 'proposals-buttons' }, undo, close),
    );
    close.focus();
    this.#page.events.emit('knowledge:changed');
  }

  #resultRow({ index, success, action, claim_id: claimId, error }) {
    const outcome = success ? words.result[action] ?? action : error;
    const open = () => this.#page.events.emit('knowledge:open', { kind: 'claim', id: claimId });
    return element('li', { class: 'proposal' }, element('span', { class: 'proposal-text' },
      element('span', { class: 'proposal-statement', text: this.#plan.valueOf(index, 'statement') }),
      element('span', { class: `proposal-about${success ? '' : ' proposal-failed'}`, text: outcome })),
    success && claimId ? button(words.show, open) : null);
  }

  async #undo(auditId) {
    if (!(await attempt(() => this.#knowledge.pkbUndo(auditId), { failed: words.failed }))) return;
    this.close();
    this.#page.events.emit('knowledge:changed');
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
