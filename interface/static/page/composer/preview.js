import { createLatest } from '../core/latest.js';
import { strings } from '../strings/en/conversation.js';
import { findReferences } from '../references/grammar.js';
import { bareReference, isMuted } from '../references/report_model.js';
import { element, setHidden } from '../ui/dom.js';
import { createChip } from '../references/chips.js';

const MOST_CHIPS = 20;

/**
 * The references in what is being typed, as chips below the field, resolved as they will be when it is sent.
 *
 * @param {HTMLElement} form
 * @param {object} page
 */
export function createPreview(form, page) {
  const list = element('div', { id: 'composer-preview', role: 'group', 'aria-label': strings.composer.references, hidden: true });
  form.append(list);
  let shown = '';

  function namesIn(text) {
    const typed = findReferences(text).map(({ start, end }) => text.slice(start, end));
    return [...new Set(typed)].slice(0, MOST_CHIPS);
  }

  async function lookUp(names) {
    return Promise.all(names.map((name) => page.references.get(bareReference(name)).catch(() => null)));
  }

  const latest = createLatest(lookUp, {
    delay: 250,
    onAnswer(entries, names) {
      const known = names.map((name, i) => [name, entries[i]]).filter(([, entry]) => entry && !isMuted(entry));
      list.replaceChildren(...known.map(([name, entry]) => createChip(name, entry, page).node));
      setHidden(list, known.length === 0);
    },
  });

  /** @param {string} text */
  function show(text) {
    const names = namesIn(text);
    const key = names.join(' ');
    if (key === shown) return;
    shown = key;
    if (names.length > 0) {
      latest.request(names);
      return;
    }
    latest.cancel();
    list.replaceChildren();
    setHidden(list, true);
  }

  return { show };
}
