import { strings } from '../../strings/en/conversation.js';
import { isFromUser } from '../message_model.js';
import { composes, isMoreThanALine } from '../../core/typing.js';
import { copyAndSay } from '../../ui/copy_fallbacks.js';
import { element, setHidden } from '../../ui/dom.js';

const words = strings.edit;

/** The field, its buttons, and the line that says what happened to the message meanwhile. */
function layOut(text, isQuestion) {
  const field = element('textarea', { class: 'message-editor-field', dir: 'auto', 'aria-label': words.label });
  field.value = text;
  const save = element('button', { type: 'submit', class: `btn btn-sm ${isQuestion ? 'btn-quiet' : 'btn-primary'}`, text: words.save });
  const ask = element('button', { type: 'button', class: 'btn btn-primary btn-sm', text: words.saveAndAsk, hidden: !isQuestion });
  const cancel = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.cancel });
  const notice = element('p', { class: 'message-editor-notice', role: 'alert', hidden: true });
  const form = element('form', { class: 'message-editor' }, field, notice, element('div', { class: 'message-editor-buttons' }, cancel, save, ask));
  return { form, field, save, ask, cancel, notice };
}

/** Whether so much was changed that nobody throws it away by one key. */
const isMuch = (text, before) => text !== before && isMoreThanALine(text);

/**
 * Changing a message in its card. What is typed is kept until it is saved or given up, also where the card goes meanwhile;
 * what happens to the message elsewhere is said.
 *
 * @param {HTMLElement} body that the field stands in for
 * @param {{message: () => object, edits: object, save: (edit: object) => Promise<'saved'|'changed'|'gone'|'failed'>,
 *   ask: (edit: object) => 'saved', onClose: () => void}} options `edits`: see `createEditDrafts`; `save` takes
 *   `{text, basedOn, isGone}`; `ask` sends the text as another question in this place; `onClose` is called when it is over
 */
export function createEditing(body, { message, edits, save, ask, onClose }) {
  let parts = null;
  let basedOn = '';
  /** What happened to the message elsewhere: 'changed', 'gone' or ''. */
  let trouble = '';
  let isSaving = false;
  let isWarned = false;

  const isOpen = () => parts !== null;

  function tellSave() {
    for (const button of [parts.save, parts.ask]) button.disabled = isSaving || parts.field.value.trim() === '';
    parts.save.textContent = isSaving ? words.saving : { changed: words.saveAnyway, gone: words.restore }[trouble] ?? words.save;
  }

  function tell(what) {
    trouble = what;
    body.hidden = true;
    parts.ask.hidden = what === 'gone' || !isFromUser(message());
    tellSave();
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
    // Who saves over another text has been told of that one.
    await settle(save, { text, basedOn: trouble ? message().text : basedOn, isGone: trouble === 'gone' });
  }

  async function submitAsQuestion() {
    const text = parts.field.value;
    if (!isSaving && text.trim() !== '') await settle(ask, { text });
  }

  async function settle(job, edit) {
    isSaving = true;
    tellSave();
    const outcome = await job(edit);
    isSaving = false;
    if (!isOpen()) return;
    tellSave();
    if (outcome === 'saved') close();
    else {
      if (outcome !== 'failed') tell(outcome);
      parts.field.focus();
    }
  }

  /** Escape or *Cancel* ends the editing; where much was written, the second time. */
  function leave() {
    if (isWarned || !isMuch(parts.field.value, basedOn)) {
      giveUp();
      return;
    }
    isWarned = true;
    const discard = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.discard, onclick: giveUp });
    parts.notice.replaceChildren(words.unsaved, ' ', discard);
    setHidden(parts.notice, false);
  }

  function onKey(event) {
    if (composes(event)) return;
    if (event.key === 'Escape') leave();
    else if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) submit();
    else return;
    event.preventDefault();
    event.stopPropagation();
  }

  /** Opens the field, with what was typed before; the focus goes there for who asked for it, also where it is open. */
  function open({ takesFocus }) {
    if (!isOpen()) show();
    if (takesFocus) parts.field.focus();
  }

  function show() {
    const kept = edits.get(message().message_id);
    basedOn = kept?.basedOn ?? message().text;
    parts = layOut(kept?.text ?? basedOn, isFromUser(message()));
    isWarned = false;
    parts.cancel.addEventListener('click', leave);
    parts.ask.addEventListener('click', submitAsQuestion);
    parts.field.addEventListener('input', () => {
      edits.set(message().message_id, parts.field.value, basedOn);
      isWarned = false;
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
