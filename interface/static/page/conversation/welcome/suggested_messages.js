import { icon } from '../../ui/icons.js';
import { createWelcomeApi } from './api.js';
import { welcomeStrings } from '../../strings/en/welcome.js';
import { attempt } from '../../ui/attempts.js';
import { element } from '../../ui/dom.js';
import { addPanelStyle } from '../../ui/panel_style.js';

let shown = null;

/** Puts a text where messages are written, behind what stands there. */
function write(text) {
  const input = document.getElementById('composer-input');
  // The space ends the reference, so that Enter sends and completes nothing.
  input.value = [input.value.trimEnd(), `${text} `].filter(Boolean).join('\n');
  input.dispatchEvent(new Event('input', { bubbles: true }));
  input.focus();
  input.setSelectionRange(input.value.length, input.value.length);
}

/** Takes the suggestions of another conversation away. */
export function clearSuggestedMessages() {
  shown?.remove();
  shown = null;
}

/**
 * Shows above the composer the messages that a conversation's settings suggest.
 *
 * @param {string[]} suggestions
 * @param {{api: object, conversationId: string, isOpen: () => boolean}} page
 */
export async function showSuggestedMessages(suggestions, { api, conversationId, isOpen }) {
  await addPanelStyle('conversation/welcome/welcome');
  if (!isOpen()) return;
  clearSuggestedMessages();
  const chips = suggestions.map((text) => element('button', {
    type: 'button', class: 'suggested-message', title: text, onclick: () => write(text),
  }, element('span', { class: 'visually-hidden', text: `${welcomeStrings.lead} ` }), element('span', { class: 'suggested-message-text', text })));
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
      element('div', { class: 'suggested-messages-list' }, ...chips), dismiss));
  document.getElementById('composer').before(shown);
}
