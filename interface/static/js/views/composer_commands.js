import { icon } from '../lib/icons.js';
import { memoryStrings } from '../lib/memory_strings.js';
import { strings } from '../lib/strings.js';
import { COMMANDS, readCommand } from '../models/commands.js';
import { element } from './dom.js';
import { openMemoryConfirm } from './memory_confirm.js';

const words = memoryStrings.command;

function commandList(onClose) {
  const close = element('button', { type: 'button', class: 'icon-button', 'aria-label': words.close, title: words.close, onclick: onClose }, icon('x-lg'));
  const rows = COMMANDS.flatMap(({ name, takes }) => [
    element('dt', {}, element('code', { text: `/${name} ${takes}`.trim() })),
    element('dd', { text: strings.composer.command[name] }),
  ]);
  const node = element('section', { class: 'composer-card', 'aria-label': words.listTitle },
    element('div', { class: 'composer-card-head' }, element('h2', { class: 'composer-card-title', text: words.listTitle }), close),
    element('dl', { class: 'command-list' }, ...rows));
  node.addEventListener('keydown', (event) => event.key === 'Escape' && onClose());
  return { node, close };
}

/**
 * Carries out what is written as a command. Loaded with the first one.
 *
 * @param {HTMLFormElement} form the composer: cards of commands stand above it
 * @param {object} page
 * @param {{onSend: () => void, tellProblem: (text: string, remedy?: object) => void}} composer
 */
export function createCommands(form, page, { onSend, tellProblem }) {
  const place = element('div', { class: 'composer-cards' });
  form.before(place);

  function close() {
    place.replaceChildren();
    form.querySelector('textarea').focus();
  }

  function help(rest, { onDone }) {
    const { node, close: button } = commandList(close);
    place.replaceChildren(node);
    button.focus();
    onDone();
  }

  /** With a text, that text; without, what was said last. */
  async function memory(text, { onDone }) {
    if (text) {
      openMemoryConfirm(place, text, page, { onClose: close, onAdded: onDone });
      return;
    }
    const { conversationId } = page.conversation();
    if (conversationId) await page.transcript().toNewest();
    const last = page.transcript().messages.findLast((message) => message.status === 'complete' && !message.pending);
    if (!last) {
      tellProblem(words.nothingSaid);
      return;
    }
    page.events.emit('memory:propose', { conversation_id: conversationId, message_id: last.message_id });
    onDone();
  }

  function search(q, { onDone }) {
    onDone();
    page.events.emit('search:open', { q });
  }

  const known = { memory, search, help };

  return {
    /**
     * @param {string} text
     * @param {{onDone: () => void}} options called when the text has served
     */
    async run(text, options) {
      const command = readCommand(text);
      if (!command) onSend();
      else if (command.isKnown) await known[command.name](command.rest, options);
      else tellProblem(words.unknown(command.name), { label: words.asText, onAct: onSend });
    },
  };
}
