import { copyText } from '../../core/clipboard.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { shellStrings } from '../../strings/en/shell.js';
import { referenceTo } from '../memory_model.js';
import { askText } from '../../ui/controls/dialog.js';
import { chooseFrom, openDialog } from '../dialog.js';
import { element } from '../../ui/dom.js';
import { button, field } from '../controls.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoriesTabStrings.contexts;

/** A few lines of text, kept until they are saved; null where the person went away. */
async function askLines({ store, keptAs, title, label, value }) {
  const area = element('textarea', { class: 'form-control memories-area', rows: '4', maxlength: '2000' });
  area.value = store.get(keptAs)?.text ?? value;
  area.addEventListener('input', () => store.set(keptAs, area.value === value ? null : { text: area.value }));
  const save = element('button', { type: 'submit', class: 'btn btn-primary', text: memoriesStrings.panel.save });
  const cancel = button(memoriesStrings.panel.cancel, () => {
    store.set(keptAs, null);
    dialog.close();
  });
  const dialog = openDialog({ title, content: [field(label, area)], buttons: [cancel, save], onSubmit: () => dialog.close(area.value.trim()) });
  area.focus();
  return (await dialog.closed) ?? null;
}

/**
 * What can be done to a context.
 *
 * @param {object} page
 * @param {{model: () => import('./tree_model.js').FilingTree}} shown
 */
export function createContextActions(page, { model }) {
  const { api } = page;

  /** Runs a change, says it, and shows everything anew, also where it failed: the tree may show what did not happen. */
  async function change(job, said) {
    const answer = await page.attempt(job, { again: () => change(job, said) });
    if (answer) page.tellDone(said, answer.audit_id);
    page.changed();
  }

  async function create(parent) {
    const title = parent ? words.newBelowTitle(parent.name) : words.newTitle;
    const name = await askText({ title, label: words.name, confirmLabel: words.create });
    if (!name) return;
    const answer = await page.attempt(() => api.pkbAddContext({ name, parent_context_id: parent?.context_id ?? null }), { creates: true });
    page.changed({ show: !answer });
    if (answer) page.go({ tab: 'contexts', open: answer.context.friendly_id });
  }

  async function rename(context) {
    const name = await askText({ title: words.renameTitle, label: words.name, value: context.name });
    if (name && name !== context.name) await change(() => api.pkbEditContext(context.context_id, { name }), memoriesStrings.editor.saved);
  }

  async function describe(context) {
    const keptAs = `context:${context.context_id}`;
    const description = await askLines({ store: page.store, keptAs, title: context.name, label: words.describeLabel, value: context.description ?? '' });
    if (description === null) return;
    await change(async () => {
      const answer = await api.pkbEditContext(context.context_id, { description });
      page.store.set(keptAs, null);
      return answer;
    }, memoriesStrings.editor.saved);
  }

  function move(context, parentId) {
    if (!model().mayMove(context.context_id, parentId)) {
      showToast(words.cycle, { kind: 'error' });
      return Promise.resolve();
    }
    const to = parentId === null ? '' : model().get(parentId).name;
    return change(() => api.pkbEditContext(context.context_id, { parent_context_id: parentId }), words.moved(context.name, to));
  }

  async function chooseParent(context) {
    const rows = model().outline().filter(({ thing }) => model().mayMove(context.context_id, thing.context_id));
    const target = await chooseFrom({
      title: words.moveTo, filterLabel: words.filter, none: words.chooseNone,
      options: [{ value: { context_id: null }, label: words.top }, ...rows.map(({ thing, depth }) => ({ value: thing, label: thing.name, depth }))],
    });
    if (target) await move(context, target.context_id);
  }

  async function remove(context) {
    const answer = await page.attempt(() => api.pkbDeleteContext(context.context_id));
    if (!answer) return;
    page.tellDone(words.deleted(context.name), answer.audit_id);
    page.changed({ show: false });
    if (page.state().open === context.friendly_id) page.go({ open: '' });
    else page.refresh();
  }

  async function removeClaim(context, claim) {
    await change(() => api.pkbRemoveClaimFromContext(context.context_id, claim.claim_id), words.removed(context.name));
  }

  async function copy(context) {
    const reference = referenceTo(context);
    if (await copyText(reference)) showToast(shellStrings.conversation.referenceCopied(reference), { kind: 'success' });
  }

  function itemsOf(context) {
    return [
      { symbol: 'at', label: words.copy, run: () => copy(context) },
      null,
      { symbol: 'folder-plus', label: words.newBelow, run: () => create(context) },
      { symbol: 'pencil', label: words.rename, run: () => rename(context) },
      { symbol: 'file-text', label: words.describe, run: () => describe(context) },
      { symbol: 'arrow-right', label: words.moveTo, run: () => chooseParent(context) },
      null,
      { symbol: 'trash', label: words.delete, run: () => remove(context), danger: true },
    ];
  }

  return { create, move, removeClaim, itemsOf };
}
