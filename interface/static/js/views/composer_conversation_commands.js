import { bring } from '../lib/api.js';
import { composerStrings } from '../lib/composer_strings.js';
import { createBeginning } from './sidebar_begin.js';
import { showToast } from './toast.js';

const words = composerStrings.commands;

/**
 * The commands that do something with the whole conversation: each takes what stands behind it and `{onDone}`, called when
 * the text has served. They throw what went wrong.
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
    onBegin: () => {},
    onMade: ({ conversation_id: conversationId }) => events.emit('conversation:created', { conversationId }),
  });
  events.on('conversation:shown', ({ conversationId }) => beginning.shown(conversationId));

  /** Where there is no conversation yet, there is nothing to do it with. */
  const here = (job) => async (rest, options) => {
    const { conversationId } = page.conversation();
    if (!conversationId) tellProblem(words.nothingYet);
    else await job({ ...page.conversation(), rest, ...options });
  };

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
    const undo = present && { actionLabel: words.undo, onAction: () => setTitle(conversationId, present).catch((error) => tellProblem(words.failed(error.message))) };
    showToast(words.titled(rest), { kind: 'success', ...undo });
  });

  const exportIt = here(async ({ conversationId, rest, onDone }) => {
    const { exportConversation } = await bring(() => import('./export_conversation.js'));
    // A failure is told there, with a way to try again; the command stays too.
    if (await exportConversation({ conversationId, format: rest.toLowerCase() || 'markdown', api })) onDone();
  });

  async function clear(rest, { onDone }) {
    const { conversationId } = page.conversation();
    const details = conversationId ? await api.getConversationDetails(conversationId) : {};
    onDone();
    beginning.begin(details.workspace_id);
  }

  const fork = here(async ({ conversationId, onDone }) => {
    await page.transcript().toNewest();
    const last = page.transcript().messages.findLast(({ pending, status }) => !pending && status !== 'streaming');
    if (!last) {
      tellProblem(words.noMessage);
      return;
    }
    const { conversation_id: copy } = await api.forkConversation(conversationId, last.message_id);
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
    const { openShareDialog } = await bring(() => import('./share_dialog.js'));
    onDone();
    await openShareDialog({ api, conversationId, title: present });
  });

  /** Without `on` or `off`, the other way round. */
  const stateless = here(async ({ conversationId, rest, onDone }) => {
    const [{ setStateless }, before] = await Promise.all([bring(() => import('../lib/stateless_api.js')), api.getConversationDetails(conversationId)]);
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
    const undo = () => setArchived(conversationId, false).catch((error) => tellProblem(words.failed(error.message)));
    showToast(words.archived, { kind: 'success', actionLabel: words.undo, onAction: undo });
  });

  return {
    title, export: exportIt, clear, fork, share, stateless, pin, archive, new: begin(() => beginning.begin()), temp: begin(() => beginning.beginTemporary()),
  };
}
