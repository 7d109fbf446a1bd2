import { bring } from '../../core/api.js';
import { createLatest } from '../../core/latest.js';
import { fullTime, shortTime } from '../../core/times.js';
import { threadStrings as words } from '../../strings/en/threads.js';
import { attempt } from '../../ui/attempts.js';
import { element, replaceChildrenKeepingFocus, setHidden } from '../../ui/dom.js';
import { excerpt } from '../message_model.js';
import { createThreadsApi } from './api.js';
import { headingOf, nested, recipesOf, wordsOf } from './threads_model.js';

const AT_ONCE = 100;
const EXCERPT_LENGTH = 160;
/** The threads that are open, so that they stay so when another conversation is shown and this one again. */
const open = new Set();
/** The recipe that is chosen in a thread, by its id. */
const chosenRecipes = new Map();
/** The threads that are shown, by their ids, and the conversation beside which they stand. */
const shownThreads = { conversationId: null, items: new Map() };

/** A message or another activity of a thread; a click goes to its place, in whichever conversation. */
function activityItem({ activity, depth }, page) {
  const isHere = activity.conversation_id === page.conversationId();
  const go = () => page.goTo({ conversation_id: activity.conversation_id, ...(activity.is_message ? { message_id: activity.id } : {}) });
  const about = [
    activity.reply_to_id && depth === 0 ? words.replyTo(activity.reply_to_short_id ?? words.deleted) : '',
    isHere ? '' : words.elsewhere,
  ].filter(Boolean).join(' · ');
  const reply = () => page.replyTo({
    message_id: activity.id, short_id: activity.short_id, sender: activity.actor.type === 'user' ? 'user' : 'model',
    text: wordsOf(activity) || headingOf(activity), config: {},
  });
  const item = element('li', { class: 'thread-activity', 'data-short-id': activity.short_id },
    element('button', { type: 'button', class: 'rail-message', onclick: go },
      element('span', { class: 'rail-text', dir: 'auto' },
        element('strong', { text: headingOf(activity) }), ` ${excerpt(wordsOf(activity), EXCERPT_LENGTH)}`)),
    element('p', { class: 'thread-about' },
      element('span', { text: `#${activity.short_id}` }),
      element('time', { datetime: activity.created_at, title: fullTime(activity.created_at), text: shortTime(activity.created_at) }),
      about ? element('span', { text: about }) : '',
      isHere ? element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: '↩', title: words.reply(activity.short_id), 'aria-label': words.reply(activity.short_id), onclick: reply }) : ''));
  item.style.setProperty('--depth', depth);
  return item;
}

/** The activities of a thread, nested, with a choice of recipes where there are several. */
function createActivities(threadId, page) {
  const api = createThreadsApi(page.api);
  const filter = element('select', { class: 'form-select form-select-sm', 'aria-label': words.recipe, hidden: true });
  const list = element('ol', { class: 'thread-activities' });
  const more = element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.more, hidden: true, onclick: load });
  const items = new Map();
  let known = [];
  let offered = [];

  /** The item of an activity: what was shown before stays as it is. */
  function itemOf(placed) {
    const key = `${placed.activity.id} ${placed.depth}`;
    if (!items.has(key)) items.set(key, activityItem(placed, page));
    return items.get(key);
  }

  function show() {
    const chosen = filter.value;
    const shown = chosen ? known.filter(({ recipe }) => recipe === chosen) : known;
    replaceChildrenKeepingFocus(list, ...nested(shown).map(itemOf));
  }

  function offerRecipes() {
    const recipes = recipesOf(known);
    if (recipes.length === offered.length) return;
    offered = recipes;
    filter.replaceChildren(...['', ...recipes].map((recipe) => element('option', { value: recipe, text: recipe || words.allRecipes })));
    filter.value = chosenRecipes.get(threadId) ?? '';
    setHidden(filter, recipes.length < 2);
  }

  const latest = createLatest(({ after }) => api.getThread(threadId, { after, limit: AT_ONCE }), {
    delay: 0,
    onAnswer({ activities }, { after }) {
      known = [...known.filter(({ seq }) => seq <= after), ...activities];
      setHidden(more, activities.length < AT_ONCE);
      offerRecipes();
      show();
    },
    onError: (error) => attempt(() => Promise.reject(error), { failed: words.failed, again: load }),
  });

  function load() {
    latest.request({ after: known.at(-1)?.seq ?? 0 });
  }

  filter.addEventListener('change', () => {
    chosenRecipes.set(threadId, filter.value);
    show();
  });
  return { nodes: [filter, list, more], load };
}

async function rename(thread, title, page) {
  const { askText } = await bring(() => import('../../ui/dialog.js'));
  const given = await askText({ title: words.rename, label: words.renameLabel, value: thread.title, maxLength: 500, mayBeEmpty: true });
  if (given === null) return;
  const api = createThreadsApi(page.api);
  await api.renameThread(thread.thread_id, given);
  const renamed = await api.getThread(thread.thread_id, { limit: 1 });
  thread.title = renamed.title;
  title.textContent = renamed.title;
}

async function exportThread(thread, page) {
  const { saved } = await bring(() => import('../export/export.js'));
  await saved(() => createThreadsApi(page.api).exportThread(thread.thread_id));
}

/**
 * A thread of the open conversation: its title and counts, and when it is opened all its activities, over all conversations.
 *
 * @param {object} thread as the server lists it
 * @param {object} page
 * @returns {{node: HTMLElement, update: (listed: object) => void}} `update` shows the thread as it is listed now
 */
function threadItem(thread, page) {
  const title = element('span', { class: 'thread-title', dir: 'auto' });
  const about = element('span', { class: 'thread-about' });
  const activities = createActivities(thread.thread_id, page);
  const tools = element('p', { class: 'thread-tools' },
    element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.rename, onclick: () => attempt(() => rename(thread, title, page), { failed: words.renameFailed }) }),
    element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.export, onclick: () => attempt(() => exportThread(thread, page), { failed: words.failed }) }));
  const node = element('details', { class: 'thread' },
    element('summary', {}, title, about), tools, ...activities.nodes);
  node.addEventListener('toggle', () => {
    if (node.open) open.add(thread.thread_id);
    else open.delete(thread.thread_id);
    if (node.open) activities.load();
  });
  function tell() {
    const { reply_count: replies, last_reply_at: last } = thread.thread_metadata;
    title.textContent = thread.title;
    about.textContent = [words.replies(replies), last ? words.last(shortTime(last)) : ''].filter(Boolean).join(' · ');
  }

  function update(listed) {
    Object.assign(thread, listed);
    tell();
    if (node.open) activities.load();
  }

  tell();
  node.open = open.has(thread.thread_id);
  return { node, update };
}

/**
 * The threads of the open conversation, those with the newest activity first.
 *
 * @param {object} page
 * @param {{isLive: boolean}} options with `isLive`, threads that are shown already only get what is new
 * @returns {Promise<Node[]>}
 */
export async function loadThreads(page, { isLive }) {
  const conversationId = page.conversationId();
  const threads = await createThreadsApi(page.api).listThreads(conversationId);
  const before = isLive && shownThreads.conversationId === conversationId ? shownThreads.items : new Map();
  const items = new Map(threads.map((thread) => [thread.thread_id, before.get(thread.thread_id) ?? threadItem(thread, page)]));
  threads.forEach((thread) => before.get(thread.thread_id)?.update(thread));
  Object.assign(shownThreads, { conversationId, items });
  return [...items.values()].map(({ node }) => node);
}
