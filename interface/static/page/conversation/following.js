/** What others do to the messages of the open conversation: only what changed is asked for. */

import { planOf } from './changes_model.js';
import { tellFirstWords } from './first_words.js';
import { isMove, isOfNoMessage } from './transcript/activities_model.js';

/**
 * @param {object} parts
 * @param {import('../core/store.js').Store} parts.store
 * @param {object} parts.page what the parts of the page share
 * @param {import('./transcript/transcript.js').Transcript} parts.transcript
 * @param {import('./turns/turns.js').Turns} parts.turns
 * @param {{refresh: (options: object) => Promise<void>}} parts.pins
 * @param {() => Promise<void>} parts.loaded resolves when what is open is shown
 * @param {() => Promise<void>} parts.onNewer messages were added at the end
 */
export function followMessages({ store, page, transcript, turns, pins, loaded, onNewer }) {
  tellFirstWords({ store, events: page.events, conversationId: () => page.conversationId(), messages: () => transcript.messages });
  let done = Promise.resolve();
  /** Turns that were left to this page, which sent something itself; and whether something could not be asked for. */
  const left = new Set();
  let isBehind = false;

  async function fetch(conversationId, messageId) {
    const [message] = await page.api.listMessages(conversationId, { around: messageId, limit: 1 }, { quiet: true });
    if (conversationId === page.conversationId() && message?.message_id === messageId) transcript.patch(messageId, message);
  }

  async function follow(conversationId, changes) {
    await loaded();
    if (conversationId !== page.conversationId()) return;
    const shown = { find: (messageId) => transcript.find(messageId), atStart: transcript.atStart, isAnswering: turns.isBusy };
    if (turns.isBusy) changes.filter(({ kind }) => kind === 'turn').forEach(({ id }) => left.add(id));
    const plan = planOf(changes, shown);
    for (const [messageId, fields] of plan.fields) transcript.patch(messageId, fields);
    if (plan.window) {
      // While an answer is written here, its end shows everything anew.
      if (!turns.isBusy) await page.refresh();
      return;
    }
    await Promise.all([...plan.messages].map((messageId) => fetch(conversationId, messageId)));
    if (plan.messages.size > 0) page.watchUnfinished();
    if (plan.newer) await onNewer();
    if (plan.pins) await pins.refresh({ quiet: true });
  }

  /** Where the response to sending was lost, nobody has shown the turn that came of it. */
  async function catchUp() {
    if (turns.isBusy) return;
    isBehind ||= [...left].some((messageId) => !transcript.find(messageId));
    left.clear();
    if (!isBehind || page.conversationId() === null) return;
    await page.look();
    isBehind = false;
  }

  const queue = (job) => {
    done = done.then(job).catch(() => {
      // It is tried again when the server is heard of.
      isBehind = true;
    });
  };

  /** References to memories that have changed are looked up anew: those that are shown at once. */
  function renewMemories(changes) {
    page.references.clear();
    transcript.renewMemories(new Set(changes.flatMap(({ id, fields }) => [id, ...(fields.claim_ids ?? [])])));
  }

  page.events.on('conversation:shown', () => {
    left.clear();
    isBehind = false;
  });
  page.events.on('changes:alive', () => (left.size > 0 || isBehind) && queue(catchUp));
  store.subscribe(({ told }) => {
    const openId = page.conversationId();
    const here = told.filter(({ kind, conversation_id: id }) => id === openId && (kind === 'turn' || kind === 'message'));
    if (here.length > 0) queue(() => follow(openId, here));
    const posted = told.filter(({ kind }) => kind === 'activity' || kind === 'thread');
    const lines = posted.filter((change) => change.conversation_id === openId && isOfNoMessage(change));
    if (lines.length > 0) transcript.followActivities({ moved: lines.some(isMove) });
    if (posted.length > 0) {
      const isThreaded = posted.some(({ kind, fields }) => kind === 'thread' || fields.thread_id);
      page.events.emit('activities:posted', { isThreaded, isMoved: posted.some(isMove) });
    }
    const memories = told.filter(({ kind }) => kind === 'memory');
    if (memories.length > 0) renewMemories(memories);
  });
}
