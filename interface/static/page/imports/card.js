import { shownTitle } from '../core/words/conversation_title.js';
import { saidText } from '../core/words/said.js';
import { inOwnWords } from '../core/words/workspace_name.js';
import { shortTime } from '../core/words/times.js';
import { formatPanel, learningFrom } from '../memories/query_model.js';
import { importStrings as words } from '../strings/en/imports.js';
import { element, inRow, replaceWithFocus, setHidden, uniqueId, whenReleased } from '../ui/dom.js';
import { actionsOf, choiceOf, isDetailed, isUnderWay, saysOf, shareOf } from './imports_model.js';

const MOST_FAILURES_SHOWN = 20;

/** How often is asked how many messages can't be found by their meaning yet. */
const VECTORS_EVERY_MS = 2000;

/** Which conversations of a file come, and into which workspace. @param {import('./imports_model.js').Details} details */
function createChoice({ titles, conversations }, workspaces) {
  const boxes = titles.map(({ id }) => ({ id, box: element('input', { type: 'checkbox', class: 'form-check-input', checked: true }) }));
  const about = ({ messages, created_at: begun }) => [words.messages(messages), ...(begun ? [shortTime(begun)] : [])].join(' · ');
  const rows = titles.map((each, i) => element('label', { class: 'form-check' }, boxes[i].box,
    element('span', { class: 'form-check-label', dir: 'auto', text: shownTitle(each.title) }), element('span', { class: 'record-note', text: about(each) })));
  const tick = (isTicked) => boxes.forEach(({ box }) => { box.checked = isTicked; });
  const all = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.all, onclick: () => tick(true) });
  const none = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.none, onclick: () => tick(false) });
  const options = workspaces.map(inOwnWords).map(({ workspace_id: id, workspace_name: name }) => element('option', { value: id, text: name }));
  const workspace = element('select', { class: 'form-select', id: uniqueId('import-workspace') }, element('option', { value: '', text: words.usualWorkspace }), ...options);
  // Of more conversations than are listed, all come.
  const mayChoose = titles.length > 1 && titles.length === conversations;
  const which = element('details', { hidden: !mayChoose }, element('summary', { text: words.which }), element('p', { class: 'settings-buttons' }, all, none), element('div', { class: 'import-titles' }, ...rows));
  return {
    node: element('div', { class: 'import-choice' }, element('label', { class: 'field-label', for: workspace.id, text: words.workspace }), workspace, which),
    read: () => choiceOf({ workspaceId: workspace.value, mayChoose, all: boxes, chosen: boxes.filter(({ box }) => box.checked).map(({ id }) => id) }),
  };
}

/** @param {string} summary @param {import('./imports_model.js').Failure[]} found */
function list(summary, found) {
  const rows = found.slice(0, MOST_FAILURES_SHOWN).map(({ item, item_said: place, reason, said }) => element('li', {}, element('strong', { dir: 'auto', text: saidText(item, place) }), ` ${saidText(reason, said)}`));
  return element('details', { class: 'import-failures', hidden: rows.length === 0 }, element('summary', { text: summary }), element('ul', {}, ...rows));
}

/** What could not be imported, and what stays of an import that was taken back. @param {import('./imports_model.js').Details} details */
const problems = ({ failures, failed, kept }) => [list(words.problems(failed), failures), list(words.stays(kept.length), kept)];

/** That messages are found by words already, and by meaning soon. @param {import('./imports_model.js').Details} details */
const meaning = ({ vectors_left: left }) => element('p', { class: 'record-note import-vectors', hidden: !left, text: left ? words.vectors(left) : '' });

/** Texts that came with it, from which memories can be taken. @param {import('./imports_model.js').Details} details */
const lessons = ({ to_learn_from: paths }) => paths.map((path) => element('p', { class: 'record-note import-lesson' }, `${words.lesson(path.replace(/\.md$/, ''))} `,
  element('a', { href: `/interface/${formatPanel(learningFrom(path))}`, text: words.learn })));

/**
 * One import: what it is, how far it came, and what can be done with it.
 *
 * @param {{act: (action: string, which: object, body?: object) => Promise<void>, imports: object, workspaces: () => Promise<object[]>}} tools
 */
export function createImportCard({ act, imports, workspaces }) {
  const line = element('p', { class: 'import-line', role: 'status' });
  const bar = element('progress', { class: 'record-progress', max: '1' });
  const more = element('div', { class: 'import-more' });
  const buttons = element('div', { class: 'settings-buttons' });
  const name = element('h4', { class: 'import-name' });
  const node = element('li', { class: 'import-card' }, name, line, bar, more, buttons);
  let shown = '';
  let choice = null;

  function control(action, given) {
    const { import_id: id, file_name: fileName } = given;
    const look = `btn btn-sm ${action === 'start' ? 'btn-primary' : 'btn-quiet'}`;
    const label = words.actions[action];
    const told = { class: look, text: label, ...inRow(label, fileName) };
    if (action === 'report') return element('a', { ...told, href: imports.reportAddress(id), download: '' });
    return element('button', { type: 'button', ...told, 'data-action': action, onclick: () => act(action, given, choice?.read()) });
  }

  /** What there is to choose from, or what went wrong. */
  async function tellMore(given) {
    const { import_id: id, state } = given;
    choice = null;
    more.replaceChildren();
    if (!isDetailed(given)) return;
    const [details, places] = await Promise.all([imports.details(id), state === 'ready' ? workspaces() : []]);
    // The buttons stand below: what is pressed stays where it is.
    await whenReleased();
    if (shown !== state) return;
    choice = state === 'ready' ? createChoice(details, places) : null;
    more.replaceChildren(...(choice ? [choice.node] : [...(state === 'done' ? [meaning(details), ...lessons(details)] : []), ...problems(details)]));
    if (state === 'done' && details.vectors_left) followVectors(id);
  }

  /** Says anew how many are left, until none is, or nobody looks any more. */
  function followVectors(id) {
    setTimeout(async () => {
      if (!node.isConnected || shown !== 'done') return;
      const details = await imports.details(id).catch(() => null);
      if (shown !== 'done') return;
      if (details) more.querySelector('.import-vectors')?.replaceWith(meaning(details));
      if (!details || details.vectors_left) followVectors(id);
    }, VECTORS_EVERY_MS);
  }

  return {
    node,
    /** What changes all the time is changed in its place; the rest is made anew when the import is in another state. */
    show(given) {
      const { import_id: id, state, source, source_title: title, file_name: fileName } = given;
      line.textContent = words.states[saysOf(given)]({ ...given, error: saidText(given.error, given.error_said), time: shortTime(given.next_try_at) });
      const share = shareOf(given);
      setHidden(bar, !isUnderWay(given));
      if (share === null) bar.removeAttribute('value');
      else bar.value = share;
      if (shown === state) return;
      shown = state;
      node.dataset.import = id;
      node.dataset.state = state;
      bar.setAttribute('aria-label', words.progress(fileName));
      name.replaceChildren(element('span', { text: words.sources[source] ?? title }), element('span', { class: 'record-note', dir: 'auto', text: fileName }));
      replaceWithFocus(buttons, ...actionsOf(given).map((action) => control(action, given)));
      // Without the details, the import can be started whole all the same.
      tellMore(given).catch(() => {});
    },
  };
}
