/** Fields that show what is stored, also what other tabs and devices store. What somebody types stays, and a note tells of the other value. */

import { settingsStrings } from '../strings/en/settings.js';
import { keepFields } from '../ui/controls/kept_fields.js';
import { element, inRow, setHidden, uniqueId } from '../ui/dom.js';

const words = settingsStrings.elsewhere;

/**
 * Says that something else was saved elsewhere, with a button that changes between that and what was typed.
 *
 * @param {() => void} onSwap
 * @param {{row?: string}} [options] `row`: the name of the field, where a form has several
 * @returns {{node: HTMLElement, show: (isOther: boolean) => void, hide: () => void}} `isOther`: what was saved is shown
 */
export function createOtherNote(onSwap, { row = '' } = {}) {
  let isOther = false;
  // The words come after the node is there, so that they are read out.
  const text = element('span', { role: 'status', id: uniqueId('settings-other') });
  const swap = element('button', { type: 'button', class: 'btn btn-quiet', 'aria-describedby': text.id });
  const node = element('p', { class: 'settings-other', hidden: true }, text, swap);

  function label() {
    swap.textContent = isOther ? words.showTyped : words.showSaved;
    if (row) swap.setAttribute('aria-label', inRow(swap.textContent, row)['aria-label']);
  }

  swap.addEventListener('click', () => {
    isOther = !isOther;
    label();
    onSwap();
  });
  return {
    node,
    show(isOtherShown) {
      isOther = isOtherShown;
      label();
      setHidden(node, false);
      text.textContent = words.changed;
    },
    hide() {
      setHidden(node, true);
      text.textContent = '';
    },
  };
}

/** The note of one field. */
function createFieldNote(field, onSwap) {
  const note = createOtherNote(() => {
    onSwap();
    field.dispatchEvent(new Event('input', { bubbles: true }));
  }, { row: field.labels[0].textContent.trim() });
  field.closest('.field').after(note.node);
  return note;
}

/**
 * As `keepFields`, and changed by what is stored elsewhere.
 *
 * @param {import('../core/browser_storage/kept.js').Kept} kept
 * @param {string} id of the form
 * @param {HTMLElement[]} fields always the same ones, in the same order
 */
export function followedFields(kept, id, fields) {
  const typed = keepFields(kept, id, fields);
  const notes = fields.map((field, position) => createFieldNote(field, () => typed.swap(position)));
  let told = fields.map(({ value }) => value);
  // One after the other: what is saved here is not taken for what was saved elsewhere.
  let last = Promise.resolve();

  return {
    restore() {
      told = fields.map(({ value }) => value);
      const isRestored = typed.restore();
      notes.forEach((note, position) => typed.hasBeside(position) && note.show(typed.isSwapped(position)));
      return isRestored;
    },
    /** @param {() => Promise<string[]>} job saves, and says what is stored then */
    save(job) {
      const saved = last.then(async () => {
        told = await job();
        typed.saved(told);
        // What was typed and is not shown is not saved either: the way back to it stays.
        notes.forEach((note, position) => typed.isSwapped(position) || note.hide());
      });
      last = saved.catch(() => {});
      return saved;
    },
    /** @param {() => Promise<string[]>} ask what is stored now. Where it fails, the next change asks again. */
    follow(ask) {
      last = last.then(async () => {
        const values = await ask();
        typed.follow(values).forEach((isOther, position) => {
          if (!isOther) notes[position].hide();
          else if (values[position] !== told[position]) notes[position].show(typed.isSwapped(position));
        });
        told = values;
      }).catch(() => {});
    },
  };
}
