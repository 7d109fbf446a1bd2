import { newId } from '../../core/ids.js';
import { bring } from '../../core/api.js';
import { composerStrings } from '../../strings/en/composer.js';
import { attempt } from '../../ui/notices/attempts.js';
import { createBeginning } from '../../sidebar/begin_conversation.js';
import { showToast } from '../../ui/notices/toast.js';

const words = composerStrings.commands;

/**
 * The commands that do something with the whole conversation: each takes what stands behind it, and `place`, the conversation
 * that it was written in and may be tried again for when another one is shown; `onDone` is called when the text has served.
 * They throw what went wrong.
 *
 * @param {object} page what views share; beside it `domain`
 * @param {{tellProblem: (text: string) => void, setText: (text: string) => void}} composer
 */
export function createConversationCommands(page, { tellProblem, setText }) {
  const { api, events } = page;
  const beginning = createBeginning({
    api,
    events,
    domain: page.domain,
    isShown: (conversationId) => page.store.isShown(conversationId),
    onBegin: () => {},
    onMade: ({ conversation_id: conversationId }) => events.emit('conversation:created', { conversationId }),
  });
  events.on('conversation:shown', ({ conversationId }) => beginning.shown(conversationId));

  /** Where there is no conversation yet, there is nothing to do it with. */
  const here = (job) => async (rest, { place, onDone }) => {
    if (!place.conversationId) tellProblem(words.nothingYet);
    else await job({ ...place, rest, onDone });
  };

  /** What a command did is taken back, wherever the person is by then. */
  const undoing = (job) => ({ actionLabel: words.undo, onAction: () => attempt(job, { failed: words.failed }) });

  async function setTitle(conversationId, title) {
    await api.setConversationTitle(conversationId, title);
    events.emit('conversation:updated', { conversationId, title });
  }

  /** Without a text, the present one comes into the field to be changed. */
  const title = here(async ({ conversationId, title: present, rest, onDone }) => {
    if (!rest) {
      setText(`/title ${present}`);
      return;
    }
    await setTitle(conversationId, rest);
    onDone();
    const undo = present ? undoing(() => setTitle(conversationId, present)) : {};
    showToast(words.titled(rest), { kind: 'success', ...undo });
  });

  const exportIt = here(async ({ conversationId, rest, onDone }) => {
    const { exportConversation } = await bring(() => import('../../conversation/export/export.js'));
    // A failure is told there, with a way to try again; the command stays too.
    if (await exportConversation({ conversationId, format: rest.toLowerCase() || 'markdown', api })) onDone();
  });

  async function clear(rest, { place: { conversationId }, onDone }) {
    const details = conversationId ? await api.getConversationDetails(conversationId) : {};
    onDone();
    beginning.begin(details.workspace_id);
  }

  /** What a fork that may have failed was asked for under: the command again is the same fork. */
  let forking = null;
  const fork = here(async ({ conversationId, onDone }) => {
    const newest = await api.listMessages(conversationId, { limit: 2 });
    const last = newest.findLast(({ status }) => status !== 'streaming');
    if (!last) {
      tellProblem(words.noMessage);
      return;
    }
    if (forking?.messageId !== last.message_id) forking = { messageId: last.message_id, clientId: newId() };
    const { conversation_id: copy } = await api.forkConversation(conversationId, last.message_id, forking.clientId);
    forking = null;
    onDone();
    events.emit('conversation:created', { conversationId: copy });
    events.emit('conversation:open', { conversationId: copy });
  });

  function begin(how) {
    return (rest, { onDone }) => {
      onDone();
      how();
    };
  }

  const share = here(async ({ conversationId, title: present, onDone }) => {
    const { openShareDialog } = await bring(() => import('../../conversation/sharing/dialog.js'));
    onDone();
    await openShareDialog({ api, conversationId, title: present });
  });

  /** Without `on` or `off`, the other way round. */
  const stateless = here(async ({ conversationId, rest, onDone }) => {
    const [{ setStateless }, before] = await Promise.all([bring(() => import('../../conversation/stateless_api.js')), api.getConversationDetails(conversationId)]);
    const on = rest ? rest.toLowerCase() === 'on' : !before.stateless;
    await setStateless(api, conversationId, on);
    events.emit('conversation:updated', { conversationId, stateless: on });
    onDone();
    showToast(words.stateless[on ? 'on' : 'off'], { kind: 'success' });
  });

  const pin = here(async ({ conversationId, onDone }) => {
    const { pinned } = await api.getConversationDetails(conversationId);
    await (pinned ? api.unpinConversation(conversationId) : api.pinConversation(conversationId));
    events.emit('conversation:updated', { conversationId, pinned: !pinned });
    onDone();
    showToast(pinned ? words.unpinned : words.pinned, { kind: 'success' });
  });

  async function setArchived(conversationId, archived) {
    await api.archiveConversation(conversationId, archived);
    events.emit('conversation:updated', { conversationId, archived });
  }

  const archive = here(async ({ conversationId, onDone }) => {
    await setArchived(conversationId, true);
    onDone();
    showToast(words.archived, { kind: 'success', ...undoing(() => setArchived(conversationId, false)) });
  });

  return {
    title, export: exportIt, clear, fork, share, stateless, pin, archive, new: begin(() => beginning.begin()), temp: begin(() => beginning.beginTemporary()),
  };
}
