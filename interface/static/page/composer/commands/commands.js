import { bring } from '../../core/api.js';
import { composerStrings } from '../../strings/en/composer.js';
import { icon } from '../../ui/icons.js';
import { memoryStrings } from '../../strings/en/memory_proposals.js';
import { argumentProblem, commandNamed, COMMANDS, readCommand, usageOf } from './commands_model.js';
import { createConversationCommands } from './conversation_commands.js';
import { tellFailure } from '../../ui/notices/attempts.js';
import { element } from '../../ui/dom.js';
import { promptsOf } from '../prompts/known.js';
import { openMemoryConfirm } from '../../memories/proposals/confirm.js';

const words = composerStrings.commands;
const { command: memoryWords } = memoryStrings;
const SHOWS_ITSELF_AFTER_MS = 300;
/** More messages in a row hardly stay without a whole text. */
const MOST_UNFINISHED = 10;

function commandList(onClose) {
  const close = element('button', { type: 'button', class: 'icon-button', 'aria-label': memoryWords.close, title: memoryWords.close, onclick: onClose }, icon('x-lg'));
  const rows = COMMANDS.flatMap((command) => [
    element('dt', {}, element('code', { text: usageOf(command, words.takes) })),
    element('dd', { text: words.about[command.name] }),
  ]);
  const node = element('section', { class: 'composer-card', 'aria-label': memoryWords.listTitle },
    element('div', { class: 'composer-card-head' }, element('h2', { class: 'composer-card-title', text: memoryWords.listTitle }), close),
    element('dl', { class: 'command-list' }, ...rows));
  node.addEventListener('keydown', (event) => event.key === 'Escape' && onClose());
  return { node, close };
}

/**
 * Carries out what is written as a command. Loaded with the first one.
 *
 * @param {HTMLFormElement} form the composer: cards of commands stand above it
 * @param {object} page
 * @param {{onSend: () => void, tellProblem: (text: string, remedy?: object) => void, choice: object, setText: (text: string) => void}} composer
 */
export function createCommands(form, page, { onSend, tellProblem, choice, setText }) {
  const cards = element('div', { class: 'composer-cards' });
  form.before(cards);

  function close() {
    cards.replaceChildren();
    form.querySelector('textarea').focus();
  }

  function help(rest, { onDone }) {
    const { node, close: button } = commandList(close);
    cards.replaceChildren(node);
    button.focus();
    onDone();
  }

  /** With a text, that text; without, what was said last. */
  async function memory(text, { place: { conversationId }, onDone }) {
    if (text) {
      openMemoryConfirm(cards, text, page, { onClose: close, onAdded: onDone });
      return;
    }
    const newest = conversationId ? await page.api.listMessages(conversationId, { limit: MOST_UNFINISHED }) : [];
    const last = newest.findLast((message) => message.status === 'complete');
    if (!last) {
      tellProblem(memoryWords.nothingSaid);
      return;
    }
    page.events.emit('memory:propose', { conversation_id: conversationId, message_id: last.message_id });
    onDone();
  }

  function search(q, { onDone }) {
    onDone();
    page.events.emit('search:open', { q });
  }

  /** Without a name, the list of all; with a part of one that several have, which. */
  async function model(name, { place: { conversationId }, onDone }) {
    if (!name) {
      onDone();
      return choice.withPicker((picker) => picker.open());
    }
    return choice.withPicker(async (picker) => {
      const found = await picker.called(name);
      if (found.length === 0) return tellProblem(words.noModel(name));
      if (found.length > 1) return tellProblem(words.ambiguousModel(name, found.map((each) => each.name)));
      const isHere = page.conversationId() === (conversationId ?? null);
      return (await (isHere ? picker.choose(found[0].id) : picker.saveFor(conversationId, found[0].id))) && onDone();
    });
  }

  /** A prompt takes the place of what is written. */
  async function usePrompt(prompt) {
    const { promptText } = await bring(() => import('../prompts/use.js'));
    const text = await promptText(prompt, page.kept);
    if (text === null) return;
    setText(text);
    const input = form.querySelector('textarea');
    input.focus();
    input.setSelectionRange(text.length, text.length);
  }

  async function prompts(rest, { onDone }) {
    const { openPromptLibrary } = await bring(() => import('../prompts/library.js'));
    onDone();
    const prompt = await openPromptLibrary(page);
    if (prompt) await usePrompt(prompt);
  }

  function settings(rest, { onDone }) {
    onDone();
    return choice.openSettings();
  }

  const known = { memory, search, model, settings, prompts, help, ...createConversationCommands(page, { tellProblem, setText }) };

  const isShown = ({ conversationId = null }) => page.conversationId() === conversationId;

  // Its text stays until the server has done it: a second Enter meanwhile must not do it twice.
  const underWay = new Set();

  async function once(key, work) {
    if (underWay.has(key)) return;
    underWay.add(key);
    try {
      await work();
    } finally {
      underWay.delete(key);
    }
  }

  async function carryOut(command, options) {
    const slow = setTimeout(() => page.announce(words.running), SHOWS_ITSELF_AFTER_MS);
    form.setAttribute('aria-busy', 'true');
    try {
      await known[command.name](command.rest, options);
    } catch (error) {
      const again = () => carryOut(command, options);
      if (isShown(options.place)) tellProblem(words.failed(error.message), { label: composerStrings.again, onAct: again });
      else tellFailure(error, { failed: words.failed, again });
    } finally {
      clearTimeout(slow);
      form.removeAttribute('aria-busy');
    }
  }

  /** What is no command may be the name of a prompt. */
  async function runPrompt(name, asText) {
    try {
      const found = await promptsOf(page).named(name);
      if (found) await usePrompt(found);
      else tellProblem(memoryWords.unknown(name), asText);
    } catch (error) {
      tellProblem(words.failed(error.message), { label: composerStrings.again, onAct: () => runPrompt(name, asText) });
    }
  }

  return {
    /**
     * @param {string} text
     * @param {{onDone: () => void}} options called when the text has served
     */
    async run(text, options) {
      const command = readCommand(text);
      if (!command) return onSend();
      const asText = { label: memoryWords.asText, onAct: onSend };
      if (!command.isKnown) return runPrompt(command.name, asText);
      const problem = argumentProblem(command);
      if (problem === 'none') return tellProblem(words.noArgument(command.name), asText);
      if (problem === 'values') return tellProblem(words.notOneOf(command.name, commandNamed(command.name).values));
      tellProblem('');
      const place = page.conversation();
      return once(`${place.conversationId} ${text}`, () => carryOut(command, { ...options, place }));
    },
  };
}
