/**
 * Keeps what is typed into the fields of a form until it is saved or given up: over a reload, a closed tab and a browser that is killed.
 *
 * @param {import('../../core/browser_storage/kept.js').Kept} kept
 * @param {string} id of the form
 * @param {HTMLElement[]} fields always the same ones, in the same order
 */
export function keepFields(kept, id, fields) {
  /** By the position of a field: what was typed, while the field shows what is stored; and what that was changed to, while it does not. */
  const aside = new Map();
  const changed = new Map();
  const read = () => fields.map(({ value }, position) => aside.get(position) ?? value);
  let stored = read();
  /** Whether something was typed here. What another tab keeps of the same form is its own. */
  let isTyped = false;

  function drop() {
    isTyped = false;
    if (kept.get('form', id)) kept.set('form', id, null);
  }

  function keep() {
    if (!isTyped) return;
    if (read().every((text, position) => text === stored[position])) drop();
    else kept.set('form', id, read());
  }

  function keepTyped() {
    isTyped = true;
    keep();
  }

  for (const field of fields) field.addEventListener('input', keepTyped);
  return {
    /** Brings what was typed back, over what the fields say of what is stored. @returns {boolean} whether there was anything */
    restore() {
      stored = read();
      const typed = kept.get('form', id);
      typed?.forEach((text, position) => {
        fields[position].value = text;
      });
      isTyped = typed !== null;
      return isTyped;
    },
    /** These values are stored now; what was typed meanwhile is not. @param {string[]} values */
    saved(values) {
      stored = values;
      keep();
    },
    /**
     * These values were stored elsewhere: each is shown where nothing else was typed.
     *
     * @param {string[]} values
     * @returns {boolean[]} of each field, whether something else was typed, and stays
     */
    follow(values) {
      fields.forEach((field, position) => {
        if (field.value === stored[position] && field.value !== values[position]) field.value = values[position];
        if (aside.get(position) === values[position]) aside.delete(position);
      });
      stored = values;
      keep();
      return read().map((text, position) => text !== values[position]);
    },
    /** Shows what is stored in a field, or again what was typed there, which is kept all the time. */
    swap(position) {
      const field = fields[position];
      if (aside.has(position)) {
        if (field.value === stored[position]) changed.delete(position);
        else changed.set(position, field.value);
        field.value = aside.get(position);
        aside.delete(position);
      } else {
        aside.set(position, field.value);
        field.value = changed.get(position) ?? stored[position];
      }
    },
    /** Whether a field shows what is stored in the place of what was typed. */
    isSwapped: (position) => aside.has(position),
    drop,
  };
}
