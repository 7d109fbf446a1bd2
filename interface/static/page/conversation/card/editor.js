import { strings } from '../../strings/en/conversation.js';
import { copyAndSay } from '../../ui/copy_fallbacks.js';
import { element, setHidden } from '../../ui/dom.js';

const words = strings.edit;

/** The field, its buttons, and the line that says what happened to the message meanwhile. */
function layOut(text) {
  const field = element('textarea', { class: 'message-editor-field', 'aria-label': words.label });
  field.value = text;
  const save = element('button', { type: 'submit', class: 'btn btn-primary btn-sm', text: words.save });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.cancel });
  const notice = element('p', { class: 'message-editor-notice', role: 'alert', hidden: true });
  const form = element('form', { class: 'message-editor' }, field, notice, element('div', { class: 'message-editor-buttons' }, cancel, save));
  return { form, field, save, cancel, notice };
}

/**
 * Changing a message in its card. What is typed is kept until it is saved or given up, also where the card goes meanwhile;
 * what happens to the message elsewhere is said.
 *
 * @param {HTMLElement} body that the field stands in for
 * @param {{message: () => object, edits: object, save: (edit: object) => Promise<'saved'|'changed'|'gone'|'failed'>, onClose: () => void}} options
 *   `edits`: see `createEditDrafts`; `save` takes `{text, basedOn, isGone}`, `onClose` is called when it is over
 */
export function createEditing(body, { message, edits, save, onClose }) {
  let parts = null;
  let basedOn = '';
  /** What happened to the message elsewhere: 'changed', 'gone' or ''. */
  let trouble = '';
  let isSaving = false;

  const isOpen = () => parts !== null;

  function tellSave() {
    parts.save.disabled = isSaving || parts.field.value.trim() === '';
  }

  function tell(what) {
    trouble = what;
    body.hidden = true;
    parts.save.textContent = { changed: words.saveAnyway, gone: words.restore }[what] ?? words.save;
    parts.notice.replaceChildren(...(what ? [words[what], ' ', remedy(what)] : []));
    setHidden(parts.notice, !what);
  }

  function remedy(what) {
    const button = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: what === 'gone' ? words.copy : words.showOther });
    button.addEventListener('click', () => {
      if (what === 'gone') copyAndSay(parts.field.value, button, strings.copy.copied);
      else {
        body.hidden = !body.hidden;
        button.textContent = body.hidden ? words.showOther : words.hideOther;
      }
    });
    return button;
  }

  function close() {
    const { form } = parts;
    parts = null;
    form.remove();
    body.hidden = false;
    onClose();
  }

  function giveUp() {
    edits.drop(message().message_id, parts.field.value);
    close();
  }

  async function submit() {
    const text = parts.field.value;
    if (isSaving || text.trim() === '') return;
    if (!trouble && text === basedOn) {
      giveUp();
      return;
    }
    isSaving = true;
    tellSave();
    // Who saves over another text has been told of that one.
    const outcome = await save({ text, basedOn: trouble ? message().text : basedOn, isGone: trouble === 'gone' });
    isSaving = false;
    if (!isOpen()) return;
    tellSave();
    if (outcome === 'saved') close();
    else {
      if (outcome !== 'failed') tell(outcome);
      parts.field.focus();
    }
  }

  function onKey(event) {
    if (event.key === 'Escape') giveUp();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Opens the field, with what was typed before; the focus goes there for who asked for it. */
  function open({ takesFocus }) {
    if (isOpen()) return;
    const kept = edits.get(message().message_id);
    basedOn = kept?.basedOn ?? message().text;
    parts = layOut(kept?.text ?? basedOn);
    parts.cancel.addEventListener('click', giveUp);
    parts.field.addEventListener('input', () => {
      edits.set(message().message_id, parts.field.value, basedOn);
      tellSave();
    });
    parts.form.addEventListener('submit', (event) => {
      event.preventDefault();
      submit();
    });
    parts.form.addEventListener('keydown', onKey);
    trouble = '';
    body.hidden = true;
    body.after(parts.form);
    tellSave();
    follow();
    if (takesFocus) parts.field.focus();
  }

  /** The message may be another one than it was. */
  function follow() {
    if (!isOpen() || isSaving) return;
    const { isGone, text } = message();
    const now = isGone ? 'gone' : text === basedOn || text === parts.field.value ? '' : 'changed';
    if (now !== trouble) tell(now);
  }

  return { open, submit, giveUp: () => isOpen() && giveUp(), follow, isOpen, isKept: () => edits.get(message().message_id) !== null };
}
