/** Writes entries of a form in one go: a page that goes away between two writes would keep half. What is not there is not removed. */
export function keepBoth(kept, ...entries) {
  const changes = entries.filter(([id, value]) => value || kept.get('form', id)).map(([id, value]) => ['form', id, value]);
  if (changes.length) kept.change(changes);
}

/**
 * Keeps what is typed into the fields of a form until it is saved or given up: over a reload, a closed tab and a browser that is killed.
 * What was stored elsewhere and is shown in the place of what was typed can be changed, too, and that is kept beside it.
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

  /** The entry of what shown values were changed to: of each field `{text, isShown}`, null where there is none. */
  const besideId = `${id}:beside`;

  function readBeside() {
    return fields.map(({ value }, position) => {
      if (!aside.has(position)) return changed.has(position) ? { text: changed.get(position), isShown: false } : null;
      return value === stored[position] ? null : { text: value, isShown: true };
    });
  }

  function drop() {
    isTyped = false;
    keepBoth(kept, [id, null], [besideId, null]);
  }

  function keep() {
    if (!isTyped) return;
    if (read().every((text, position) => text === stored[position])) {
      drop();
      return;
    }
    const beside = readBeside();
    keepBoth(kept, [id, read()], [besideId, beside.some(Boolean) ? beside : null]);
  }

  /** Brings back what shown values were changed to. */
  function restoreBeside() {
    kept.get('form', besideId)?.forEach((beside, position) => {
      if (!beside) return;
      if (!beside.isShown) changed.set(position, beside.text);
      else {
        aside.set(position, fields[position].value);
        fields[position].value = beside.text;
      }
    });
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
      if (isTyped) restoreBeside();
      return isTyped;
    },
    /** These values are stored now; what was typed meanwhile is not. @param {string[]} values */
    saved(values) {
      stored = values;
      // Of a field that shows what was typed, that was chosen.
      for (const position of changed.keys()) if (!aside.has(position)) changed.delete(position);
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
    /** Whether something else than what was typed was changed and is not saved, shown or not. */
    hasBeside: (position) => aside.has(position) || changed.has(position),
    drop,
  };
}
