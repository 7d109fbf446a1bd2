import { bring } from '../../core/api.js';
import { copyText } from '../../core/clipboard.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { shellStrings } from '../../strings/en/shell.js';
import { excerpt, isCurrent, referenceTo } from '../memory_model.js';
import { chooseContext } from '../filing/choices.js';
import { showToast } from '../../ui/notices/toast.js';

const words = memoriesStrings.list;

/**
 * What can be done to one memory.
 *
 * @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page
 * @param {{replace: (claim: object) => void, refresh: () => Promise<void>}} shown the list that shows it
 */
export function createMemoryActions(page, shown) {
  const { api, events, attempt } = page;

  function useNow(claim) {
    if (!isCurrent(claim)) return;
    const { claim_id: claimId, friendly_id: friendlyId, statement } = claim;
    events.emit('claim:use-now', { claim_id: claimId, friendly_id: friendlyId, statement });
    showToast(words.used(referenceTo({ friendly_id: friendlyId })), { actionLabel: words.writeIt, onAction: page.writeMessage });
  }

  async function togglePin({ claim_id: id, pinned }) {
    const answer = await attempt(() => (pinned ? api.pkbUnpinClaim(id) : api.pkbPinClaim(id)));
    if (!answer) return;
    shown.replace(answer.claim);
    page.announce(pinned ? words.unpinned : words.pinned);
    page.changed({ show: false });
  }

  async function togglePinHere(claim) {
    const { claim_id: id } = claim;
    const here = page.isPinnedHere(id);
    const conversation = page.conversationId();
    const answer = await attempt(() => (here ? api.pkbUnpinFromConversation(conversation, id) : api.pkbPinToConversation(conversation, id)));
    if (!answer) return;
    page.setPinnedHere(answer.claim_ids);
    shown.replace(claim);
    showToast(here ? words.unpinnedHere : words.pinnedHere, { kind: 'success' });
  }

  async function copyReference(claim) {
    const reference = referenceTo(claim);
    if (await copyText(reference)) showToast(shellStrings.conversation.referenceCopied(reference), { kind: 'success' });
  }

  async function edit(claim) {
    const { editMemory } = await bring(() => import('../editor/editor.js'));
    const answer = await editMemory(page, claim);
    if (!answer) return;
    page.tellDone(memoriesStrings.editor.saved, answer.audit_id);
    shown.replace(answer.claim);
    page.changed({ show: false });
  }

  async function retract(claim) {
    const answer = await attempt(() => api.pkbRetractClaim(claim.claim_id));
    if (!answer) return;
    page.tellDone(words.retracted(excerpt(claim.statement)), answer.audit_id);
    page.changed({ show: false });
    await shown.refresh();
  }

  async function restore(claim) {
    const answer = await attempt(() => api.pkbEditClaim(claim.claim_id, { status: 'active' }));
    if (!answer) return;
    page.tellDone(words.restored(excerpt(claim.statement)), answer.audit_id);
    page.changed({ show: false });
    await shown.refresh();
  }

  async function addToContext(claim) {
    const context = await chooseContext(page, memoriesTabStrings.contexts.chooseTitle);
    if (context) await fileUnder(context, [claim.claim_id]);
  }

  /** Files memories under a context, and offers to take that back. */
  async function fileUnder({ context_id: id, name }, claimIds) {
    const answer = await attempt(() => api.pkbChangeClaims(claimIds, 'add_to_context', id));
    if (!answer) return;
    page.tellDone(memoriesTabStrings.contexts.added(claimIds.length, name), answer.audit_id);
    page.changed();
  }

  function openSource({ source }) {
    events.emit('conversation:open', { conversationId: source.conversation_id, messageId: source.message_id });
  }

  /** The items of a memory's menu; null stands for a line. */
  function itemsOf(claim) {
    return [
      { symbol: 'plus-lg', label: words.use, run: () => useNow(claim), disabled: !isCurrent(claim) },
      { symbol: claim.pinned ? 'pin-angle-fill' : 'pin-angle', label: claim.pinned ? words.unpin : words.pin, run: () => togglePin(claim) },
      {
        symbol: 'chat', label: page.isPinnedHere(claim.claim_id) ? words.unpinHere : words.pinHere, run: () => togglePinHere(claim),
        disabled: !page.conversationId(),
      },
      null,
      { symbol: 'at', label: words.copy, run: () => copyReference(claim) },
      ...(claim.source?.message_id ? [{ symbol: 'chat-square-text', label: words.openSource, run: () => openSource(claim) }] : []),
      null,
      { symbol: 'pencil', label: words.edit, run: () => edit(claim) },
      { symbol: 'folder', label: words.addToContext, run: () => addToContext(claim) },
      claim.status === 'retracted'
        ? { symbol: 'arrow-counterclockwise', label: words.restore, run: () => restore(claim) }
        : { symbol: 'trash', label: words.retract, run: () => retract(claim), danger: true },
    ];
  }

  return { useNow, togglePin, copyReference, edit, retract, fileUnder, openSource, itemsOf };
}
