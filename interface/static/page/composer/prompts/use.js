/** Puts a prompt into a message: asks what its fields hold, where it has any. Loaded with the first one that is used. */

import { answerSettingsStrings } from '../../strings/en/answer_settings.js';
import { composes } from '../../core/typing.js';
import { labelled, openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { keepFields } from '../../ui/controls/kept_fields.js';
import { fieldsOf, filled } from './prompts_model.js';

const words = answerSettingsStrings.prompts;

function askFields(prompt, names, kept) {
  const inputs = names.map((name) => element('textarea', { class: 'form-control', rows: '1', name, dir: 'auto' }));
  const labels = inputs.map((input) => labelled(input.name, input));
  const buttons = [
    element('button', { type: 'button', class: 'btn btn-quiet', text: answerSettingsStrings.cancel, onclick: () => dialog.close() }),
    element('button', { type: 'submit', class: 'btn btn-primary', text: words.insert }),
  ];
  const typed = keepFields(kept, `prompt-fields:${prompt.prompt_id}:${names.join(' ')}`, inputs);
  typed.restore();
  const onSubmit = () => {
    typed.drop();
    dialog.close(Object.fromEntries(inputs.map(({ name, value }) => [name, value])));
  };
  const dialog = openDialog({ title: words.fill(prompt.name), content: labels, buttons, onSubmit });
  for (const input of inputs) {
    input.addEventListener('keydown', (event) => {
      if (event.key !== 'Enter' || event.shiftKey || composes(event)) return;
      event.preventDefault();
      onSubmit();
    });
  }
  inputs[0].focus();
  return dialog.closed;
}

/**
 * @param {{prompt_id: string, name: string, text: string}} prompt
 * @param {import('../../core/browser_storage/kept.js').Kept} kept holds what was typed into the fields and not put in
 * @returns {Promise<string|null>} the text to be put into the message; null where the person thought better of it
 */
export async function promptText(prompt, kept) {
  const names = fieldsOf(prompt.text);
  if (names.length === 0) return prompt.text;
  const values = await askFields(prompt, names, kept);
  return values ? filled(prompt.text, values) : null;
}
