/** Asks for one of the person's conversations: those that were used last, or those that are called like what is typed. */

import { shownTitle } from '../core/words/conversation_title.js';
import { createLatest } from '../core/latest.js';
import { shortTime } from '../core/words/times.js';
import { chooseConversationStrings as words } from '../strings/en/choose_conversation.js';
import { openDialog } from '../ui/controls/dialog.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { createListbox } from '../ui/controls/listbox.js';
import { addPanelStyle } from '../ui/panel_style.js';

const ASKED_FOR = 30;

/** @typedef {{conversation_id: string|null, title: string}} ChosenConversation `conversation_id`: null for the choice of none */

function optionOf({ conversation_id: id, title, friendly_id: friendlyId = '', last_updated: lastUpdated = '' }) {
  const about = [friendlyId, lastUpdated && shortTime(`${lastUpdated.replace(' ', 'T')}Z`)].filter(Boolean).join(' · ');
  const name = shownTitle(title);
  const content = [icon('chat'), element('span', { class: 'option-title', dir: 'auto', text: name })];
  if (about) content.push(element('span', { class: 'option-about', text: about }));
  return { value: { conversation_id: id, title: name }, key: id ?? '', content };
}

/** The field and the list below it. */
function createFinder(api, { but, first, onChoose }) {
  const field = element('input', {
    class: 'form-control', type: 'text', role: 'combobox', 'aria-label': words.find, placeholder: words.find, 'aria-autocomplete': 'list',
    'aria-expanded': 'true', autocomplete: 'off', spellcheck: 'false',
  });
  const list = createListbox({ id: 'conversation-choices', label: words.list, className: 'conversation-choices', field, onChoose, onUse: () => latest.cancel() });
  const status = element('p', { class: 'conversation-choices-status', role: 'status' });
  /** Whether the list answers what is in the field. */
  let isCurrent = false;
  field.setAttribute('aria-controls', list.node.id);

  const latest = createLatest((query, options) => api.autocompleteConversations(query, { limit: ASKED_FOR, withUnnamed: true }, options), {
    onAnswer(hits, query) {
      isCurrent = true;
      const found = hits.filter(({ conversation_id: id }) => id !== but);
      list.show([{ options: (query ? found : [...first, ...found]).map(optionOf) }]);
      list.activate(list.length > 0 ? 0 : -1);
      status.textContent = found.length > 0 ? words.found(found.length) : words.none;
    },
    onError(error) {
      status.textContent = words.failed(error.message);
    },
  });
  field.addEventListener('input', () => {
    // The keys take none of those that something else was called.
    isCurrent = false;
    list.activate(-1);
    latest.request(field.value.trim());
  });
  field.addEventListener('keydown', (event) => isCurrent && list.handleKey(event));
  latest.request('');
  return { nodes: [field, list.node, status], field, end: latest.cancel };
}

/**
 * @param {object} api
 * @param {{title: string, text?: string, but?: string|null, none?: string}} question `but`: the id of one that is not offered; `none`: what
 *   the choice of none is called, where that may be chosen
 * @returns {Promise<ChosenConversation|null>} null where nothing was chosen
 */
export async function chooseConversation(api, { title, text = '', but = null, none = '' }) {
  await addPanelStyle('references/choose_conversation');
  const first = none ? [{ conversation_id: null, title: none }] : [];
  const finder = createFinder(api, { but, first, onChoose: (chosen) => dialog.close(chosen) });
  const cancel = element('button', { class: 'btn btn-quiet', type: 'button', text: words.cancel, onclick: () => dialog.close() });
  const content = [...(text ? [element('p', { class: 'dialog-text', text })] : []), ...finder.nodes];
  const dialog = openDialog({ title, content, buttons: [cancel], className: 'conversation-choice' });
  finder.field.focus();
  const chosen = await dialog.closed;
  finder.end();
  return chosen ?? null;
}
