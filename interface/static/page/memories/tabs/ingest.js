/** The tab that finds memories in a text: the text, the waiting, the proposals, what became of them. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { IngestionPlan } from '../proposals/plan_model.js';
import { showing } from '../query_model.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { createIngestForm } from './ingest_form.js';
import { createPlanTable, planOutcome } from '../proposals/plan_table.js';
import { button, emptyBlock } from '../controls.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoriesTabStrings.ingest;
const planWords = memoriesTabStrings.plan;
const TEXT = 'ingest_text';
const PLAN = 'ingest_plan';
const RUNNING = 'ingest_running';
const KEPT = new Set([TEXT, PLAN, RUNNING]);
const LEAVING_MS = 1000;

/** How long it takes, said once a second; and a way to stop. */
function waitingNode(onStop) {
  const began = Date.now();
  const seconds = element('span', { class: 'memories-note' });
  const tick = () => {
    seconds.textContent = words.seconds(Math.round((Date.now() - began) / 1000));
  };
  const timer = setInterval(tick, 1000);
  const node = element('section', { class: 'memories-waiting' },
    element('p', { role: 'status', text: words.running }), element('progress', { 'aria-label': words.running }), seconds,
    element('p', { class: 'memories-note', text: words.runningHint }), button(words.stop, onStop));
  return { node, stop: () => clearInterval(timer) };
}

function warningList(warnings) {
  return warnings.length ? element('ul', { class: 'memories-warnings', 'aria-label': words.warnings }, ...warnings.map((text) => element('li', { text }))) : null;
}

class IngestTab {
  #page;
  #form;
  #place = element('div', { class: 'memories-scroller memories-ingest' });
  #visible = false;
  #forgetting;
  #reading = null;
  #isBeingLeft = false;
  node = element('div', { class: 'memories-tab-content' }, this.#place);

  constructor(page) {
    this.#page = page;
    addEventListener('beforeunload', () => {
      this.#isBeingLeft = true;
    });
    this.#form = createIngestForm(page, { onText: (text) => page.store.set(TEXT, text), onStart: (wanted) => this.#start(wanted) });
    this.#showKept();
    // Whoever has begun another text goes on with that.
    page.store.onLate((name) => KEPT.has(name) && !this.#form.text.trim() && this.#showKept());
  }

  /** Shows what an earlier page has left: the text, proposals that it led to, or that it was being read. */
  #showKept() {
    const { store } = this.#page;
    const plan = store.get(PLAN);
    const interrupted = store.get(RUNNING);
    if (interrupted) store.set(RUNNING, null);
    this.#form.show(store.get(TEXT) ?? '');
    if (plan) this.#showPlan(IngestionPlan.fromJSON(plan));
    else this.#showForm(interrupted ? words.interrupted : '');
  }

  show({ document: path = '' } = {}) {
    this.#visible = true;
    this.#form.refresh();
    if (path) this.#learnFrom(path);
  }

  /** Fills the form with the text of a document. Once asked for, it is no more in the address: what is changed in the text stays. */
  async #learnFrom(path) {
    this.#page.go({ document: '' }, { replace: true });
    const { text } = await this.#page.attempt(() => this.#page.documents.read(path)) ?? {};
    if (text === undefined || (this.#isBegun(text) && !(await confirmAction(words.replace)))) return;
    this.#reading?.abort();
    this.#showForm();
    this.#form.fill(text);
  }

  /** Whether another text stands there, is read, or has led to proposals that wait. */
  #isBegun(text) {
    const { text: present } = this.#form;
    return Boolean(this.#reading || this.#page.store.get(PLAN) || (present.trim() && present !== text));
  }

  hide() {
    this.#visible = false;
  }

  #showForm(problem = '') {
    // What the browser's database brings later is not what was given up.
    if (this.#page.store.get(PLAN)) this.#page.store.set(PLAN, null);
    this.#place.replaceChildren(this.#form.node);
    this.#form.tell(problem);
  }

  async #start({ text, settings }) {
    const controller = new AbortController();
    this.#reading = controller;
    clearTimeout(this.#forgetting);
    this.#isBeingLeft = false;
    this.#page.store.set(RUNNING, true);
    const waiting = waitingNode(() => controller.abort());
    this.#place.replaceChildren(waiting.node);
    try {
      const plan = await this.#page.api.pkbIngest(text, settings, { signal: controller.signal });
      this.#page.store.set(PLAN, { plan, decisions: [] });
      this.#page.store.set(RUNNING, null);
      this.#showPlan(new IngestionPlan(plan));
      if (!this.#isSeen()) showToast(words.ready, { actionLabel: words.look, onAction: () => this.#page.go({ tab: 'add' }) });
    } catch (error) {
      // A page that is being left fails its requests first, and the next page says why. Not every browser tells that it is being left.
      if (!this.#isBeingLeft || controller.signal.aborted) this.#forgetting = setTimeout(() => this.#page.store.set(RUNNING, null), LEAVING_MS);
      this.#showForm(error.name === 'AbortError' ? '' : words.failed(error.message));
    } finally {
      this.#reading = null;
      waiting.stop();
    }
  }

  #isSeen() {
    return this.#visible && !document.hidden && this.node.checkVisibility();
  }

  async #showPlan(plan) {
    if (!plan || plan.isExpired()) {
      this.#showForm(words.expired);
      return;
    }
    const back = button(words.back, () => this.#showForm());
    if (plan.proposals.length === 0) {
      this.#place.replaceChildren(emptyBlock({ title: words.none, text: words.noneHint, children: [warningList(plan.warnings), back].filter(Boolean) }));
      return;
    }
    const execute = button('', () => this.#execute(plan, execute), { class: 'btn btn-primary', id: 'execute-plan' });
    const kinds = await this.#kinds();
    const table = createPlanTable(plan, {
      ...kinds,
      onChange: () => {
        execute.textContent = memoriesTabStrings.plan.execute(plan.approvedCount);
        execute.disabled = plan.approvedCount === 0;
        this.#page.store.set(PLAN, plan.toJSON());
      },
    });
    const summary = element('p', { text: plan.counts.map(([action, n]) => `${planWords.actions[action]}: ${n}`).join(' · ') });
    this.#place.replaceChildren(...[summary, warningList(plan.warnings), table, element('div', { class: 'memories-buttons memories-sticky' }, execute, back)].filter(Boolean));
  }

  /** Types and domains to choose from; without them, those of the proposals. */
  async #kinds() {
    const { catalogue } = this.#page;
    const [types, domains] = await Promise.all([catalogue.types().catch(() => []), catalogue.domains().catch(() => [])]);
    return { types, domains };
  }

  async #execute(plan, execute) {
    execute.disabled = true;
    execute.textContent = memoriesTabStrings.plan.executing;
    const outcome = await this.#page.attempt(() => this.#page.api.pkbExecuteIngest(plan.planId, plan.approvals()), {
      again: () => this.#execute(plan, execute),
    });
    if (!outcome) {
      execute.disabled = false;
      execute.textContent = memoriesTabStrings.plan.execute(plan.approvedCount);
      return;
    }
    this.#page.store.set(PLAN, null);
    this.#form.clear();
    const again = button(memoriesTabStrings.plan.again, () => this.#showForm(), { class: 'btn btn-primary' });
    const undo = outcome.audit_id ? button(memoriesStrings.panel.undo, () => this.#undo(outcome.audit_id, undo), { symbol: 'arrow-counterclockwise' }) : null;
    this.#place.replaceChildren(planOutcome(plan, outcome, { onShow: (id) => this.#showMemory(id) }), element('div', { class: 'memories-buttons' }, again, undo));
    this.#page.changed({ show: false });
  }

  async #undo(auditId, button) {
    button.disabled = true;
    button.textContent = memoriesStrings.panel.undoing;
    button.disabled = await this.#page.undo(auditId);
    button.textContent = button.disabled ? memoriesStrings.panel.undone : memoriesStrings.panel.undo;
  }

  #showMemory(id) {
    this.#page.go(showing({ kind: 'claim', id }));
  }
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  return new IngestTab(page);
}
