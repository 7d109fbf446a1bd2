import { createLatest } from '../core/latest.js';
import { strings } from '../strings/en/conversation.js';
import { findReferences } from '../references/grammar.js';
import { bareReference, isGiven, isMuted } from '../references/report_model.js';
import { findWikilinks } from '../references/wikilinks_model.js';
import { element, setHidden, uniqueId } from '../ui/dom.js';
import { createChip } from '../references/chips.js';

const MOST_CHIPS = 20;
/** A text of so many characters is not read from its beginning with each key, but when nobody has typed for a moment. */
const LONG = 20_000;
const PAUSE_MS = 250;
/** What may follow a reference that is still being typed: the separator before its next part, or a group to join that has no ending yet. */
const SEPARATORS = /^(?:[_-]*|&(?:[a-z][\w-]*)?)$/i;

/**
 * The references in what is being typed, as chips below the field, resolved as they will be when it is sent.
 *
 * @param {HTMLElement} form
 * @param {HTMLTextAreaElement} input
 * @param {object} page
 * @param {{onCorrect: () => void}} options called when a name was replaced by what was meant
 */
export function createPreview(form, input, page, { onCorrect }) {
  const list = element('div', { id: uniqueId('composer-preview'), class: 'composer-preview', role: 'group', 'aria-label': strings.composer.references, hidden: true });
  form.append(list);
  /** The chips that were made, by what was typed. */
  const chips = new Map();
  let shown = '';
  let pause = null;

  const placesIn = (text) => [...findReferences(text), ...findWikilinks(text)].sort((one, other) => one.start - other.start);

  function namesIn(text) {
    const typed = placesIn(text).map(({ start, end }) => text.slice(start, end));
    return [...new Set(typed)].slice(0, MOST_CHIPS);
  }

  /** Writes what was meant in the place of a name, as if it were typed, so that it can be undone. */
  function correct(name, meant) {
    input.focus();
    for (const { start, end } of placesIn(input.value).reverse()) {
      if (input.value.slice(start, end) !== name) continue;
      input.setSelectionRange(start, end);
      if (!document.execCommand('insertText', false, meant)) input.setRangeText(meant, start, end, 'end');
    }
    onCorrect();
  }

  /** The reference that the caret stands behind, which may not be complete yet; undefined where there is none. */
  function unfinishedIn(text) {
    const { selectionStart: caret } = input;
    if (document.activeElement !== input) return undefined;
    const found = findReferences(text).find(({ end }) => end <= caret && SEPARATORS.test(text.slice(end, caret)));
    return found && text.slice(found.start, found.end);
  }

  function chipOf(name, entry) {
    if (chips.get(name)?.entry !== entry) {
      chips.set(name, { entry, node: createChip(name, entry, { ...page, correct: (_, meant) => correct(name, meant) }).node });
    }
    return chips.get(name).node;
  }

  async function lookUp({ names }) {
    return Promise.all(names.map((name) => page.references.get(bareReference(name)).catch(() => null)));
  }

  const latest = createLatest(lookUp, {
    delay: 250,
    onAnswer(entries, { names, unfinished }) {
      // Only what is complete can be said to lead nowhere.
      const isShown = (name, entry) => entry && !isMuted(entry) && (name !== unfinished || isGiven(entry));
      const known = names.map((name, i) => [name, entries[i]]).filter(([name, entry]) => isShown(name, entry));
      const nodes = known.map(([name, entry]) => chipOf(name, entry));
      // A chip whose card is open stays where it is.
      if (nodes.length !== list.children.length || nodes.some((node, at) => node !== list.children[at])) list.replaceChildren(...nodes);
      setHidden(list, known.length === 0);
    },
  });

  /** What is typed has changed. @param {string} text */
  function showLater(text) {
    clearTimeout(pause);
    if (text.length < LONG) show(text);
    else pause = setTimeout(() => show(input.value), PAUSE_MS);
  }

  /** @param {string} text */
  function show(text) {
    clearTimeout(pause);
    const names = namesIn(text);
    const unfinished = unfinishedIn(text);
    const key = [...names, '', unfinished].join(' ');
    if (key === shown) return;
    shown = key;
    if (names.length > 0) {
      latest.request({ names, unfinished });
      return;
    }
    latest.cancel();
    chips.clear();
    list.replaceChildren();
    setHidden(list, true);
  }

  input.addEventListener('blur', () => show(input.value));
  page.store.subscribe(({ told }) => {
    if (!told.some(({ kind }) => kind === 'memory')) return;
    shown = '';
    show(input.value);
  });

  return { show, showLater };
}
