/** The models to choose from, beside the button that names the one that answers. Loaded when they are wanted. */

import { saidText } from '../../core/words/said.js';
import { device } from '../../core/browser_storage/storage.js';
import { composerStrings } from '../../strings/en/composer.js';
import {
  answeringModel, choiceGroups, choicesCalled, isUnderWay, MAIN, mustBeFetched, shortProgress,
} from './choices_model.js';
import { createModelList } from './list.js';
import { showToast } from '../../ui/notices/toast.js';

const words = composerStrings.models;
const SOON_MS = 1500;

/**
 * @param {HTMLButtonElement} button
 * @param {object} page what views share
 * @param {{conversationId: string|null, id: string|null, isUnsaved: boolean}} choice what is chosen; changed here
 * @param {string} newKey under which the device remembers what new conversations begin with
 */
export function createModelPicker(button, page, choice, newKey) {
  const list = createModelList(button, { onChoose: (id) => choose(id), onForNew: (on) => device.set(newKey, on ? choice.id : null) });
  let models = null;
  let timer = null;

  const answering = () => answeringModel(models, choice.id);

  function tell() {
    if (!models) return;
    const { choice: model, name, isGone } = answering();
    const progress = model ? shortProgress(model, words) : '';
    button.firstElementChild.textContent = progress ? `${name} ${progress}` : name;
    button.classList.toggle('is-gone', isGone);
    button.title = isGone ? words.gone(choice.id, name) : words.answers(name);
    button.setAttribute('aria-label', button.title);
    const forNew = device.get(newKey);
    list.show({
      groups: choiceGroups(models),
      chosen: choice.id ?? MAIN,
      note: note(),
      // New conversations begin with the server's own model as it is.
      forNew: { isOn: forNew === choice.id, isFixed: forNew === null && choice.id === null },
    });
  }

  function note() {
    const failed = models.providers.filter(({ phase }) => phase === 'failed').map(({ detail, said }) => words.providerFailed(saidText(detail, said)));
    const asking = models.providers.some(({ phase }) => phase === 'loading') ? [words.asking] : [];
    return { keys: words.keys, more: [...failed, ...asking].join(' ') };
  }

  /** Looks again while something changes by itself, and while the list is shown and a provider has not told yet. */
  function follow() {
    clearTimeout(timer);
    const { choice: model } = answering();
    const changes = (model && isUnderWay(model)) || (list.isOpen() && (models.choices.some(isUnderWay) || models.providers.some(({ phase }) => phase !== 'ready')));
    if (changes) timer = setTimeout(() => load().catch(() => follow()), SOON_MS);
  }

  async function load() {
    models = await page.api.models();
    page.events.emit('models:known', models);
    tell();
    follow();
    return models;
  }

  async function save({ conversationId, id } = choice) {
    if (!conversationId) return;
    await page.api.changeConversationSettings(conversationId, { model_overrides: id === null ? null : { main: id } });
    if (choice.conversationId === conversationId && choice.id === id) choice.isUnsaved = false;
  }

  function tellNotSaved(error, again) {
    showToast(words.saveFailed(error.message), { kind: 'error', actionLabel: composerStrings.again, onAction: again });
  }

  function saveAndTell({ conversationId, id } = choice) {
    const wanted = { conversationId, id };
    return save(wanted).catch((error) => tellNotSaved(error, () => saveAndTell(wanted)));
  }

  async function fetchIfMissing({ id, name, ...model }) {
    if (!mustBeFetched(model)) return false;
    try {
      await page.api.post(`/models/${id.split('/').map(encodeURIComponent).join('/')}/fetch`);
    } catch (error) {
      showToast(words.fetchFailed(error.message), { kind: 'error', actionLabel: composerStrings.again, onAction: () => fetchIfMissing({ id, name, ...model }) });
      return true;
    }
    showToast(words.beginsToFetch(name));
    await load().catch(() => {});
    return true;
  }

  /** @param {string} id as the list has it */
  async function choose(id) {
    const { id: before, isUnsaved: wasUnsaved, conversationId } = choice;
    const model = models.choices.find((each) => each.id === id);
    Object.assign(choice, { id: id === MAIN ? null : id, isUnsaved: !choice.conversationId });
    list.close();
    tell();
    try {
      await save();
    } catch (error) {
      const isHere = () => choice.conversationId === conversationId;
      const wanted = { conversationId, id: id === MAIN ? null : id };
      // Another conversation may have come meanwhile, and has a choice of its own.
      if (isHere()) Object.assign(choice, { id: before, isUnsaved: wasUnsaved });
      tell();
      tellNotSaved(error, () => (isHere() ? choose(id) : saveAndTell(wanted)));
      return false;
    }
    if (!(await fetchIfMissing(model))) page.announce(words.chosen(model.name));
    follow();
    return true;
  }

  async function open() {
    list.open(words.loading);
    try {
      await load();
    } catch (error) {
      list.tell(words.loadFailed(error.message), { label: composerStrings.again, onAct: open });
    }
  }

  return {
    toggle: () => (list.isOpen() ? list.close() : open()),
    open,
    save: () => saveAndTell(),
    /** For a conversation that is not shown any more. */
    saveFor: (conversationId, id) => saveAndTell({ conversationId, id: id === MAIN ? null : id }).then(() => true),
    /** The name of the model that answers, '' while nobody knows. */
    answering: () => (models ? answering().name : ''),
    /** Whether what is chosen is not to be had any more, as far as that is known. */
    isGone: () => models !== null && answering().isGone,
    /** Says which model answers, after another conversation came. */
    async show() {
      if (models) tell();
      else await load().catch(() => {});
    },
    /** @param {string} typed @returns {Promise<object[]>} the choices that it can mean */
    called: async (typed) => choicesCalled(models ?? (await load()), typed),
    choose,
  };
}

