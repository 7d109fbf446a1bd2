import { documentStrings } from '../strings/en/documents.js';
import { createAutocomplete } from '../composer/suggestions/autocomplete.js';
import { isMoreThanALine } from '../core/typing.js';
import { MarkdownView } from '../markdown/view.js';
import { confirmAction } from '../ui/controls/dialog.js';
import { element, replaceWithFocus, setHidden } from '../ui/dom.js';
import { showToast } from '../ui/notices/toast.js';

const words = documentStrings;
const FORM = 'form';
/** What a document says that was deleted. */
const GONE = { text: '', version: null };
const keyOf = (path) => `documents:${path}`;

/** What is typed into a document and not saved yet; null for nothing. */
export const unsaved = (kept, path) => kept.get(FORM, keyOf(path));

/** @returns {string[]} the documents into which something was typed that is not saved: some may not be there yet */
export const unsavedPaths = (kept) => kept.all(FORM).filter(([id]) => id.startsWith(keyOf(''))).map(([id]) => id.slice(keyOf('').length)).sort();

/** Calls `listener` when other documents are among these. @returns {() => void} stops that */
export const followUnsaved = (kept, listener) => kept.follow(({ kind, id }) => kind === FORM && id.startsWith(keyOf('')) && listener());

/**
 * A document to be written: plain text with completion and a preview. What is typed is kept until it is saved or thrown away. Where the
 * document was changed meanwhile, the person decides which text stays; where nothing was typed yet, the field shows the new text.
 *
 * @param {{path: string, text: string, version: string|null}} found `version` null: a new document
 * @param {{api: object, page: object, kept: object}} shared
 * @param {{onSaved: (document: object, told: {version: string|null|undefined}|null) => void, onMoved: (path: string) => void, onClose: () => void}} on
 *   `told`: the last version that was told while the document was being saved
 */
export function documentEditor(found, { api, page, kept }, { onSaved, onMoved, onClose }) {
  const draft = unsaved(kept, found.path);
  let { path } = found;
  /** What the field held before anything was typed. */
  let before = found;
  let version = draft ? draft.version : found.version;
  const input = element('textarea', { class: 'form-control document-input', 'aria-label': words.text, spellcheck: 'true', dir: 'auto' });
  input.value = draft ? draft.text : before.text;
  // What completes a link stands beside the field.
  const field = element('div', { class: 'document-field' }, input);
  const status = element('p', { class: 'documents-note', role: 'status' });
  const conflict = element('div', { class: 'document-conflict', role: 'alert', hidden: true });
  const preview = element('div', { class: 'document-text message-content markdown', hidden: true });
  const view = new MarkdownView(preview);
  const save = element('button', { type: 'button', class: 'btn btn-primary btn-sm', text: words.save, onclick: () => store() });
  const look = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', 'aria-pressed': 'false', text: words.preview, onclick: togglePreview });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', onclick: discard });
  const autocomplete = createAutocomplete(input, page, { onComplete: keep });
  let isSaving = false;
  let isClosed = false;
  /** The version that was told last, since the last time it was saved; null for none. @type {{version: string|null|undefined}|null} */
  let told = null;

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

  const isUntouched = () => input.value === before.text && version === before.version;

  function tellCancel() {
    cancel.textContent = isUntouched() ? words.leave : words.discard;
  }

  function keep() {
    tellCancel();
    kept.set(FORM, keyOf(path), isUntouched() ? null : { text: input.value, version, at: Date.now() });
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

  async function discard() {
    const isMuch = input.value !== before.text && isMoreThanALine(input.value);
    if (isMuch && !(await confirmAction({ title: words.discardTitle, confirmLabel: words.discard }))) return;
    kept.set(FORM, keyOf(path), null);
    onClose();
  }

  async function store() {
    if (isSaving) return;
    isSaving = true;
    save.disabled = true;
    status.textContent = words.saving;
    told = null;
    const text = input.value;
    try {
      const stored = await api.save(path, text, version);
      ({ version } = stored);
      // What was typed while it was being saved is saved with the next time.
      if (input.value !== text) {
        keep();
        status.textContent = words.savedMeanwhile;
        return;
      }
      await kept.set(FORM, keyOf(path), null);
      onSaved(stored, told);
    } catch (error) {
      status.textContent = '';
      if (error.status === 412 || error.status === 428) await askWhich();
      else status.textContent = words.saveFailed(error.message);
    } finally {
      isSaving = false;
      save.disabled = false;
      if (told && conflict.hidden) hearOf(told.version);
    }
  }

  /** What the document says now. Raises what the request does, but not for a document that is not there. */
  async function readNow() {
    return (await api.readIfThere(path)) ?? GONE;
  }

  async function askWhich() {
    try {
      showConflict(await readNow());
    } catch (error) {
      status.textContent = words.saveFailed(error.message);
      return;
    }
    // Both texts are seen.
    if (!preview.hidden) togglePreview();
    conflict.querySelector('button').focus();
  }

  /** Shows what the document says now beside what was typed. */
  function showConflict(now) {
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
    replaceWithFocus(conflict, element('p', { text: now.version === null ? words.deletedMeanwhile : words.changedMeanwhile }),
      element('pre', { class: 'document-theirs', dir: 'auto', tabindex: '0', text: now.text }), element('div', { class: 'document-head' }, mine, theirs));
    setHidden(conflict, false);
  }

  /** The document was changed, moved or deleted. @param {{path: string|null, version: string|null|undefined}} fate */
  function hear(fate) {
    if (fate.path !== null && fate.path !== path) moveTo(fate.path);
    else hearOf(fate.version);
  }

  /** Another version may be there now. @param {string|null|undefined} newest null: it was deleted; undefined: not told */
  async function hearOf(newest) {
    const mine = { version: newest };
    told = mine;
    // Whether it is the version that is being saved, the answer says.
    if (isSaving || isClosed || newest === version) return;
    const now = newest === null ? GONE : await readNow().catch(() => null);
    if (now && told === mine && !isSaving && !isClosed) take(now);
  }

  /** There is nothing to decide any more. */
  function leaveConflict() {
    if (conflict.contains(document.activeElement)) input.focus();
    setHidden(conflict, true);
  }

  /** The document says this now. */
  function take(now) {
    if (now.version === version || now.text === input.value) {
      if (now.version !== version) before = now;
      version = now.version;
      leaveConflict();
      keep();
    } else if (isUntouched() && now !== GONE) {
      const { selectionStart, selectionEnd } = input;
      before = now;
      version = now.version;
      input.value = now.text;
      input.setSelectionRange(selectionStart, selectionEnd);
    } else showConflict(now);
  }

  /** The document lies elsewhere now: what was typed goes there. */
  function moveTo(newPath) {
    kept.set(FORM, keyOf(path), null);
    path = newPath;
    title.textContent = path;
    leaveConflict();
    keep();
    onMoved(path);
  }

  tellCancel();
  const title = element('h2', { class: 'document-title', text: path });
  const node = element('div', { class: 'documents-scroller document-editor' },
    title, conflict, field, preview,
    element('div', { class: 'document-head' }, save, look, cancel), status);
  return {
    node, hear, isEditor: true, takeFocus: () => input.focus(),
    close() {
      isClosed = true;
      autocomplete.close();
    },
    get path() {
      return path;
    },
    get version() {
      return version;
    },
  };
}
