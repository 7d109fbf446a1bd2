/** The inbox of the agent that is open: what waits, what failed and why, and buttons that let the agent answer. */

import { saidText } from '../../core/words/said.js';
import { settingsStrings } from '../../strings/en/settings.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, setHidden } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';
import { lineOf } from './agents_model.js';
import { fill, record, records } from '../records.js';

const words = settingsStrings.agents.inbox;
const find = (id) => document.getElementById(id);

/** @param {{settings: object, openId: () => string|null, onAnswered: () => void}} options */
export function mountInbox({ settings, openId, onAnswered }) {
  const place = find('agent-inbox-items');
  const [next, all, again] = ['agent-inbox-next', 'agent-inbox-retry', 'agent-inbox-again'].map(find);

  function row(id, { activity, state, error }) {
    const actions = state === 'failed' ? [{ label: words.retry, onAct: () => retry(id, activity.id) }] : [];
    const link = element('a', { href: `/interface/${encodeURIComponent(activity.conversation_id)}`, text: settingsStrings.agents.conversation });
    const note = error ? saidText(error.message, error.said) : '';
    return record({ name: lineOf(activity), badges: [words.states[state]], note, parts: [link], actions });
  }

  function list(id, { items, pending, failed, by_itself: spent, hourly_limit: most, service }) {
    next.disabled = pending === 0;
    setHidden(all, failed === 0);
    const told = service === 'by_itself' ? [element('p', { class: 'settings-state', text: words.spent(spent, most) })] : [];
    if (items.length === 0) return [element('p', { class: 'settings-state', text: words.none }), ...told];
    return [records(items.map((item) => row(id, item))), ...told];
  }

  // One after the other: an older list never replaces a newer one.
  let last = Promise.resolve();

  /** Shows the inbox of this agent, unless another one was opened meanwhile. */
  function show(id) {
    last = last.then(async () => {
      if (openId() !== id) return;
      await fill(place, () => settings.inbox(id), (told) => (openId() === id ? list(id, told) : [...place.childNodes]));
    });
    return last;
  }

  async function retry(id, activityId) {
    await attempt(() => settings.retryInbox(id, activityId), { failed: settingsStrings.notDone });
    await show(id);
    onAnswered();
  }

  async function answer() {
    const id = openId();
    const label = next.textContent;
    next.disabled = true;
    next.textContent = words.answering;
    try {
      const served = await attempt(() => settings.serviceInbox(id), { failed: settingsStrings.notDone, creates: true });
      if (served?.answer) showToast(words.answered, { kind: 'success' });
    } finally {
      next.textContent = label;
      next.disabled = false;
    }
    await show(id);
    // A disabled button loses the focus; whoever went elsewhere meanwhile stays there.
    if (document.activeElement === document.body) (next.disabled ? again : next).focus();
    onAnswered();
  }

  next.addEventListener('click', answer);
  all.addEventListener('click', () => retry(openId(), null));
  again.addEventListener('click', () => show(openId()));
  return {
    show(id) {
      place.replaceChildren();
      next.disabled = true;
      setHidden(all, true);
      return show(id);
    },
    /** Shows what is there now. */
    renew: show,
  };
}
