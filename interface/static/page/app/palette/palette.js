/** The command palette: one field that finds commands, conversations and settings. Loaded when it is first opened. */

import { VIEW } from '../../core/browser_storage/kept.js';
import { createLatest } from '../../core/latest.js';
import { paletteStrings as words } from '../../strings/en/palette.js';
import { attempt } from '../../ui/notices/attempts.js';
import { isDialogOpen, openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { releaseKeys } from '../../ui/controls/early_keys.js';
import { icon } from '../../ui/icons.js';
import { createListbox } from '../../ui/controls/listbox.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { keyNodes } from '../shortcuts/list.js';
import { conversationEntry, fixedEntries, searchEntry } from './entries.js';
import { newestFirst, paletteGroups, withRecent } from './palette_model.js';

const RECENT = 'palette';
const FEWEST_LETTERS = 2;
const ASKED_FOR = 8;

let isOpen = false;

function contentOf({ icon: symbol, label, about, keys }) {
  return [
    icon(symbol), element('span', { class: 'option-title', dir: 'auto', text: label }),
    ...(keys ? [element('span', { class: 'palette-keys' }, ...keyNodes(keys))] : []),
    ...(about ? [element('span', { class: 'option-about', text: about })] : []),
  ];
}

/** The field and the list below it. `choose` gets the entry. */
function createFinder(page, fixed, { isBeside, onChoose }) {
  const label = isBeside ? words.fieldBeside : words.field;
  const field = element('input', {
    class: 'form-control palette-field', type: 'text', role: 'combobox', 'aria-label': label, placeholder: label,
    'aria-autocomplete': 'list', 'aria-expanded': 'true', autocomplete: 'off', spellcheck: 'false', autocapitalize: 'none',
  });
  const list = createListbox({ id: 'palette-list', label: words.list, className: 'palette-list', field, onChoose, onAction: (entry) => onChoose(entry, { isBeside: true }) });
  const said = element('p', { class: 'visually-hidden', role: 'status' });
  const note = element('p', { class: 'palette-note', text: words.keys });
  field.setAttribute('aria-controls', list.node.id);
  const known = new Map(newestFirst([...page.store.conversations.values()].filter((each) => each.conversation_id !== page.store.openId))
    .map((each) => [each.conversation_id, conversationEntry(each, page)]));
  /** What the server found, which no list of the page has. */
  let found = [];

  const latest = createLatest((query, options) => page.api.autocompleteConversations(query, { domain: page.bootstrap.domain, limit: ASKED_FOR }, options), {
    onAnswer(answer) {
      found = answer.filter(({ conversation_id: id }) => !known.has(id) && id !== page.store.openId).map((each) => conversationEntry(each, page));
      show({ keepsPlace: true });
    },
    onError(error) {
      note.textContent = words.searchFailed(error.message);
    },
  });

  function show({ keepsPlace = false } = {}) {
    const query = field.value.trim();
    const at = keepsPlace && list.active > 0 ? list.activeKey : undefined;
    // The server knows why it found them.
    const extra = found.map((entry) => ({ ...entry, words: query }));
    const entries = [...fixed, ...known.values(), ...extra, ...(query && !isBeside ? [searchEntry(query, page)] : [])];
    const groups = paletteGroups(entries, { query, recent: page.kept.get(VIEW, RECENT) ?? [] });
    list.show(groups.map(({ group, entries: members }) => ({
      label: words.groups[group], options: members.map((entry) => ({ value: entry, key: entry.key, content: contentOf(entry), action: !isBeside && entry.runBeside ? { icon: 'layout-split', title: words.beside } : null })),
    })));
    list.activate(Math.max(0, at === undefined ? 0 : list.positionOf(at)));
    const text = words.found(list.length);
    if (said.textContent !== text) said.textContent = text;
  }

  field.addEventListener('input', () => {
    found = [];
    note.textContent = words.keys;
    show();
    if (field.value.trim().length >= FEWEST_LETTERS) latest.request(field.value.trim());
    else latest.cancel();
  });
  field.addEventListener('keydown', (event) => list.handleKey(event));
  show();
  return { nodes: [field, list.node, note, said], focus: () => field.focus(), end: latest.cancel };
}

/**
 * Opens the palette, and does what is chosen once it is closed. While it is open, the same keys close it.
 *
 * @param {object} page what the page's parts share, and `conversationMenu(conversationId)`
 * @param {{isBeside?: boolean}} [options] `isBeside`: a conversation is chosen, to be opened beside the one that is open
 */
export async function openPalette(page, { isBeside = false } = {}) {
  if (isOpen) return;
  isOpen = true;
  try {
    const [fixed] = await Promise.all([isBeside ? [] : fixedEntries(page), addPanelStyle('app/palette/palette')]);
    // Another one may have opened while this one was on its way.
    if (isDialogOpen()) {
      releaseKeys();
      return;
    }
    const finder = createFinder(page, fixed, { isBeside, onChoose: (entry, how = { isBeside }) => dialog.close({ entry, ...how }) });
    const dialog = openDialog({ title: isBeside ? words.titleBeside : words.title, content: finder.nodes, className: 'palette' });
    dialog.node.addEventListener('keydown', (event) => {
      if (event.key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      dialog.close();
    });
    finder.focus();
    releaseKeys(document.activeElement);
    const chosen = await dialog.closed;
    finder.end();
    if (!chosen) return;
    const { entry } = chosen;
    page.kept.set(VIEW, RECENT, withRecent(page.kept.get(VIEW, RECENT) ?? [], entry.key));
    isOpen = false;
    await attempt(async () => (chosen.isBeside ? entry.runBeside() : entry.run()), { failed: words.failed });
  } finally {
    isOpen = false;
  }
}
