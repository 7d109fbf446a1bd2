/**
 * The filter box. The tree knows only what it loaded, and titles are matched word by word by the server: it is asked,
 * and the matches are shown as a flat list in the tree's place.
 */

import { formatAddress } from '../core/address.js';
import { shortTime } from '../core/words/times.js';
import { listedTitle } from '../core/words/conversation_title.js';
import { icon } from '../ui/icons.js';
import { createLatest } from '../core/latest.js';
import { composes } from '../core/typing.js';
import { shellStrings } from '../strings/en/shell.js';
import { element, replaceChildrenKeepingFocus, whenReleased } from '../ui/dom.js';
import { foldedTag } from './actions/tags_model.js';
import { nameButton, tellRowsApart } from './rows.js';

const LIMIT = 50;
/** One more says that there are more. */
const ASKED_FOR = LIMIT + 1;

/** When something was last said, as ISO 8601: some lists say UTC without saying so. */
const momentOf = ({ updated_at: at, last_updated: listed = '' }) => at ?? `${listed.replace(' ', 'T')}Z`;

function matchRow({ href, iconName, title, note, onChoose }) {
  const row = document.createElement('li');
  const link = document.createElement('a');
  link.className = 'filter-match';
  link.href = href;
  const text = document.createElement('span');
  text.className = 'filter-match-title';
  text.textContent = title;
  link.append(icon(iconName), text);
  if (note) {
    const remark = document.createElement('span');
    remark.className = 'filter-match-note';
    remark.textContent = note;
    link.append(remark);
  }
  link.addEventListener('click', (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    onChoose({ isBeside: event.altKey });
  });
  row.append(link);
  return row;
}

/** Up and down move between the box and its matches. */
function moveFocus(event, { input, list }) {
  if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
  const stops = [input, ...list.querySelectorAll('a')];
  const next = stops[stops.indexOf(document.activeElement) + (event.key === 'ArrowDown' ? 1 : -1)];
  if (!next) return;
  event.preventDefault();
  next.focus();
}

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {string} parts.domain
 * @param {import('./tree_model.js').TreeModel} parts.model knows no workspaces until the first lists have come
 * @param {(conversationId: string, how: {isBeside: boolean}) => void} parts.onConversation
 * @param {(conversationId: string) => boolean} parts.isOpen
 * @param {(workspaceId: string) => void} parts.onWorkspace
 * @param {(conversationId: string, place: {x: number, y: number}, anchor: HTMLElement) => void} parts.onMenu a menu was asked for on a match
 * @returns {{workspacesChanged: () => void, conversationsChanged: (now: Map<string, object|undefined>) => void, markOpen: () => void}}
 *   `workspacesChanged` finds the workspaces anew; `conversationsChanged` shows conversations as they are now, undefined for one that was deleted
 */
export function mountFilter({ api, domain, model, onConversation, isOpen, onWorkspace, onMenu }) {
  const words = shellStrings.filter;
  const input = document.getElementById('sidebar-filter');
  const list = document.getElementById('sidebar-matches');
  const status = document.getElementById('sidebar-filter-status');
  const rest = document.getElementById('sidebar-scroll');
  /** The query that was answered last, and the rows of its answer; null: nothing is shown. */
  let shown = null;
  /** Whether Enter was pressed before the answer came. */
  let isFirstWanted = false;

  function show(filtering) {
    rest.hidden = filtering;
    list.hidden = !filtering;
    if (!filtering) status.textContent = '';
  }

  function clear() {
    latest.cancel();
    shown = null;
    isFirstWanted = false;
    input.value = '';
    list.replaceChildren();
    show(false);
  }

  function workspaceRow({ workspace_id: id, workspace_name: title }) {
    const onChoose = () => {
      clear();
      onWorkspace(id);
    };
    return matchRow({ href: '#', iconName: 'folder', title, note: words.workspace, onChoose });
  }

  function conversationRow({ conversation_id: id, ...named }) {
    const onChoose = (how) => onConversation(id, how);
    const row = matchRow({ href: formatAddress(id), iconName: 'chat', title: '', onChoose });
    const when = row.firstElementChild.appendChild(element('span', { class: 'filter-match-note' }));
    let known = named;
    row.addEventListener('contextmenu', (event) => {
      event.preventDefault();
      onMenu(id, { x: event.pageX, y: event.pageY }, row);
    });
    const dots = element('button', { class: 'sidebar-row-menu', type: 'button', 'aria-haspopup': 'menu' }, icon('three-dots'));
    dots.addEventListener('click', () => {
      const { left: x, bottom: y } = dots.getBoundingClientRect();
      onMenu(id, { x, y }, dots);
    });
    row.className = 'sidebar-row filter-row';
    row.dataset.conversationId = id;
    row.append(dots);

    function call(conversation) {
      known = conversation;
      const title = listedTitle(conversation);
      row.querySelector('.filter-match-title').textContent = title;
      nameButton(dots, shellStrings.sidebar.actionsOf(title), momentOf(conversation));
    }

    function mark() {
      if (isOpen(id)) row.firstElementChild.setAttribute('aria-current', 'true');
      else row.firstElementChild.removeAttribute('aria-current');
    }

    /** @param {Map<string, number>} times how often each title is there: what is called alike is told apart by its time */
    function date(times) {
      when.textContent = times.get(listedTitle(known)) > 1 ? shortTime(momentOf(known)) : '';
      when.hidden = !when.textContent;
    }

    call(named);
    return { id, row, call, mark, date, title: () => listedTitle(known) };
  }

  function tagRow({ tag, conversation_count: count }) {
    const onChoose = () => {
      input.value = `#${tag}`;
      input.focus();
      input.dispatchEvent(new Event('input'));
    };
    return matchRow({ href: '#', iconName: 'tag', title: `#${tag}`, note: words.tag(count), onChoose });
  }

  function draw() {
    const { query, tags, conversations, hasMore } = shown;
    const workspaces = query.startsWith('#') ? [] : model.findWorkspaces(query);
    const hadFocus = list.contains(document.activeElement);
    replaceChildrenKeepingFocus(list, ...tags, ...workspaces.map(workspaceRow), ...conversations.map(({ row }) => row));
    if (hadFocus && !list.contains(document.activeElement)) (list.querySelector('a') ?? input).focus();
    const times = new Map();
    for (const { title } of conversations) times.set(title(), (times.get(title()) ?? 0) + 1);
    conversations.forEach(({ date }) => date(times));
    markOpen();
    tellRowsApart(list);
    status.textContent = (hasMore ? words.more : words.matches)(list.childElementCount);
  }

  /** Another conversation may be open now. */
  function markOpen() {
    shown?.conversations.forEach(({ mark }) => mark());
  }

  function showMatches({ conversations, tags }, query) {
    shown = { query, tags: tags.map(tagRow), conversations: conversations.slice(0, LIMIT).map(conversationRow), hasMore: conversations.length > LIMIT };
    draw();
    if (isFirstWanted) chooseFirst();
  }

  /** Enter in the box goes to what stands first, as soon as what was typed is answered. */
  function chooseFirst() {
    isFirstWanted = shown?.query !== input.value.trim();
    if (!isFirstWanted) list.querySelector('a')?.click();
  }

  async function workspacesChanged() {
    await whenReleased();
    // What was typed since is about to be answered.
    if (shown?.query === input.value.trim()) draw();
  }

  async function conversationsChanged(now) {
    if (!shown?.conversations.some(({ id }) => now.has(id))) return;
    await whenReleased();
    if (shown?.query !== input.value.trim()) return;
    shown.conversations = shown.conversations.filter(({ id }) => !now.has(id) || now.get(id));
    for (const { id, call } of shown.conversations) if (now.has(id)) call(now.get(id));
    draw();
  }

  /** `#trip` finds the conversations that have this tag, and the tags that begin so. */
  async function askTags(query, options) {
    const name = foldedTag(query.slice(1).trim());
    const known = (await api.listTags(domain, options)).filter(({ tag }) => foldedTag(tag).startsWith(name));
    const exact = known.find(({ tag }) => foldedTag(tag) === name);
    const conversations = exact ? await api.listConversations(domain, { tag: exact.tag, limit: ASKED_FOR, include_archived: true }) : [];
    return { conversations, tags: known.filter((each) => each !== exact) };
  }

  async function ask(query, options) {
    if (query.startsWith('#')) return askTags(query, options);
    return { conversations: await api.autocompleteConversations(query, { domain, limit: ASKED_FOR, withUnnamed: true }, options), tags: [] };
  }

  const latest = createLatest(ask, {
    ready: whenReleased,
    onAnswer: showMatches,
    onError: (error, query) => {
      shown = null;
      isFirstWanted = false;
      const again = element('button', { class: 'btn btn-quiet', type: 'button', text: shellStrings.sidebar.again });
      again.addEventListener('click', () => {
        input.focus();
        latest.request(query);
      });
      status.replaceChildren(words.failed(error.message), again);
    },
  });

  input.addEventListener('input', () => {
    const query = input.value.trim();
    isFirstWanted = false;
    if (!query) {
      clear();
      return;
    }
    show(true);
    status.textContent = words.searching;
    latest.request(query);
  });
  // Whoever has gone elsewhere is not taken away from there.
  input.addEventListener('blur', () => {
    isFirstWanted = false;
  });
  input.addEventListener('keydown', (event) => {
    if (event.key !== 'Enter' || composes(event) || list.hidden) return;
    event.preventDefault();
    chooseFirst();
  });
  for (const part of [input, list]) {
    part.addEventListener('keydown', (event) => {
      if (composes(event)) return;
      if (event.key !== 'Escape') {
        moveFocus(event, { input, list });
        return;
      }
      // Whoever ends a search is not leaving the sidebar.
      if (!list.hidden) event.preventDefault();
      clear();
      input.focus();
    });
  }

  return { workspacesChanged, conversationsChanged, markOpen };
}
