/** Fields that show what is stored, also what other tabs and devices store. What somebody types stays, and a note tells of the other value. */

import { settingsStrings } from '../strings/en/settings.js';
import { keepFields } from '../ui/controls/kept_fields.js';
import { element, setHidden } from '../ui/dom.js';

const words = settingsStrings.elsewhere;

/**
 * Says that something else was saved elsewhere, with a button that changes between that and what was typed.
 *
 * @param {() => void} onSwap
 * @returns {{node: HTMLElement, show: () => void, hide: () => void}}
 */
export function createOtherNote(onSwap) {
  let isOther = false;
  const swap = element('button', { type: 'button', class: 'btn btn-quiet' });
  // The words come after the node is there, so that they are read out.
  const text = element('span', { role: 'status' });
  const node = element('p', { class: 'settings-other', hidden: true }, text, swap);

  const label = () => {
    swap.textContent = isOther ? words.showTyped : words.showSaved;
  };
  swap.addEventListener('click', () => {
    isOther = !isOther;
    label();
    onSwap();
  });
  return {
    node,
    show() {
      isOther = false;
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

/** The note of one field. `tell` shows it with another value, or hides it. */
function createFieldNote(field, onSwapped) {
  let other = '';
  const note = createOtherNote(() => {
    [field.value, other] = [other, field.value];
    onSwapped();
  });
  field.closest('.field').after(note.node);
  return {
    show(value) {
      other = value;
      note.show();
    },
    hide: note.hide,
  };
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
  const notes = fields.map((field) => createFieldNote(field, () => field.dispatchEvent(new Event('input', { bubbles: true }))));
  let told = fields.map(({ value }) => value);
  // One after the other: what is saved here is not taken for what was saved elsewhere.
  let last = Promise.resolve();

  return {
    restore() {
      told = fields.map(({ value }) => value);
      return typed.restore();
    },
    /** @param {() => Promise<string[]>} job saves, and says what is stored then */
    save(job) {
      const saved = last.then(async () => {
        told = await job();
        typed.saved(told);
        notes.forEach((note) => note.hide());
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
          else if (values[position] !== told[position]) notes[position].show(values[position]);
        });
        told = values;
      }).catch(() => {});
    },
  };
}
