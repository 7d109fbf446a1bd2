import { bring } from '../core/api.js';
import { device, dictates } from '../core/browser_storage/storage.js';
import { strings } from '../strings/en/conversation.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { showToast } from '../ui/notices/toast.js';

const words = strings.answerSettings;
/** The name of the server's own model, once it is known. */
let mainName = '';
const NEW_MODEL_KEY = 'anaphora:new-conversation-model';
/** Where the browser keeps what was chosen for a conversation until the server has it; '' for one that does not exist yet. */
const pendingOf = (conversationId) => ['form', `settings-to-save:${conversationId ?? ''}`];

/**
 * What is chosen for the next answer: its model and its settings, by the buttons of models and options. What they open is loaded when it is wanted, or when another model than the server's
 * own was chosen.
 *
 * @param {HTMLFormElement} form
 * @param {object} page what views share
 * @param {{onFailed: (error: Error, again: () => void) => void}} options
 */
export function createAnswerChoice(form, page, { onFailed }) {
  const modelButton = form.querySelector('.model-button');
  const optionsButton = form.querySelector('.options-button');
  /** `id`: what is chosen, null for the server's own; `isUnsaved`: for a conversation that does not exist yet. */
  const choice = { conversationId: null, id: null, isUnsaved: false };
  /** The settings of answers in a conversation that does not exist yet, and the `options` of a message sent with them. */
  const nothingPending = { settings: {}, options: {} };
  let pending = nothingPending;
  let dictation = null;
  let picker = null;

  function showMain() {
    if (!picker) modelButton.firstElementChild.textContent = mainName;
  }

  async function withPicker(job) {
    try {
      if (!picker) {
        const { createModelPicker } = await bring(() => import('./models/picker.js'));
        picker ??= createModelPicker(modelButton, page, choice, NEW_MODEL_KEY);
      }
      return await job(picker);
    } catch (error) {
      return onFailed(error, () => withPicker(job));
    }
  }

  async function toggleOptions() {
    try {
      (await bring(() => import('./options.js'))).toggleOptions(optionsButton, { onSettings: openSettings, onVoice: showDictation, tracksDocuments: page.tracksDocuments });
    } catch (error) {
      onFailed(error, toggleOptions);
    }
  }

  /** The button that listens comes once it is wanted. */
  async function showDictation() {
    if (!dictation && !dictates.get()) return;
    try {
      const { createDictation } = await bring(() => import('./voice/dictation.js'));
      dictation ??= createDictation(optionsButton, form.querySelector('textarea'));
      dictation.setOffered(dictates.get());
    } catch (error) {
      onFailed(error, showDictation);
    }
  }

  async function openSettings() {
    try {
      const { openAnswerSettings } = await bring(() => import('./settings/dialog.js'));
      const { conversationId } = choice;
      await page.kept.ready();
      const saved = await openAnswerSettings(page, { conversationId, pending: withModel(pending.settings) });
      if (!saved || conversationId !== choice.conversationId) return;
      if (!conversationId) {
        pending = saved;
        page.kept.set(...pendingOf(null), saved);
      }
      choose(saved.settings.model_overrides?.main ?? null, { isUnsaved: !conversationId });
      showToast(words.saved, { kind: 'success' });
    } catch (error) {
      onFailed(error, openSettings);
    }
  }

  const withModel = (settings) => ({ ...settings, model_overrides: choice.id ? { main: choice.id } : null });

  async function savePending(conversationId, settings) {
    try {
      await page.api.changeConversationSettings(conversationId, settings);
      page.kept.set(...pendingOf(conversationId), null);
    } catch (error) {
      tellFailure(error, { failed: words.failed, again: () => savePending(conversationId, settings) });
    }
  }

  function choose(id, { isUnsaved }) {
    Object.assign(choice, { id, isUnsaved });
    if (picker || id) withPicker((each) => each.show());
  }

  modelButton.addEventListener('click', () => withPicker((each) => each.toggle()));
  modelButton.addEventListener('keydown', (event) => {
    if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
    event.preventDefault();
    withPicker((each) => each.toggle());
  });
  optionsButton.addEventListener('click', toggleOptions);
  showDictation();
  if (mainName) showMain();
  page.events.on('models:known', (models) => {
    mainName = models.main.name;
    showMain();
  });
  page.events.on('conversation:details', ({ conversation_id: id, conversation_settings: settings }) => {
    if (id === choice.conversationId) choose(settings?.model_overrides?.main ?? null, { isUnsaved: false });
  });

  /** One that is gone would be refused: the server's own answers. */
  const isChosen = () => choice.isUnsaved && choice.id && !picker?.isGone();

  function open(id) {
    choice.conversationId = id;
    const kept = page.kept.get(...pendingOf(id));
    pending = (!id && kept) || nothingPending;
    const forNew = id ? null : pending.settings.model_overrides?.main ?? device.get(NEW_MODEL_KEY);
    choose(forNew, { isUnsaved: forNew !== null });
    if (id && kept) savePending(id, kept.settings);
  }

  page.kept.follow(({ id, isLate }) => {
    if (isLate && !choice.conversationId && pending === nothingPending && id === pendingOf(null)[1]) open(null);
  });

  return {
    choice,
    withPicker,
    openSettings,
    open,
    /** What was chosen before there was a conversation is chosen for this one. */
    rename(id) {
      choice.conversationId = id;
      if (pending !== nothingPending) {
        // They may name a model of before.
        const settings = isChosen() ? withModel(pending.settings) : pending.settings;
        page.kept.change([[...pendingOf(null), null], [...pendingOf(id), { ...pending, settings }]]);
        savePending(id, settings);
        pending = nothingPending;
      }
      if (isChosen()) withPicker((each) => !each.isGone() && each.save());
    },
    /** The name of the model that answers here, '' while nobody knows. */
    answering: () => (choice.id ? picker?.answering() : mainName) ?? '',
    /** The fields of a message to be sent. A model that is gone is refused where a message names it. */
    payload: () => ({
      ...(isChosen() ? { model: choice.id } : {}),
      ...(Object.keys(pending.options).length > 0 ? { options: pending.options } : {}),
    }),
  };
}
