import { bring } from '../core/api.js';
import { icon } from '../ui/icons.js';
import { device, dictates } from '../core/storage.js';
import { strings } from '../strings/en/conversation.js';
import { excerpt, senderName } from '../conversation/message_model.js';
import { element, setHidden } from '../ui/dom.js';
import { tellFailure } from '../ui/attempts.js';
import { showToast } from '../ui/toast.js';

const words = strings.reply;
const settingsWords = strings.answerSettings;
const NEW_MODEL_KEY = 'anaphora:new-conversation-model';
const LONG_ENOUGH_TO_LOOK = 4000;
const AROUND_A_FILE = 60;

/**
 * The chip that says to which message the next one replies.
 *
 * @param {HTMLElement} place
 */
export function createReplyChip(place) {
  const chip = { target: null, set };

  function set(message) {
    chip.target = message;
    if (!message) {
      place.replaceChildren();
      return;
    }
    const cancel = element('button', {
      type: 'button', class: 'icon-button', 'aria-label': words.cancel, title: words.cancel, onclick: () => set(null),
    }, icon('x-lg'));
    const label = words.to(senderName(message, strings.sender), message.short_id);
    place.replaceChildren(element('div', { class: 'composer-chip reply-chip' }, icon('reply'),
      element('span', { class: 'reply-chip-label', text: label }),
      element('span', { class: 'reply-chip-excerpt', text: excerpt(message.text, 120) }), cancel));
  }

  return chip;
}

const carriesFiles = (event) => event.dataTransfer?.types.includes('Files') && !event.defaultPrevented;
/** A dialog or a panel over the conversation may want them, and the composer can't be seen. */
const isCovered = () => document.querySelector('dialog[open]') !== null || Boolean(document.documentElement.dataset.panel);

/** The ways in which files come: the button, dropped anywhere on the page, pasted. `onPaste` is told of text. */
function receiveFiles({ form, input, onFiles, onPaste }) {
  const picker = document.getElementById('attach-files');
  const target = form.querySelector('.drop-target');
  document.getElementById('attach-button').addEventListener('click', () => picker.click());
  picker.addEventListener('change', () => {
    onFiles([...picker.files]);
    picker.value = '';
  });
  document.addEventListener('dragover', (event) => {
    if (!carriesFiles(event) || isCovered()) return;
    event.preventDefault();
    setHidden(target, false);
  });
  document.addEventListener('dragleave', (event) => !event.relatedTarget && setHidden(target, true));
  document.addEventListener('drop', (event) => {
    setHidden(target, true);
    if (!carriesFiles(event) || isCovered()) return;
    event.preventDefault();
    onFiles([...event.dataTransfer.files]);
  });
  input.addEventListener('paste', (event) => {
    const text = event.clipboardData.getData('text/plain');
    const files = [...event.clipboardData.files];
    // A word processor adds a picture of what it copies as text.
    if (text) onPaste(text);
    else if (files.length > 0) {
      event.preventDefault();
      onFiles(files);
    }
  });
}

/**
 * The files that go with the next message; what shows and reads them is loaded with the first one.
 *
 * @param {object} options
 * @param {HTMLElement} options.place for their chips
 * @param {number} options.most characters in a message
 * @param {(files: object[]) => Promise<boolean>} options.onChange when a file came or went by hand; false where they can't be kept
 * @param {(text: string) => void} options.onProblem
 * @param {(error: Error, again: () => void) => void} options.onFailed
 */
export function createAttachments({ form, input, place, page, most, onChange, onProblem, onFailed }) {
  let files = [];
  let list = null;
  let withdrawOffer = () => {};
  /** Counts the conversations that were turned to. */
  let conversation = 0;
  const part = () => bring(() => import('./files.js'));

  async function show() {
    if (!list && files.length === 0) return;
    try {
      const { createFileList } = await part();
      list ??= createFileList({ place, input, page, onRemove: remove });
      list.show(files);
    } catch (error) {
      onFailed(error, show);
    }
  }

  /** Shows the files of another text: what was offered for the one before is over. */
  function set(wanted) {
    withdrawOffer();
    files = wanted;
    return show();
  }

  async function change(wanted, problems = []) {
    files = wanted;
    const isKept = onChange(files);
    await show();
    const said = (await isKept) ? problems : [...problems, (await part()).sentences.notKept];
    onProblem(said.join(' '));
  }

  async function remove(position) {
    const { name } = files[position];
    await change(files.toSpliced(position, 1));
    list.removed(name, position);
  }

  async function take(added, problems = []) {
    await change([...files, ...added], problems);
    if (added.length > 0) list.added(added);
  }

  async function read(wanted) {
    const before = conversation;
    try {
      const { readFiles, sentences } = await part();
      const { added, problems } = await readFiles(wanted, { most, held: files.length });
      // Whoever has turned elsewhere meanwhile did not mean that conversation.
      if (before === conversation) await take(added, problems);
      else onProblem(sentences.leftBehind);
    } catch (error) {
      onFailed(error, () => read(wanted));
    }
  }

  async function pasted(text) {
    if (text.length < LONG_ENOUGH_TO_LOOK) return;
    const pastedText = text.replaceAll('\r\n', '\n');
    const loaded = await part().catch(() => null);
    // It may be sent already.
    if (!loaded || !input.value.includes(pastedText)) return;
    withdrawOffer();
    withdrawOffer = loaded.offerPasted(text, (file) => {
      // What was pasted may have been changed since: then it stays in the text too.
      input.value = input.value.replace(pastedText, () => '');
      input.dispatchEvent(new Event('input'));
      take([file]);
    });
  }

  receiveFiles({ form, input, onFiles: read, onPaste: pasted });

  return {
    all: () => files,
    /** How many characters they take, with what is written around them. */
    length: () => files.reduce((sum, { text, name }) => sum + text.length + name.length + AROUND_A_FILE, 0),
    /** Shows other ones, or none. */
    set,
    /** Shows those of another conversation. */
    turnTo(wanted) {
      conversation += 1;
      return set(wanted);
    },
    /** @returns {Promise<string>} the text of the message with `attached` in it */
    inText: async (text, attached) => (attached.length > 0 ? (await part()).withFiles(text, attached) : text),
    tooLong: async (limit) => (files.length > 0 ? (await part()).sentences.tooLong(limit) : strings.send.tooLong(limit)),
  };
}

/**
 * The buttons of models and options. What they open is loaded when it is wanted, or when another model than the server's
 * own was chosen.
 *
 * @param {object} page what views share
 * @param {{onFailed: (error: Error, again: () => void) => void}} options
 */
export function mountTools(page, { onFailed }) {
  const modelButton = document.getElementById('model-button');
  const optionsButton = document.getElementById('options-button');
  /** `id`: what is chosen, null for the server's own; `isUnsaved`: for a conversation that does not exist yet. */
  const choice = { conversationId: null, id: null, isUnsaved: false };
  /** The settings of answers in a conversation that does not exist yet, and the `options` of a message sent with them. */
  const nothingPending = { settings: {}, options: {} };
  let pending = nothingPending;
  let dictation = null;
  let picker = null;
  let mainName = '';

  async function withPicker(job) {
    try {
      picker ??= (await bring(() => import('./models/picker.js'))).createModelPicker(modelButton, page, choice, NEW_MODEL_KEY);
      return await job(picker);
    } catch (error) {
      return onFailed(error, () => withPicker(job));
    }
  }

  async function toggleOptions() {
    try {
      (await bring(() => import('./options.js'))).toggleOptions(optionsButton, { onSettings: openSettings, onVoice: showDictation });
    } catch (error) {
      onFailed(error, toggleOptions);
    }
  }

  /** The button that listens comes once it is wanted. */
  async function showDictation() {
    if (!dictation && !dictates.get()) return;
    try {
      dictation ??= (await bring(() => import('./voice/dictation.js'))).createDictation(optionsButton, document.getElementById('composer-input'));
      dictation.setOffered(dictates.get());
    } catch (error) {
      onFailed(error, showDictation);
    }
  }

  async function openSettings() {
    try {
      const { openAnswerSettings } = await bring(() => import('./settings/dialog.js'));
      const { conversationId } = choice;
      const saved = await openAnswerSettings(page, { conversationId, pending: withModel(pending.settings) });
      if (!saved || conversationId !== choice.conversationId) return;
      if (!conversationId) pending = saved;
      choose(saved.settings.model_overrides?.main ?? null, { isUnsaved: !conversationId });
      showToast(settingsWords.saved, { kind: 'success' });
    } catch (error) {
      onFailed(error, openSettings);
    }
  }

  const withModel = (settings) => ({ ...settings, model_overrides: choice.id ? { main: choice.id } : null });

  async function savePending(conversationId, settings) {
    try {
      await page.api.changeConversationSettings(conversationId, settings);
    } catch (error) {
      tellFailure(error, { failed: settingsWords.failed, again: () => savePending(conversationId, settings) });
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
  page.events.on('models:known', (models) => {
    mainName = models.main.name;
    if (!picker) modelButton.firstElementChild.textContent = mainName;
  });
  page.events.on('conversation:details', ({ conversation_id: id, conversation_settings: settings }) => {
    if (id === choice.conversationId) choose(settings?.model_overrides?.main ?? null, { isUnsaved: false });
  });

  return {
    choice,
    withPicker,
    openSettings,
    open(id) {
      choice.conversationId = id;
      pending = nothingPending;
      const forNew = id ? null : device.get(NEW_MODEL_KEY);
      choose(forNew, { isUnsaved: forNew !== null });
    },
    /** What was chosen before there was a conversation is chosen for this one. */
    rename(id) {
      choice.conversationId = id;
      // One that is gone would be refused: the server's own answers.
      if (choice.isUnsaved) withPicker((each) => !each.isGone() && each.save());
      if (pending !== nothingPending) savePending(id, pending.settings);
      pending = nothingPending;
    },
    /** The name of the model that answers here, '' while nobody knows. */
    answering: () => (choice.id ? picker?.answering() : mainName) ?? '',
    /** The fields of a message to be sent. A model that is gone is refused where a message names it. */
    payload: () => ({
      ...(choice.isUnsaved && choice.id && !picker?.isGone() ? { model: choice.id } : {}),
      ...(Object.keys(pending.options).length > 0 ? { options: pending.options } : {}),
    }),
  };
}
