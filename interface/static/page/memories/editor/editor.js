/** Adding a memory, and changing one: the form, with suggestions while the statement is typed. */

import { bring } from '../../core/api.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { differences, excerpt } from '../memory_model.js';
import { worthAsking } from './suggestions_model.js';
import { failureText } from '../../ui/notices/attempts.js';
import { confirmAction } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { openDialog } from '../dialog.js';
import { createMemoryForm } from './form.js';
import { button } from '../controls.js';
import { saveChanges, sentAs } from './save.js';
import { createSuggestions } from './suggestions.js';

const words = memoriesStrings.editor;
const DRAFT = 'draft';

const EMPTY = {
  statement: '', claim_type: 'fact', context_domain: 'personal', tags: [], entities: [], contexts: [], friendly_id: '', confidence: null, valid_from: null,
  valid_to: null, possible_questions: [],
};

/** A claim of the server's as the form holds it. */
function formOf(claim) {
  return {
    ...EMPTY,
    claim_id: claim.claim_id,
    status: claim.status,
    ...Object.fromEntries(Object.keys(EMPTY).filter((name) => claim[name] !== undefined).map((name) => [name, claim[name]])),
    tags: (claim.tags ?? []).map(({ name }) => name),
    entities: (claim.entities ?? []).map(({ name, entity_type: type, role }) => ({ name, type, role })),
    contexts: claim.contexts ?? [],
  };
}

/** What the server takes: contexts by id, nothing that is empty where it may be left out. */
function payloadOf(form) {
  const { contexts, friendly_id: friendlyId, ...rest } = form;
  return { ...rest, ...(friendlyId ? { friendly_id: friendlyId } : {}), contexts: contexts.map(({ context_id: id }) => id) };
}

/**
 * The dialog. `save(form)` gives an answer of the server, or throws; its message then stands in the dialog, and what was
 * typed stays.
 */
function openEditor(page, { title, confirmLabel, initial, save, onChange = () => {}, mayClose, existing = null, note = '' }) {
  const hint = note ? element('p', { class: 'memories-note', role: 'status', text: note }) : null;
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const submit = element('button', { type: 'submit', class: 'btn btn-primary', text: confirmLabel });
  const form = createMemoryForm(page, initial, { onChange: changed });
  const suggestions = createSuggestions(page, form, { except: existing?.claim_id });
  const dialog = openDialog({
    title, wide: true,
    content: [...(hint ? [hint] : []), form.statementField, suggestions.node, form.node, problem],
    buttons: [button(memoriesStrings.panel.cancel, async () => (await mayClose(form.value())) && dialog.close()), submit],
    onSubmit: send,
    mayClose: () => mayClose(form.value()),
  });
  dialog.node.addEventListener('keydown', (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) send();
  });

  function changed() {
    suggestions.consider();
    onChange(form.value());
  }

  function tell(text) {
    problem.textContent = text;
    setHidden(problem, !text);
  }

  async function send() {
    const wrong = form.check();
    tell(wrong ?? '');
    if (wrong || submit.disabled) return;
    submit.disabled = true;
    submit.textContent = words.saving;
    try {
      dialog.close(await save(form.value()));
    } catch (error) {
      tell(failureText(error, memoriesStrings.panel.failed));
    } finally {
      submit.disabled = false;
      submit.textContent = confirmLabel;
    }
  }

  form.focus();
  suggestions.consider();
  dialog.closed.finally(suggestions.stop);
  return dialog.closed;
}

/**
 * Adds one memory. What was typed and not added is there again the next time.
 *
 * @param {object} page
 * @param {{statement?: string}} [given]
 * @returns {Promise<object|null>} the answer of the server; null when nothing was added
 */
export async function addMemory(page, { statement = '' } = {}) {
  await page.store.ready();
  const draft = page.store.get(DRAFT);
  const initial = statement ? { ...EMPTY, statement } : { ...EMPTY, ...draft };
  let tried = (!statement && draft?.tried) || null;
  const keep = (form) => page.store.set(DRAFT, form.statement.trim() ? { ...form, tried } : null);

  function save(form) {
    tried = sentAs(form.statement, tried);
    // Whoever closes the browser now does not know whether it arrived.
    keep(form);
    return page.api.pkbAddClaim({ ...payloadOf(form), auto_extract: false, client_id: tried.id });
  }

  const answer = await openEditor(page, {
    title: words.addTitle,
    confirmLabel: words.add,
    initial,
    onChange: keep,
    mayClose: () => true,
    save,
  });
  if (!answer) return null;
  page.store.set(DRAFT, null);
  page.tellDone(words.added(excerpt(answer.claim.statement)), answer.audit_id);
  page.changed({ show: false });
  const asked = worthAsking(answer.similar);
  if (asked.length) {
    const { askAboutSimilar } = await bring(() => import('./similar.js'));
    await askAboutSimilar(page, answer.claim, asked);
  }
  return answer;
}

/** @returns {Promise<object|null>} `{claim, audit_id}`; null when nothing was changed */
export async function editMemory(page, claim) {
  await page.store.ready();
  const draft = `edit:${claim.claim_id}`;
  const kept = page.store.get(draft);
  const stored = formOf(claim);
  const before = payloadOf(stored);
  const changesIn = (form) => differences(before, payloadOf(form));
  const answer = await openEditor(page, {
    title: words.editTitle,
    confirmLabel: words.save,
    initial: { ...stored, ...kept },
    existing: claim,
    note: kept ? words.restored : '',
    onChange: (form) => page.store.set(draft, changesIn(form) ? form : null),
    mayClose: async (form) => !changesIn(form) || confirmAction({ title: words.discard, confirmLabel: words.discardConfirm }),
    save: async (form) => {
      const changes = changesIn(form);
      return changes ? saveChanges(page.api, claim, changes) : null;
    },
  });
  // Saved, or given up.
  page.store.set(draft, null);
  return answer ?? null;
}
