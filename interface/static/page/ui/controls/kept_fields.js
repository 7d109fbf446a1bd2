/**
 * Keeps what is typed into the fields of a form until it is saved or given up: over a reload, a closed tab and a browser that is killed.
 *
 * @param {import('../../core/browser_storage/kept.js').Kept} kept
 * @param {string} id of the form
 * @param {HTMLElement[]} fields always the same ones, in the same order
 */
export function keepFields(kept, id, fields) {
  const read = () => fields.map(({ value }) => value);
  let stored = read();
  const drop = () => kept.get('form', id) && kept.set('form', id, null);

  function keep() {
    if (read().every((text, position) => text === stored[position])) drop();
    else kept.set('form', id, read());
  }

  for (const field of fields) field.addEventListener('input', keep);
  return {
    /** Brings what was typed back, over what the fields say of what is stored. @returns {boolean} whether there was anything */
    restore() {
      stored = read();
      const typed = kept.get('form', id);
      typed?.forEach((text, position) => {
        fields[position].value = text;
      });
      return typed !== null;
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
      });
      stored = values;
      keep();
      return read().map((text, position) => text !== values[position]);
    },
    drop,
  };
}
