import { bring } from '../../core/api.js';
import { createLatest } from '../../core/latest.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { showsActivities } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { threadStrings as words } from '../../strings/en/threads.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, replaceChildrenKeepingFocus, setHidden } from '../../ui/dom.js';
import { headingOf, placeOfActivity, excerptOf, replyTarget } from '../activity_model.js';
import { plainText } from '../../markdown/plain_text_model.js';
import { showActivities } from '../transcript/activities.js';
import { createThreadsApi } from './api.js';
import { nested } from './threads_model.js';

const AT_ONCE = 100;
const MOST_AT_ONCE = 500;
const EXCERPT_LENGTH = 160;
/** The threads that are open, so that they stay so when another conversation is shown and this one again. */
const open = new Set();
/** The recipe that is chosen in a thread, by its id. */
const chosenRecipes = new Map();
/** The threads that are shown, by their ids, and the conversation beside which they stand. */
const shownThreads = { conversationId: null, items: new Map() };
/** The thread that somebody asked for, until it is shown. */
let wanted = null;

const button = (text, onclick, more = {}) => element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text, onclick, ...more });

/** A message or another activity of a thread; a click goes to its place, in whichever conversation. */
function activityItem({ activity, depth }, page) {
  const isHere = activity.conversation_id === page.conversationId();
  const go = () => page.goTo(placeOfActivity(activity));
  const repliesTo = activity.reply_to_id && depth === 0 ? words.replyTo(activity.reply_to_short_id ? `#${activity.reply_to_short_id}` : words.deleted) : '';
  const item = element('li', { class: 'thread-activity', 'data-short-id': activity.short_id },
    element('button', { type: 'button', class: 'rail-message', onclick: go },
      element('span', { class: 'rail-text', dir: 'auto' },
        element('strong', { text: headingOf(activity, strings.sender.user) }), ` ${excerptOf(activity, EXCERPT_LENGTH)}`)),
    element('p', { class: 'thread-about' },
      element('span', { class: 'thread-short-id', text: `#${activity.short_id}` }),
      element('time', { datetime: activity.created_at, title: fullTime(activity.created_at), text: shortTime(activity.created_at) }),
      repliesTo ? element('span', { text: repliesTo }) : '',
      isHere ? '' : element('span', { text: words.elsewhere }),
      button('↩', () => page.replyTo(replyTarget(activity)), { title: words.reply(activity.short_id), 'aria-label': words.reply(activity.short_id) }),
      isHere ? '' : button(words.openThere, go)));
  item.style.setProperty('--depth', depth);
  return item;
}

/** How a recipe is called: ours in the page's language, others by their own titles. */
const recipeTitle = ({ domain, title }) => words.recipes[domain] ?? title;

/** The activities of a thread, nested, with a choice of recipes where there are several. */
function createActivities(threadId, page) {
  const api = createThreadsApi(page.api);
  const filter = element('select', { class: 'form-select form-select-sm', 'aria-label': words.recipe, hidden: true });
  const list = element('ol', { class: 'thread-activities' });
  const more = button(words.more, () => load(), { hidden: true });
  const items = new Map();
  let known = [];
  let offered = '';

  /** The item of an activity: what was shown before stays as it is. */
  function itemOf(placed) {
    const key = `${placed.activity.id} ${placed.depth}`;
    if (!items.has(key)) items.set(key, activityItem(placed, page));
    return items.get(key);
  }

  const show = () => replaceChildrenKeepingFocus(list, ...nested(known).map(itemOf));

  /** @param {Array<{domain: string, title: string}>} recipes of the whole thread */
  function offerRecipes(recipes) {
    const key = recipes.map(({ domain }) => domain).join(' ');
    if (key === offered) return;
    offered = key;
    const all = { domain: '', title: words.allRecipes };
    filter.replaceChildren(...[all, ...recipes].map((recipe) => element('option', { value: recipe.domain, text: recipeTitle(recipe) })));
    filter.value = chosenRecipes.get(threadId) ?? '';
    setHidden(filter, recipes.length < 2);
  }

  const latest = createLatest((query) => api.getThread(threadId, query), {
    delay: 0,
    onAnswer({ activities, recipes }, { after, limit }) {
      if (after === 0) items.clear();
      known = [...known.filter(({ seq }) => seq <= after), ...activities];
      setHidden(more, activities.length < limit);
      offerRecipes(recipes);
      show();
    },
    onError: (error) => attempt(() => Promise.reject(error), { failed: words.failed, again: load }),
  });

  const request = (query) => latest.request({ limit: AT_ONCE, recipe: chosenRecipes.get(threadId) || null, ...query });

  function load() {
    request({ after: known.at(-1)?.seq ?? 0 });
  }

  /** Shows anew what is shown: messages may have been changed or deleted. */
  function renew() {
    request({ after: 0, limit: Math.min(Math.max(AT_ONCE, known.length), MOST_AT_ONCE) });
  }

  /** Shows what was posted, where the newest activities are shown. */
  function follow() {
    if (more.hidden) load();
  }

  filter.addEventListener('change', () => {
    chosenRecipes.set(threadId, filter.value);
    request({ after: 0 });
  });
  return { nodes: [filter, list, more], follow, renew };
}

/** The first words of a message may have marks of Markdown; what a person named the thread is its name. */
const titleOf = ({ title, is_renamed: isRenamed }) => (isRenamed ? title : plainText(title) || title);

async function rename(thread, title, page) {
  const { askText } = await bring(() => import('../../ui/controls/dialog.js'));
  const given = await askText({ title: words.rename, label: words.renameLabel, value: thread.title, maxLength: 500, mayBeEmpty: true });
  if (given === null) return;
  const api = createThreadsApi(page.api);
  await api.renameThread(thread.thread_id, given);
  const renamed = await api.getThread(thread.thread_id, { limit: 1 });
  Object.assign(thread, { title: renamed.title, is_renamed: renamed.is_renamed });
  title.textContent = titleOf(thread);
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
 * @returns {{node: HTMLElement, update: (listed: object, options: {isLive: boolean}) => void, reveal: () => void}} `update` shows the thread as it is listed now; with
 *   `isLive` its activities stay, and get only what is new
 */
function threadItem(thread, page) {
  const title = element('span', { class: 'thread-title', dir: 'auto' });
  const about = element('span', { class: 'thread-about' });
  const activities = createActivities(thread.thread_id, page);
  const tools = element('p', { class: 'thread-tools' },
    button(words.rename, () => attempt(() => rename(thread, title, page), { failed: words.renameFailed })),
    button(words.export, () => attempt(() => exportThread(thread, page), { failed: words.failed })));
  const summary = element('summary', {}, title, about);
  const node = element('details', { class: 'thread' }, summary, tools, ...activities.nodes);
  node.addEventListener('toggle', () => {
    if (node.open) open.add(thread.thread_id);
    else open.delete(thread.thread_id);
    if (node.open) activities.follow();
  });
  function tell() {
    const { reply_count: replies, last_reply_at: last } = thread.thread_metadata;
    title.textContent = titleOf(thread);
    about.textContent = [words.replies(replies), last ? words.last(shortTime(last)) : ''].filter(Boolean).join(' · ');
  }

  function update(listed, { isLive }) {
    Object.assign(thread, listed);
    tell();
    if (node.open && isLive) activities.follow();
    else if (node.open) activities.renew();
  }

  function reveal() {
    node.open = true;
    node.scrollIntoView({ block: 'nearest' });
    // Somebody may be elsewhere by now.
    if (node.closest('.tab-frame')?.parentElement.contains(document.activeElement)) summary.focus({ preventScroll: true });
  }

  tell();
  node.open = open.has(thread.thread_id);
  return { node, update, reveal };
}

/** The switch that shows activities which are no messages in the transcript, or hides them. */
function createSwitch(page) {
  const box = element('input', { type: 'checkbox', class: 'form-check-input' });
  const tell = () => {
    box.checked = showsActivities.get();
  };
  box.addEventListener('change', () => showActivities(box.checked, page));
  page.events.on('activities:shown', tell);
  tell();
  return element('label', { class: 'thread-switch' }, box, element('span', { text: words.showActivities }));
}

let showSwitch = null;

/** A thread is wanted: the next time that threads are loaded, it is shown. @param {{threadId?: string}} wish */
export function openThread({ threadId = null }) {
  if (threadId) open.add(threadId);
  wanted = threadId;
}

/** Brings the wanted thread into view, once it is in its place. */
export function showWantedThread() {
  const item = wanted ? shownThreads.items.get(wanted) : null;
  if (!item?.node.isConnected) return;
  wanted = null;
  item.reveal();
}

/** The threads with an activity in a conversation; and the wanted one, where that is not among the newest of them. */
async function listed(conversationId, page) {
  const api = createThreadsApi(page.api);
  const threads = await api.listThreads(conversationId);
  if (!wanted || threads.some(({ thread_id: id }) => id === wanted)) return threads;
  return [await api.getThread(wanted, { limit: 1 }), ...threads];
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
  const threads = await listed(conversationId, page);
  const before = shownThreads.conversationId === conversationId ? shownThreads.items : new Map();
  const items = new Map(threads.map((thread) => [thread.thread_id, before.get(thread.thread_id) ?? threadItem(thread, page)]));
  threads.forEach((thread) => before.get(thread.thread_id)?.update(thread, { isLive }));
  Object.assign(shownThreads, { conversationId, items });
  showSwitch ??= createSwitch(page);
  const nodes = [...items.values()].map(({ node }) => node);
  return [showSwitch, ...(nodes.length > 0 ? nodes : [element('p', { class: 'rail-empty', text: words.none })])];
}
