import { icon } from '../ui/icons.js';
import { strings } from '../strings/en/conversation.js';
import { element, setHidden, uniqueId } from '../ui/dom.js';

const words = strings.outbox;

const button = (label, symbol, onclick) =>
  element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick }, icon(symbol));

/**
 * The messages of a conversation that the server does not have yet, above the field in which they were written.
 *
 * @param {{form: HTMLFormElement, outbox: import('./outbox_model.js').Outbox, place: () => {conversationId: string|null, beginning: string|null},
 *   shownId: () => string|null, onEdit: (entry: object) => void}} options `place`: where what is written now goes
 * @returns {() => void} shows them
 */
export function createOutboxList({ form, outbox, place, shownId, onEdit }) {
  const list = element('ul', { id: uniqueId('outbox'), class: 'outbox', 'aria-label': words.label, hidden: true });
  form.prepend(list);

  function take(entry) {
    const taken = outbox.take(entry.id);
    if (taken) form.querySelector('textarea').focus();
    return taken;
  }

  function edit(entry) {
    const taken = take(entry);
    if (taken) onEdit(taken);
  }

  function buttonsFor(entry, state) {
    if (state === 'sending') return [];
    const now = state === 'delayed' ? [button(words.now, 'arrow-up', () => outbox.send(entry.conversationId ?? entry.beginning))] : [];
    return [...now, button(words.edit, 'pencil', () => edit(entry)), button(words.remove, 'x-lg', () => take(entry))];
  }

  function row(entry) {
    const state = outbox.stateOf(entry);
    const names = entry.files.map(({ name }) => name).join(', ');
    const said = element('span', { class: 'outbox-state', text: words[state](entry.problem?.message ?? '') });
    said.setAttribute('role', state === 'refused' ? 'alert' : 'status');
    return element('li', { class: 'outbox-message', 'data-state': state },
      element('span', { class: 'outbox-text', dir: 'auto', text: [entry.text, names].filter(Boolean).join('\n') }), said, ...buttonsFor(entry, state));
  }

  function show() {
    // What was sent to a conversation that is gone by now still stands there.
    const entries = [...new Set([shownId(), place().beginning])].flatMap((each) => (each ? outbox.of(each) : []));
    setHidden(list, entries.length === 0);
    list.replaceChildren(...entries.map(row));
  }

  outbox.follow(show);
  return show;
}
