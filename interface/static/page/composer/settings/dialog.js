/** How a conversation is answered: system prompt, temperature, longest answer, model; and presets of these. Loaded when it is opened. */

import { agentName } from '../../core/words/agent_name.js';
import { answerSettingsStrings as words } from '../../strings/en/answer_settings.js';
import { failureText } from '../../ui/notices/attempts.js';
import { askText, confirmAction, labelled, openDialog } from '../../ui/controls/dialog.js';
import { element, setHidden } from '../../ui/dom.js';
import { keepFields } from '../../ui/controls/kept_fields.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { showToast } from '../../ui/notices/toast.js';
import { createLibraryApi } from './library_api.js';
import {
  changedSettings, consentOf, fieldsOfPreset, fieldsOfSettings, HIGHEST_TEMPERATURE, LONGEST_SYSTEM_PROMPT, optionsOf, presetOf, settingsOf, settingsOfConsent, settingsOfTools,
  toolsOfSettings, wrongField,
} from './settings_model.js';

const button = (text, attributes) => element('button', { type: 'button', class: 'btn btn-quiet', text, ...attributes });

const option = (value, text) => element('option', { value, text });

/** The four fields. @returns {{nodes: HTMLElement[], read: () => object, fill: (fields: object) => void, focus: (name: string) => void}} */
function createFields(choices) {
  const number = (attributes) => element('input', { class: 'form-control', type: 'number', inputmode: 'decimal', ...attributes });
  const controls = {
    systemPrompt: element('textarea', { class: 'form-control', rows: '6', dir: 'auto' }),
    temperature: number({ min: '0', max: String(HIGHEST_TEMPERATURE), step: 'any' }),
    answerTokens: number({ min: '1', step: '1', inputmode: 'numeric' }),
    model: element('select', { class: 'form-select' }, ...choices.map(({ id, name }) => option(id, name))),
  };
  const numbers = element('div', { class: 'answer-settings-row' },
    labelled(words.temperature, controls.temperature, words.temperatureHelp), labelled(words.answerTokens, controls.answerTokens, words.answerTokensHelp));

  function fill(fields) {
    // A model that is gone stays chosen until another one is.
    if (!choices.some(({ id }) => id === fields.model)) controls.model.append(option(fields.model, fields.model));
    for (const [name, control] of Object.entries(controls)) control.value = fields[name];
  }

  return {
    nodes: [labelled(words.systemPrompt, controls.systemPrompt, words.systemPromptHelp), numbers, labelled(words.model, controls.model)],
    // What is no number has no value, and must not be taken for an empty field.
    read: () => Object.fromEntries(Object.entries(controls).map(([name, control]) => [name, control.validity.badInput ? 'wrong' : control.value])),
    fill,
    focus: (name) => controls[name].focus(),
    keptAs: (kept, id) => keepFields(kept, id, Object.values(controls)),
  };
}

/** Which tools models may call, and whether these change documents at once. @returns {{node: HTMLElement, read: () => object}} */
function createTools(tools, { use, chosen, mayWrite }) {
  const whether = element('select', { class: 'form-select' }, option('', words.tools.auto), option('on', words.tools.on), option('off', words.tools.off));
  whether.value = use;
  const isOn = ({ name, on_by_default: usually }) => chosen[name] ?? usually;
  const switches = tools.map((tool) => [tool, element('input', { type: 'checkbox', class: 'form-check-input', checked: isOn(tool) })]);
  const list = switches.map(([{ name }, box]) => element('label', { class: 'answer-settings-tool' }, box, element('span', { text: words.tools.names[name] ?? name })));
  const each = element('details', {}, element('summary', { text: words.tools.which }), ...list);
  const writing = element('input', { type: 'checkbox', class: 'form-check-input', checked: mayWrite, 'aria-describedby': 'answer-settings-writing' });
  const writes = element('div', {}, element('label', { class: 'answer-settings-tool' }, writing, element('span', { text: words.tools.atOnce })),
    element('p', { class: 'field-hint', id: 'answer-settings-writing', text: words.tools.atOnceHelp }));

  function read() {
    const changed = switches.filter(([tool, box]) => box.checked !== tool.on_by_default).map(([{ name }, box]) => [name, box.checked]);
    return { use: whether.value, chosen: Object.fromEntries(changed), mayWrite: writing.checked };
  }

  return { node: element('div', {}, labelled(words.tools.label, whether, words.tools.help), each, writes), read };
}

/**
 * What may be called without asking; whoever unticks it is asked again. Not there where nothing is allowed.
 *
 * @param {import('./settings_model.js').Consent[]} consent
 * @param {Array<{agent_id: string, title: string}>} agents
 * @returns {{node: HTMLElement, read: () => import('./settings_model.js').Consent[]}}
 */
function createConsent(consent, agents) {
  const titleOf = (id) => agentName(agents.find(({ agent_id: each }) => each === id)?.title) ?? words.tools.goneAgent;
  const nameOf = ({ tool, agentId }) => (agentId === null ? tool : words.tools.allowedTo(tool, titleOf(agentId)));
  const boxes = consent.map((each) => [each, element('input', { type: 'checkbox', class: 'form-check-input', checked: true })]);
  const list = boxes.map(([each, box]) => element('label', { class: 'answer-settings-tool is-allowed' }, box, element('span', { text: nameOf(each) })));
  const hint = element('p', { class: 'field-hint', id: 'answer-settings-allowed', text: words.tools.allowedHelp });
  const node = element('fieldset', { class: 'answer-settings-allowed', 'aria-describedby': hint.id }, element('legend', { text: words.tools.allowed }), ...list, hint);
  setHidden(node, consent.length === 0);
  return { node, read: () => boxes.filter(([, box]) => box.checked).map(([each]) => each) };
}

/** The presets: a list to choose from, a button that keeps what the fields hold, one that deletes the chosen one. */
function createPresets(library, { fields, tell, isSound }) {
  const list = element('select', { class: 'form-select' });
  const keep = button(words.savePreset, { onclick: () => tell(save) });
  const drop = button(words.deletePreset, { onclick: () => tell(remove) });
  let presets = [];

  const chosen = () => presets.find(({ preset_id: id }) => id === list.value);

  function show(known, id = '') {
    presets = known;
    list.replaceChildren(option('', words.noPreset), ...presets.map(({ preset_id: each, name }) => option(each, name)));
    list.value = id;
    drop.disabled = !chosen();
  }

  async function save() {
    if (!isSound()) return;
    const before = chosen();
    const name = await askText({ title: words.savePreset, label: words.presetName, value: before?.name ?? '', maxLength: 100 });
    if (name === null) return;
    const preset = { name, ...presetOf(fields.read()) };
    const same = presets.find((each) => each.name === name);
    const kept = same ? await library.replace(same.preset_id, preset) : await library.add(preset);
    show(await library.list(), kept.preset_id);
    showToast(words.presetSaved(name), { kind: 'success' });
  }

  async function remove() {
    const { preset_id: id, ...preset } = chosen();
    await library.remove(id);
    show(await library.list());
    const { name, ...values } = preset;
    const onAction = () => tell(async () => {
      const back = await library.add({ name, ...presetOf(fieldsOfPreset(values)) });
      show(await library.list(), back.preset_id);
    });
    showToast(words.presetDeleted(name), { actionLabel: words.undo, onAction });
  }

  list.addEventListener('change', () => {
    drop.disabled = !chosen();
    if (chosen()) fields.fill(fieldsOfPreset(chosen()));
  });
  return { node: element('div', { class: 'answer-settings-presets' }, labelled(words.preset, list), keep, drop), show };
}

/**
 * @param {object} page what views share
 * @param {{conversationId: string|null, pending: object}} place `pending`: the settings of a conversation that does not exist yet
 * @returns {Promise<{settings: object, options: object}|undefined>} what was saved, or is to be saved once there is a
 *   conversation; undefined where nothing changes
 */
export async function openAnswerSettings(page, { conversationId, pending }) {
  const library = createLibraryApi(page.api).presets;
  const [models, presets, tools, settings] = await Promise.all([
    page.api.models(), library.list(), page.api.tools(), conversationId ? page.api.getConversationSettings(conversationId) : pending, addPanelStyle('composer/settings/settings'),
  ]);
  const fields = createFields(models.choices);
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const save = element('button', { type: 'submit', class: 'btn btn-primary', text: words.save });
  fields.fill(fieldsOfSettings(settings));
  const kept = fields.keptAs(page.kept, `answer-settings:${conversationId ?? ''}`);
  const toolbox = createTools(tools, toolsOfSettings(settings));
  const consent = consentOf(settings);
  const allowed = createConsent(consent, consent.some(({ agentId }) => agentId !== null) ? await page.api.get('/api/agents') : []);
  const read = () => ({ ...settingsOf(fields.read()), ...settingsOfTools(toolbox.read()), ...settingsOfConsent(allowed.read()) });
  const settingsBefore = read();
  const typed = () => JSON.stringify([fields.read(), toolbox.read(), allowed.read()]);
  const before = typed();
  const note = kept.restore() ? [element('p', { class: 'field-hint', role: 'status', text: words.restored })] : [];

  function say(text) {
    problem.textContent = text;
    setHidden(problem, !text);
  }

  function isSound() {
    const wrong = wrongField(fields.read());
    say(wrong ? words.wrong[wrong](LONGEST_SYSTEM_PROMPT) : '');
    if (wrong) fields.focus(wrong);
    return !wrong;
  }

  async function tell(job) {
    try {
      await job();
    } catch (error) {
      say(failureText(error, words.failed));
    }
  }

  const shelf = createPresets(library, { fields, tell, isSound });
  shelf.show(presets);

  function submit() {
    if (!isSound()) return;
    const wanted = read();
    save.disabled = true;
    tell(async () => {
      if (conversationId) await page.api.changeConversationSettings(conversationId, changedSettings(settingsBefore, wanted));
      kept.drop();
      dialog.close({ settings: wanted, options: optionsOf(wanted) });
    }).finally(() => {
      save.disabled = false;
    });
  }

  const isUnchanged = () => typed() === before;

  async function mayClose() {
    const mayGo = isUnchanged() || (await confirmAction({ title: words.discardTitle, confirmLabel: words.discard }));
    if (mayGo) kept.drop();
    return mayGo;
  }

  const cancel = button(words.cancel, { onclick: async () => (await mayClose()) && dialog.close() });
  const dialog = openDialog({
    title: words.title, className: 'answer-settings', content: [...note, shelf.node, ...fields.nodes, toolbox.node, allowed.node, problem], buttons: [cancel, save], mayClose, onSubmit: submit,
  });
  fields.focus('systemPrompt');
  return dialog.closed;
}
