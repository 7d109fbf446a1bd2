import { icon } from '../ui/icons.js';
import { excerpt } from '../core/words/excerpt.js';
import { strings } from '../strings/en/conversation.js';
import { element, inRow, replaceChildrenKeepingFocus, setHidden, uniqueId } from '../ui/dom.js';

const words = strings.outbox;

const LABEL_LENGTH = 60;

const button = (label, row, symbol, onclick) =>
  element('button', { type: 'button', class: 'icon-button', ...inRow(label, row), title: label, onclick }, icon(symbol));

function saidOf(text, state) {
  return element('span', { class: 'outbox-state', role: state === 'refused' ? 'alert' : 'status', text });
}

/**
 * The messages of a conversation that the server does not have yet, above the field in which they were written.
 *
 * @param {{form: HTMLFormElement, outbox: import('./outbox_model.js').Outbox, place: () => {conversationId: string|null, beginning: string|null},
 *   shownId: () => string|null, onEdit: (entry: object) => void, onCut: () => void}} options `place`: where what is written now goes;
 *   `onCut`: a message was taken back while it was being sent
 * @returns {() => void} shows them
 */
export function createOutboxList({ form, outbox, place, shownId, onEdit, onCut }) {
  const list = element('ul', { id: uniqueId('outbox'), class: 'outbox', 'aria-label': words.label, hidden: true });
  form.prepend(list);
  /** By the id of their message. They stay while it does: a press on one of their buttons goes on. */
  let rows = new Map();

  function take(id, onTaken = () => {}) {
    const isCut = outbox.isSending({ id });
    const taken = outbox.take(id);
    if (!taken) return;
    form.querySelector('textarea').focus();
    onTaken(taken);
    if (isCut) onCut();
  }

  function createRow({ id, text, files }) {
    let place = null;
    const names = files.map(({ name }) => name).join(', ');
    const row = excerpt(text || names, LABEL_LENGTH);
    const now = button(words.now, row, 'arrow-up', () => outbox.send(place));
    const edit = button(words.edit, row, 'pencil', () => take(id, onEdit));
    const remove = button(words.remove, row, 'x-lg', () => take(id));
    let said = saidOf('');
    const node = element('li', { class: 'outbox-message' },
      element('span', { class: 'outbox-text', dir: 'auto', text: [text, names].filter(Boolean).join('\n') }), said, now, edit, remove);

    function update(entry) {
      const { conversationId, beginning, problem } = entry;
      place = conversationId ?? beginning;
      const state = outbox.stateOf(entry);
      const told = words[state](problem?.message ?? '');
      if (said.textContent !== told) {
        const next = saidOf(told, state);
        said.replaceWith(next);
        said = next;
      }
      node.dataset.state = state;
      setHidden(now, !['delayed', 'retrying'].includes(state));
      now.setAttribute('aria-disabled', String(state === 'retrying'));
      for (const each of [edit, remove]) setHidden(each, state === 'sending');
    }

    return { node, update };
  }

  function show() {
    // What was sent to a conversation that is gone by now still stands there.
    const entries = [...new Set([shownId(), place().beginning])].flatMap((each) => (each ? outbox.of(each) : []));
    rows = new Map(entries.map((entry) => [entry.id, rows.get(entry.id) ?? createRow(entry)]));
    for (const entry of entries) rows.get(entry.id).update(entry);
    setHidden(list, entries.length === 0);
    replaceChildrenKeepingFocus(list, ...[...rows.values()].map(({ node }) => node));
  }

  outbox.follow(show);
  return show;
}
