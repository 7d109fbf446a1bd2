import { documentStrings } from '../strings/en/documents.js';
import { createAutocomplete } from '../composer/suggestions/autocomplete.js';
import { MarkdownView } from '../markdown/view.js';
import { element, setHidden } from '../ui/dom.js';
import { showToast } from '../ui/toast.js';

const words = documentStrings;
const FORM = 'form';
const keyOf = (path) => `documents:${path}`;

/** What is typed into a document and not saved yet; null for nothing. */
export const unsaved = (kept, path) => kept.get(FORM, keyOf(path));

/**
 * A document to be written: plain text with completion and a preview. What is typed is kept until it is saved or thrown away. Where the
 * document was changed meanwhile, the person decides which text stays.
 *
 * @param {{path: string, text: string, version: string|null}} found `version` null: a new document
 * @param {{api: object, page: object, kept: object, attempt: Function}} shared
 * @param {{onSaved: (document: object) => void, onClose: () => void}} on
 */
export function documentEditor(found, { api, page, kept }, { onSaved, onClose }) {
  const draft = unsaved(kept, found.path);
  let version = draft ? draft.version : found.version;
  const input = element('textarea', { class: 'form-control document-input', 'aria-label': words.text, spellcheck: 'true', dir: 'auto' });
  input.value = draft ? draft.text : found.text;
  // What completes a link stands beside the field.
  const field = element('div', { class: 'document-field' }, input);
  const status = element('p', { class: 'documents-note', role: 'status' });
  const conflict = element('div', { class: 'document-conflict', role: 'alert', hidden: true });
  const preview = element('div', { class: 'document-text message-content markdown', hidden: true });
  const view = new MarkdownView(preview);
  const save = element('button', { type: 'button', class: 'btn btn-primary btn-sm', text: words.save, onclick: () => store() });
  const look = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', 'aria-pressed': 'false', text: words.preview, onclick: togglePreview });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.discard, onclick: discard });
  const autocomplete = createAutocomplete(input, page, { onComplete: keep });
  let isSaving = false;

  input.addEventListener('input', () => {
    keep();
    autocomplete.follow();
  });
  input.addEventListener('keydown', (event) => {
    if (autocomplete.handleKey(event)) {
      event.stopPropagation();
      return;
    }
    if (event.key === 's' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      store();
    }
  });

  function keep() {
    kept.set(FORM, keyOf(found.path), input.value === found.text && version === found.version ? null : { text: input.value, version });
  }

  function put(text) {
    input.value = text;
    keep();
  }

  function togglePreview() {
    const isShown = preview.hidden;
    if (isShown) view.setText(input.value);
    setHidden(preview, !isShown);
    setHidden(field, isShown);
    look.setAttribute('aria-pressed', String(isShown));
  }

  function discard() {
    kept.set(FORM, keyOf(found.path), null);
    onClose();
  }

  async function store() {
    if (isSaving) return;
    isSaving = true;
    save.disabled = true;
    status.textContent = words.saving;
    const text = input.value;
    try {
      const stored = await api.save(found.path, text, version);
      // What was typed while it was being saved is saved with the next time.
      if (input.value !== text) {
        version = stored.version;
        keep();
        status.textContent = words.savedMeanwhile;
        return;
      }
      await kept.set(FORM, keyOf(found.path), null);
      onSaved(stored);
    } catch (error) {
      status.textContent = '';
      if (error.status === 412 || error.status === 428) await askWhich();
      else status.textContent = words.saveFailed(error.message);
    } finally {
      isSaving = false;
      save.disabled = false;
    }
  }

  /** Shows what the document says now beside what was typed. */
  async function askWhich() {
    let now;
    try {
      now = await api.read(found.path);
    } catch (error) {
      if (error.status !== 404) {
        status.textContent = words.saveFailed(error.message);
        return;
      }
      now = { text: '', version: null };
    }
    const mine = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.keepMine, onclick: () => {
      version = now.version;
      setHidden(conflict, true);
      store();
    } });
    const theirs = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.takeTheirs, onclick: () => {
      const mineBefore = input.value;
      version = now.version;
      put(now.text);
      setHidden(conflict, true);
      input.focus();
      showToast(words.tookTheirs, { actionLabel: words.undo, onAction: () => put(mineBefore) });
    } });
    conflict.replaceChildren(element('p', { text: now.version === null ? words.deletedMeanwhile : words.changedMeanwhile }),
      element('pre', { class: 'document-theirs', dir: 'auto', tabindex: '0', text: now.text }), element('div', { class: 'document-head' }, mine, theirs));
    // Both texts are seen.
    if (!preview.hidden) togglePreview();
    setHidden(conflict, false);
    mine.focus();
  }

  const node = element('div', { class: 'documents-scroller document-editor' },
    element('h2', { class: 'document-title', text: found.path }), conflict, field, preview,
    element('div', { class: 'document-head' }, save, look, cancel), status);
  return { node, takeFocus: () => input.focus(), close: () => autocomplete.close() };
}
