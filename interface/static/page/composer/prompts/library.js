/** The prompt library: every prompt, a form for a new one or a changed one. Loaded when it is opened. */

import { createLibraryApi } from '../settings/library_api.js';
import { answerSettingsStrings } from '../../strings/en/answer_settings.js';
import { failureText } from '../../ui/notices/attempts.js';
import { labelled, openDialog } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { showToast } from '../../ui/notices/toast.js';
import { isPromptName } from './prompts_model.js';

const words = answerSettingsStrings.prompts;

const FORM = 'form';
/** Under which its text is kept while it is being written. */
const keyOf = (prompt) => `prompt:${prompt?.prompt_id ?? ''}`;

/** The form of a new prompt, or of one that is changed. What is typed is kept until it is saved or thrown away. */
function createForm(kept) {
  const name = element('input', { class: 'form-control', type: 'text', maxlength: '50', autocomplete: 'off' });
  const text = element('textarea', { class: 'form-control', rows: '4', maxlength: '50000', dir: 'auto' });
  const submit = element('button', { type: 'submit', class: 'btn btn-primary' });
  const discard = element('button', { type: 'button', class: 'btn btn-quiet', text: answerSettingsStrings.discard, onclick: giveUp });
  const form = {
    changed: null, name, text, fill, done, resume, submit, discard, nodes: [labelled(words.name, name, words.nameHelp), labelled(words.text, text, words.textHelp)],
  };

  const isTouched = () => name.value !== (form.changed?.name ?? '') || text.value !== (form.changed?.text ?? '');

  function fill(prompt) {
    form.changed = prompt;
    const typed = kept.get(FORM, keyOf(prompt)) ?? prompt;
    name.value = typed?.name ?? '';
    text.value = typed?.text ?? '';
    submit.textContent = prompt ? words.change : words.add;
    setHidden(discard, !isTouched());
  }

  function keep() {
    kept.set(FORM, keyOf(form.changed), isTouched() ? { name: name.value, text: text.value } : null);
    setHidden(discard, !isTouched());
  }

  /** It is saved, or given up. */
  function done(prompt) {
    kept.set(FORM, keyOf(prompt), null);
    if (form.changed === prompt) fill(null);
  }

  function giveUp() {
    done(form.changed);
    name.focus();
  }

  /** Opens what was typed and not saved. What was meant for a prompt that is gone is a new one. */
  function resume(prompts) {
    const known = new Map(prompts.map((prompt) => [keyOf(prompt), prompt]));
    const typed = kept.all(FORM).filter(([key]) => key.startsWith(keyOf(null)));
    const [orphan, value] = typed.find(([key]) => key !== keyOf(null) && !known.has(key)) ?? [];
    if (orphan && !kept.get(FORM, keyOf(null))) kept.change([[FORM, orphan, null], [FORM, keyOf(null), value]]);
    fill(kept.get(FORM, keyOf(null)) ? null : known.get(typed[0]?.[0]) ?? null);
  }

  for (const field of [name, text]) field.addEventListener('input', keep);
  return form;
}

/**
 * @param {object} page what views share
 * @returns {Promise<object|undefined>} the prompt that is to be used now
 */
export async function openPromptLibrary(page) {
  const library = createLibraryApi(page.api).prompts;
  const [known] = await Promise.all([library.list(), addPanelStyle('composer/settings/settings'), page.kept.ready()]);
  const list = element('ul', { class: 'prompt-list' });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const form = createForm(page.kept);

  function say(text) {
    problem.textContent = text;
    setHidden(problem, !text);
  }

  async function tell(job) {
    try {
      say('');
      await job();
    } catch (error) {
      say(failureText(error, answerSettingsStrings.failed));
    }
  }

  function act(symbol, label, run) {
    return element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: run }, icon(symbol));
  }

  async function remove({ prompt_id: id, name, text }) {
    await library.remove(id);
    show(await library.list());
    const onAction = () => tell(async () => {
      await library.add({ name, text });
      show(await library.list());
    });
    showToast(words.deleted(name), { actionLabel: answerSettingsStrings.undo, onAction });
  }

  function edit(prompt) {
    form.fill(prompt);
    form.text.focus();
  }

  function show(prompts) {
    const rows = prompts.map((prompt) => element('li', { class: 'prompt-row' },
      element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: `/${prompt.name}`, title: words.use(prompt.name), onclick: () => dialog.close(prompt) }),
      element('span', { class: 'prompt-row-text', text: prompt.text, dir: 'auto' }),
      act('pencil', words.edit(prompt.name), () => edit(prompt)),
      act('trash', words.remove(prompt.name), () => tell(() => remove(prompt)))));
    list.replaceChildren(...(rows.length ? rows : [element('li', { class: 'field-hint', text: words.empty })]));
    page.events.emit('prompts:changed');
  }

  function submit() {
    const prompt = { name: form.name.value.trim(), text: form.text.value };
    if (!isPromptName(prompt.name)) return say(words.wrongName);
    if (!prompt.text.trim()) return say(words.noText);
    const { changed } = form;
    return tell(async () => {
      await (changed ? library.replace(changed.prompt_id, prompt) : library.add(prompt));
      form.done(changed);
      show(await library.list());
      showToast(words.saved(prompt.name.toLowerCase()), { kind: 'success' });
    });
  }

  const close = element('button', { type: 'button', class: 'btn btn-quiet', text: words.close, onclick: () => dialog.close() });
  const dialog = openDialog({
    title: words.title, className: 'prompt-library', content: [list, ...form.nodes, problem], buttons: [form.discard, close, form.submit], onSubmit: submit,
  });
  form.resume(known);
  show(known);
  form.name.focus();
  return dialog.closed;
}
