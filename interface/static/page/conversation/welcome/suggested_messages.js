import { isFromUser } from '../message_model.js';
import { findReferences } from '../../references/grammar.js';
import { bareReference, iconOf, labelOf } from '../../references/report_model.js';
import { importOffer } from '../../imports/offer.js';
import { icon } from '../../ui/icons.js';
import { createWelcomeApi } from './api.js';
import { welcomeStrings } from '../../strings/en/welcome.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';

/** What is shown, and what ends following the messages that are written beneath it. */
let shown = null;
let stopFollowing = () => {};

/** Takes the suggestions of another conversation away. */
export function clearSuggestedMessages() {
  stopFollowing();
  shown?.remove();
  shown = null;
}

/** A suggestion in pieces: its words, and the references among them, each as what it leads to, where the server knows that. */
async function piecesOf(text, api) {
  const references = findReferences(text);
  const entries = await Promise.all(references.map(({ ref }) => api.resolveReference(bareReference(ref)).catch(() => null)));
  let from = 0;
  const pieces = references.flatMap(({ start, end }, i) => {
    const words = text.slice(from, start);
    from = end;
    return [{ text: words }, { text: labelOf(entries[i]) || text.slice(start, end), iconName: entries[i] ? iconOf(entries[i]) : 'at' }];
  });
  return [...pieces, { text: text.slice(from) }].filter((piece) => piece.text);
}

const nodeOf = ({ text, iconName }) => (iconName ? element('span', { class: 'suggested-reference' }, icon(iconName), element('span', { text })) : text);

/** For a tooltip, where nothing but quotation marks tells a title from what is said. */
const plain = (pieces) => pieces.map(({ text, iconName }) => (iconName ? `“${text}”` : text)).join('');

/**
 * Shows above the composer the messages that a conversation's settings suggest, each until it was sent.
 *
 * @param {string[]} suggestions
 * @param {{api: object, events: object, composer: HTMLElement, conversationId: string, messages: object[], isOpen: () => boolean,
 *   onChoose: (text: string) => void}} page `messages`: those that are shown; `onChoose` gets the text of a suggestion to write
 */
export async function showSuggestedMessages(suggestions, { api, events, composer, conversationId, messages, isOpen, onChoose }) {
  const said = messages.filter(isFromUser).map(({ text }) => text);
  const unused = suggestions.filter((suggestion) => !said.some((text) => text.includes(suggestion)));
  if (unused.length === 0) return;
  const [pieces] = await Promise.all([Promise.all(unused.map((text) => piecesOf(text, api))), addPanelStyle('conversation/welcome/welcome')]);
  if (!isOpen()) return;
  clearSuggestedMessages();
  const chips = new Map(unused.map((text, i) => [text, element('button', {
    type: 'button', class: 'suggested-message', title: plain(pieces[i]), onclick: () => onChoose(text),
  }, element('span', { class: 'visually-hidden', text: `${welcomeStrings.lead} ` }), element('span', { class: 'suggested-message-text' }, ...pieces[i].map(nodeOf)))]));
  const dismiss = element('button', {
    type: 'button', class: 'icon-button', 'aria-label': welcomeStrings.dismiss, title: welcomeStrings.dismiss,
    async onclick() {
      const job = () => createWelcomeApi(api).dismissSuggestions(conversationId);
      if (await attempt(job, { failed: welcomeStrings.dismissFailed })) clearSuggestedMessages();
    },
  }, icon('x-lg'));
  shown = element('section', { class: 'suggested-messages', 'aria-label': welcomeStrings.suggestions },
    element('p', { class: 'suggested-messages-note', text: welcomeStrings.noModel }),
    element('div', { class: 'suggested-messages-row' }, element('span', { class: 'suggested-messages-lead', 'aria-hidden': 'true', text: welcomeStrings.lead }),
      element('div', { class: 'suggested-messages-list' }, ...chips.values()), dismiss),
    importOffer({ api }));
  composer.before(shown);
  stopFollowing = events.on('message:written', (written) => {
    if (written.conversationId !== conversationId) return;
    for (const [suggestion, chip] of chips) {
      if (!written.text.includes(suggestion)) continue;
      chip.remove();
      chips.delete(suggestion);
    }
    if (chips.size === 0) clearSuggestedMessages();
  });
}
