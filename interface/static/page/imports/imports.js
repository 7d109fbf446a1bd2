/** Importing history: a file is dropped or chosen, looked at, stored, and reported about. */

import { importStrings as words } from '../strings/en/imports.js';
import { attempt, failureText } from '../ui/notices/attempts.js';
import { confirmAction } from '../ui/controls/dialog.js';
import { element, replaceWithFocus, setHidden, uniqueId, whenReleased } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { addPanelStyle } from '../ui/panel_style.js';
import { createImportsApi } from './api.js';
import { createImportCard } from './card.js';
import { ACCEPTED, chosenOf, isWorking } from './imports_model.js';

/** How often is asked how far imports came, while the server works on one. */
const ASK_EVERY_MS = 500;

/** Where imported conversations come. */
const DOMAIN = 'assistant';

const carriesFiles = (event) => [...(event.dataTransfer?.types ?? [])].includes('Files');

/** Where people find the file in the products that they come from. */
function whereFrom() {
  const rows = words.products.map(([name, way]) => element('li', {}, element('strong', { text: name }), ` ${way}`));
  return element('details', { class: 'import-where' }, element('summary', { text: words.whereFrom }), element('ul', {}, ...rows));
}

/**
 * The way in for a file, and what became of the imports so far.
 *
 * @param {{api: object}} page
 * @param {{startsAtOnce?: boolean}} [options] a file is stored whole without any question: whoever is here for the first time
 * @returns {Promise<{node: HTMLElement, take: (files: File[]) => void, stop: () => void}>} `stop`: it is not looked at any more
 */
export async function createImports(page, { startsAtOnce = false } = {}) {
  await addPanelStyle('imports/imports');
  const imports = createImportsApi(page.api);
  /** @type {Map<string, ReturnType<typeof createImportCard>>} */
  const cards = new Map();
  const workspaces = () => page.api.listWorkspaces(DOMAIN).catch(() => []);
  let timer = null;
  let isLooked = true;

  const input = element('input', { type: 'file', accept: ACCEPTED, hidden: true, 'aria-label': words.choose, onchange: () => {
    take([...input.files]);
    input.value = '';
  } });
  const choose = element('button', { type: 'button', class: 'btn btn-primary import-choose', text: words.choose, onclick: () => input.click() });
  const lead = uniqueId('import-lead');
  const drop = element('div', { class: 'import-drop', role: 'group', 'aria-labelledby': lead },
    icon('download'), element('p', { id: lead, text: words.drop }), choose, input);
  const sending = element('div', { class: 'import-sending' });
  const list = element('ul', { class: 'import-list', 'aria-label': words.list });
  const where = whereFrom();
  const node = element('div', { class: 'imports' }, drop, sending, where, list);

  drop.addEventListener('dragover', (event) => {
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    drop.classList.add('is-over');
  });
  drop.addEventListener('dragleave', (event) => !drop.contains(event.relatedTarget) && drop.classList.remove('is-over'));
  drop.addEventListener('drop', (event) => {
    drop.classList.remove('is-over');
    if (!carriesFiles(event)) return;
    event.preventDefault();
    event.stopPropagation();
    take([...event.dataTransfer.files]);
  });

  async function take(files) {
    const file = chosenOf(files);
    if (!file) return;
    const stop = new AbortController();
    choose.disabled = true;
    replaceWithFocus(sending, element('p', { role: 'status', text: words.sending(file.name) }), element('progress', { 'aria-label': words.sending(file.name) }),
      element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.cancel, onclick: () => stop.abort() }));
    try {
      const begun = await imports.send(file, { signal: stop.signal });
      if (startsAtOnce) await imports.start(begun.import_id);
      sending.replaceChildren();
      await show();
    } catch (error) {
      const isUnknown = error.code === 'import_form_unknown';
      const why = isUnknown ? words.notKnown(file.name) : failureText(error, words.notTaken);
      replaceWithFocus(sending, ...(stop.signal.aborted ? [] : [element('p', { class: 'notice notice-error', role: 'alert', text: why })]));
      if (isUnknown) where.open = true;
    } finally {
      choose.disabled = false;
    }
  }

  /** Shows imports in their order; each keeps its card, so that what has the focus keeps it. */
  function place(all) {
    const known = new Set(all.map(({ import_id: id }) => id));
    for (const [id, card] of cards) {
      if (known.has(id)) continue;
      card.node.remove();
      cards.delete(id);
    }
    all.forEach((each, i) => {
      if (!cards.has(each.import_id)) cards.set(each.import_id, createImportCard({ act, imports, workspaces }));
      const card = cards.get(each.import_id);
      card.show(each);
      if (list.children[i] !== card.node) list.insertBefore(card.node, list.children[i] ?? null);
    });
    setHidden(list, all.length === 0);
  }

  // One after the other: an older list never replaces a newer one.
  let last = Promise.resolve();
  function show({ quiet = false } = {}) {
    clearTimeout(timer);
    last = last.then(() => refresh(quiet));
    return last;
  }

  async function refresh(quiet) {
    let all;
    try {
      all = await imports.list({ quiet });
    } catch (error) {
      // Asked for by nobody, it is asked for again; the person is told when they ask.
      if (!quiet) replaceWithFocus(sending, element('p', { class: 'notice notice-error', role: 'alert', text: failureText(error, words.failed) }));
      ask();
      return;
    }
    await whenReleased();
    if (!isLooked) return;
    place(all);
    if (all.some(isWorking)) ask();
  }

  function ask() {
    clearTimeout(timer);
    if (isLooked) timer = setTimeout(() => show({ quiet: true }), ASK_EVERY_MS);
  }

  /** Does something with an import, and shows what came of it. */
  async function act(action, which, body) {
    const question = words.questions[action];
    if (question && !(await confirmAction({ ...question, confirmLabel: words.actions[action] }))) return;
    await attempt(() => imports[action](which.import_id, body), { failed: words.failed, again: () => act(action, which, body) });
    await show();
  }

  show();
  return {
    node,
    take,
    stop() {
      isLooked = false;
      clearTimeout(timer);
    },
  };
}
