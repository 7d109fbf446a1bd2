import { bring } from '../../core/api.js';
import { copyAndSay } from '../../ui/copy_fallbacks.js';
import { createLatest } from '../../core/latest.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { showsActivities } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { threadStrings as words } from '../../strings/en/threads.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, setHidden, uniqueId } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';
import { detailsOf, headingOf, placeOfActivity, excerptOf, replyTarget } from '../activity_model.js';
import { createThreadsApi } from '../threads/api.js';
import { createThreadCount } from '../threads/count.js';
import { AT_ONCE, PlacedActivities } from './activities_model.js';

const EXCERPT_LENGTH = 200;
const FLASH_MS = 1600;

const button = (text, onclick, more = {}) => element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text, onclick, ...more });

/** Shows or hides the activities of all conversations on this device. */
export function showActivities(isShown, { events }) {
  showsActivities.set(isShown);
  events.emit('activities:shown');
  if (isShown) return;
  showToast(words.hidden, { actionLabel: words.showAgain, onAction: () => showActivities(true, { events }) });
}

async function goToReplied(activity, page) {
  const replied = await attempt(() => page.api.getActivity(activity.reply_to_id), { failed: words.goneFailed });
  if (replied) page.goTo(placeOfActivity(replied));
}

/** Moves an activity to a conversation that the person chooses; the changes that the server tells then show it there. */
async function move(activity, page) {
  const { chooseConversation } = await bring(() => import('../../references/choose_conversation.js'));
  const chosen = await chooseConversation(page.api, { title: words.moveTitle, text: words.moveText, but: activity.conversation_id });
  if (!chosen) return;
  const moved = await createThreadsApi(page.api).moveActivity(activity.id, chosen.conversation_id);
  page.transcript().followActivities({ moved: true });
  showToast(words.moved(chosen.title), { kind: 'success', actionLabel: words.openMoved, onAction: () => page.goTo(placeOfActivity(moved)) });
}

/** What stands below the line of an activity when it is open: what it holds, and what can be done with it. */
function detailsNodes(activity, page) {
  const shortId = `#${activity.short_id}`;
  const copy = button(shortId, () => copyAndSay(shortId, copy, strings.badge.copied), { title: words.copyShortId });
  const { reply_to_id: repliedId, reply_to_short_id: repliedShortId } = activity;
  return [
    element('pre', { class: 'activity-payload', role: 'group', dir: 'auto', tabindex: '0', 'aria-label': words.details, text: detailsOf(activity) }),
    element('div', { class: 'activity-tools' }, copy,
      button(words.replyHere, () => page.replyTo(replyTarget(activity))),
      repliedShortId ? button(words.replyTo(`#${repliedShortId}`), () => goToReplied(activity, page)) : '',
      repliedId && !repliedShortId ? element('span', { text: words.replyTo(words.deleted) }) : '',
      button(words.move, () => attempt(() => move(activity, page), { failed: words.moveFailed })),
      activity.thread_id ? button(words.openThread, () => page.events.emit('rail:show', { tab: 'threads', threadId: activity.thread_id })) : '',
      button(words.hide, () => showActivities(false, page)),
      element('time', { datetime: activity.created_at, text: fullTime(activity.created_at) })),
  ];
}

/** An activity in the transcript: one line; a click opens its details. */
function activityLine(activity, page) {
  const details = element('div', { class: 'activity-details', id: uniqueId('activity'), hidden: true });
  const summary = element('button', { type: 'button', class: 'activity-summary', 'aria-expanded': 'false', 'aria-controls': details.id, onclick: toggle },
    element('span', { class: 'activity-text', dir: 'auto' },
      element('strong', { text: headingOf(activity, strings.sender.user) }), ` ${excerptOf(activity, EXCERPT_LENGTH)}`),
    element('time', { class: 'activity-time', datetime: activity.created_at, title: fullTime(activity.created_at), text: shortTime(activity.created_at) }));
  const count = createThreadCount(() => activity.id, page);
  const node = element('div', { class: 'activity-line', 'data-short-id': activity.short_id }, summary, count.node, details);
  let flashing = 0;
  /** An activity gets into a thread when somebody replies to it. */
  let current = activity;

  function update(renewed) {
    current = renewed;
  }

  function toggle() {
    const isOpen = details.hidden;
    if (isOpen) details.replaceChildren(...detailsNodes(current, page));
    setHidden(details, !isOpen);
    summary.setAttribute('aria-expanded', String(isOpen));
  }

  function reveal({ takesFocus }) {
    node.scrollIntoView({ block: 'center' });
    if (takesFocus) summary.focus({ preventScroll: true });
    node.classList.add('flash');
    clearTimeout(flashing);
    flashing = setTimeout(() => node.classList.remove('flash'), FLASH_MS);
  }

  count.update();
  return { node, update, reveal, countReplies: count.update };
}

/**
 * The activities of the open conversation that are no messages, as lines between its messages.
 *
 * @param {object} page
 * @param {object} options
 * @param {() => {messages: object[], atStart: boolean, atEnd: boolean}} options.shown the messages that are shown
 * @param {() => void} options.onChange other lines are there now, or none
 */
export function createActivityLines(page, { shown, onChange }) {
  const activities = new PlacedActivities();
  const lines = new Map();
  const more = button(words.earlier, loadEarlier, { class: 'btn btn-sm btn-quiet activities-earlier' });
  let conversationId = null;
  /** Whether the server has answered what stands in this conversation. */
  let isAnswered = false;
  /** The window of messages that was asked for last, by its ends. */
  let askedFor = null;
  /** Whether some came to earlier places, or left them: then nothing of what is known may stay. */
  let isOutdated = false;

  const latest = createLatest(({ query }, options) => page.api.listActivities(conversationId, query, options), {
    delay: 0, onAnswer: (newest, { isWhole }) => take(newest, { isWhole }), onError: () => {
      askedFor = null;
    },
  });

  function take(newest, { isWhole }) {
    isAnswered = true;
    if (isOutdated) activities.clear();
    isOutdated = false;
    activities.take(newest, { isWhole });
    onChange();
  }

  /** The messages between which activities are asked for. */
  function windowQuery() {
    const { messages, atStart, atEnd } = shown();
    const known = messages.filter(({ pending, isGone }) => !pending && !isGone);
    return { limit: AT_ONCE, first_message_id: atStart ? null : known[0]?.message_id, last_message_id: atEnd ? null : known.at(-1)?.message_id };
  }

  /** Other messages are shown: asks for what stands between them, where that is not known. */
  function follow() {
    if (!conversationId || !showsActivities.get() || activities.hasAll || !isAnswered || shown().messages.length === 0) return;
    const query = windowQuery();
    const key = JSON.stringify(query);
    if (key === askedFor) return;
    askedFor = key;
    latest.request({ query, isWhole: false });
  }

  /** Asks again for what is shown: activities were posted or, where some are `moved`, left; or messages came and went. */
  function refresh({ moved = false } = {}) {
    isOutdated ||= moved;
    if (!conversationId || !showsActivities.get()) return;
    const isWhole = activities.hasAll || !isAnswered;
    latest.request({ query: isWhole ? { limit: AT_ONCE } : windowQuery(), isWhole });
  }

  /** Asks for the newest activities of a conversation that is being opened. */
  async function load(options) {
    latest.cancel();
    const mine = conversationId;
    if (!mine || !showsActivities.get()) return;
    try {
      const newest = await page.api.listActivities(mine, { limit: AT_ONCE }, { ...options, quiet: true });
      if (mine === conversationId) take(newest, { isWhole: true });
    } catch {
      // The next refresh asks again.
    }
  }

  function clear(newConversationId) {
    latest.cancel();
    activities.clear();
    lines.clear();
    conversationId = newConversationId;
    isAnswered = false;
    isOutdated = false;
    askedFor = null;
  }

  async function loadEarlier() {
    const mine = conversationId;
    const earlier = await attempt(() => page.api.listActivities(mine, { ...windowQuery(), last_message_id: null, before: activities.first.seq }), { failed: words.activitiesFailed });
    if (!earlier || mine !== conversationId) return;
    activities.takeEarlier(earlier);
    onChange();
  }

  function lineOf(activity) {
    if (!lines.has(activity.id)) lines.set(activity.id, activityLine(activity, page));
    const line = lines.get(activity.id);
    line.update(activity);
    return line.node;
  }

  /** @returns {Map<string|null, Node[]>} the lines behind each message that is shown, by its id; null: before all messages */
  function nodes() {
    if (!showsActivities.get()) return new Map();
    const { messages, atStart } = shown();
    const placed = new Map([...activities.among(messages, { atStart })].map(([id, found]) => [id, found.map(lineOf)]));
    const first = activities.hasEarlier ? placed.get(activities.first?.after_message_id) : null;
    first?.unshift(more);
    return placed;
  }

  return {
    load,
    clear,
    follow,
    refresh,
    nodes,
    get isEmpty() {
      return activities.isEmpty || !showsActivities.get();
    },
    get threadIds() {
      return activities.known.map(({ thread_id: id }) => id).filter(Boolean);
    },
    /** @returns {string|null} the id of the message that shows the activity as one of its tool calls */
    callerOf: (activityId) => activities.callerOf(activityId, shown().messages),
    countReplies: () => [...lines.values()].forEach(({ countReplies }) => countReplies()),
    /** `before` is called before it comes into view. @returns {boolean} whether the line is here, and now in view */
    reveal(activityId, { takesFocus, before }) {
      const line = lines.get(activityId);
      if (!line?.node.isConnected) return false;
      before();
      line.reveal({ takesFocus });
      return true;
    },
  };
}
