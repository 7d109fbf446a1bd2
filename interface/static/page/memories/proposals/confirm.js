import { createMemoriesApi } from '../api.js';
import { sentAs } from '../editor/save.js';
import { memoryStrings } from '../../strings/en/memory_proposals.js';
import { askTogether } from '../../core/ask_together.js';
import { composes, isMoreThanALine } from '../../core/typing.js';
import { warningsIn } from '../../core/words/said.js';
import { claimFrom, draftOf, nearestQuestion, withSuggestions } from './draft_model.js';
import { attempt, failureText } from '../../ui/notices/attempts.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { createMemoryFields } from './fields.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoryStrings.confirm;
/** Where the browser keeps what was changed of the memory that is looked at. */
const CHANGED = ['form', 'memory:confirm'];

/** A text that is looked at before it becomes a memory: suggestions come as soon as there are any, Enter adds it. */
class MemoryConfirm {
  #page;
  #memories;
  #options;
  #text;
  #draft;
  #analysis = null;
  /** The memory that says the same or otherwise, as it is shown. */
  #nearest = null;
  #replaces = null;
  /** What was sent the last time; see `sentAs`. */
  #tried = null;
  #decided = new Set();
  #controller = new AbortController();
  #fields;
  #similar = element('div', { class: 'memory-similar', hidden: true });
  #note = element('p', { class: 'memory-note', role: 'status' });
  #problem = element('p', { class: 'memory-problem', role: 'alert', hidden: true });
  #add = element('button', { type: 'submit', class: 'btn btn-primary', text: words.add });

  constructor(text, page, options) {
    this.#page = page;
    this.#options = options;
    this.#text = text;
    this.#draft = draftOf(text);
    this.#restore();
    this.#memories = createMemoriesApi(page.api);
    this.#fields = createMemoryFields(this.#draft, (field, value) => this.#decide(field, value));
    const cancel = element('button', { type: 'button', class: 'btn btn-quiet', text: words.cancel, onclick: () => this.#giveUp() });
    this.node = element('form', { class: 'composer-card memory-card', 'aria-label': words.title },
      element('h2', { class: 'composer-card-title', text: words.title }), ...this.#fields.nodes, this.#similar, this.#note, this.#problem,
      element('div', { class: 'memory-buttons' }, cancel, this.#add));
    this.node.addEventListener('keydown', (event) => this.#onKey(event));
    this.node.addEventListener('submit', (event) => {
      event.preventDefault();
      this.#accept();
    });
  }

  /** Takes the focus, and asks for suggestions. */
  begin() {
    this.#add.focus();
    this.#offerNames();
    this.#suggest();
  }

  /** The types and domains that the person has beside those that everybody has. */
  async #offerNames() {
    const { signal } = this.#controller;
    const offer = ({ answers }) => this.#fields.offer({ types: answers.types?.types, domains: answers.domains?.domains });
    offer(await askTogether({
      types: () => this.#memories.pkbTypes({ signal }), domains: () => this.#memories.pkbDomains({ signal }),
    }, { onLate: offer }));
  }

  async #suggest() {
    const { signal } = this.#controller;
    this.#note.textContent = words.thinking;
    try {
      // A model on this machine may take many seconds: what rules say is shown meanwhile.
      this.#take(await this.#memories.pkbAnalyzeByRules(this.#text, { signal }));
      this.#note.textContent = words.modelLooks(this.#analysis.expected_seconds);
      this.#take(await this.#memories.pkbAnalyze(this.#text, { signal }));
      this.#note.textContent = warningsIn(this.#analysis).join(' ');
    } catch {
      this.#note.textContent = this.#analysis ? '' : words.noSuggestions;
    }
  }

  #take(analysis) {
    this.#analysis = analysis;
    this.#draft = withSuggestions(this.#draft, this.#analysis, this.#decided);
    this.#fields.show(this.#draft, this.#decided);
    this.#showSimilar(nearestQuestion(this.#analysis.similar));
  }

  #showSimilar(nearest) {
    // What the person has ticked stays ticked when the model says the same as the rules.
    if (nearest && nearest.claim.claim_id === this.#nearest?.claim.claim_id && nearest.kind === this.#nearest.kind) return;
    this.#nearest = nearest;
    this.#replaces = null;
    setHidden(this.#similar, !nearest);
    if (!nearest) return;
    const box = element('input', { type: 'checkbox' });
    box.addEventListener('change', () => {
      this.#replaces = box.checked ? nearest.claim.claim_id : null;
    });
    this.#similar.replaceChildren(
      element('p', { class: 'memory-note', text: words.similar[nearest.kind](nearest.claim.friendly_id) }),
      element('p', { class: 'memory-existing', text: nearest.claim.statement }),
      element('label', { class: 'memory-replace' }, box, words.replace),
      nearest.kind === 'contradiction' ? element('p', { class: 'memory-note', text: words.conflict }) : '',
    );
  }

  #decide(field, value) {
    this.#decided.add(field);
    this.#draft = { ...this.#draft, [field]: value };
    const changes = Object.fromEntries([...this.#decided].map((name) => [name, this.#draft[name]]));
    this.#page.kept.set(...CHANGED, { text: this.#text, changes });
  }

  /** What was changed before the page was left. */
  #restore() {
    const kept = this.#page.kept.get(...CHANGED);
    if (kept?.text !== this.#text) return;
    this.#draft = { ...this.#draft, ...kept.changes };
    this.#decided = new Set(Object.keys(kept.changes));
  }

  #onKey(event) {
    if (composes(event)) return;
    if (event.key === 'Escape') this.#giveUp();
    const accepts = event.key === 'Enter' && event.target.matches('textarea') && !event.shiftKey;
    if (!accepts) return;
    event.preventDefault();
    this.#accept();
  }

  async #accept() {
    if (this.#add.disabled || this.#draft.statement.trim() === '') return;
    this.#tellWork(true);
    setHidden(this.#problem, true);
    try {
      const body = claimFrom(this.#draft, { analysis: this.#analysis, analysed: this.#text, supersedes: this.#replaces });
      this.#tried = sentAs(body.statement, this.#tried);
      const added = await this.#memories.pkbAddClaim({ ...body, client_id: this.#tried.id });
      this.#options.onAdded();
      this.#leave();
      this.#tellAdded(added);
    } catch (error) {
      this.#problem.textContent = failureText(error, words.failed);
      setHidden(this.#problem, false);
    } finally {
      this.#tellWork(false);
    }
  }

  #tellWork(working) {
    this.#add.disabled = working;
    this.#add.textContent = working ? words.adding : words.add;
  }

  #tellAdded({ claim, audit_id: auditId }) {
    this.#page.events.emit('memories:changed');
    showToast(words.done(claim.friendly_id), { kind: 'success', actionLabel: words.undo, onAction: () => this.#undo(auditId) });
  }

  async #undo(auditId) {
    if (!(await attempt(() => this.#memories.pkbUndo(auditId), { failed: words.undoFailed }))) return;
    this.#page.events.emit('memories:changed');
    showToast(words.undone);
  }

  async #giveUp() {
    const { statement } = this.#draft;
    const isLong = statement !== this.#text && isMoreThanALine(statement);
    if (!isLong || (await confirmAction({ title: words.discard, confirmLabel: words.discardConfirm }))) this.#leave();
  }

  #leave() {
    if (this.#page.kept.get(...CHANGED)) this.#page.kept.set(...CHANGED, null);
    this.#controller.abort();
    this.#options.onClose();
  }
}

/**
 * Opens the card in which a text is confirmed as a memory.
 *
 * @param {HTMLElement} place
 * @param {string} text
 * @param {object} page
 * @param {{onClose: () => void, onAdded: () => void}} options
 */
export function openMemoryConfirm(place, text, page, options) {
  const card = new MemoryConfirm(text, page, options);
  place.replaceChildren(card.node);
  card.begin();
}
