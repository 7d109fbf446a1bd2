/** The proposals that wait for the person, each to be accepted or declined. Loaded when it is opened. */

import { createProposal } from '../conversation/card/content/proposal.js';
import { proposalStrings as words } from '../strings/en/proposals.js';
import { shortTime } from '../core/words/times.js';
import { openDialog } from '../ui/controls/dialog.js';
import { element } from '../ui/dom.js';
import { addPanelStyle } from '../ui/panel_style.js';

/** As many as can be open. */
const MOST = 500;

/** Who proposed it: an agent, the answer of a model, or a program. */
function sourceOf({ agent_id: agentId, message_id: messageId, token }) {
  if (agentId) return words.from.agent;
  if (messageId) return words.from.answer;
  return token ? words.from.token(token) : words.from.program;
}

/** The rows of a list of proposals, by their ids. @param {object} api */
function createRows(api) {
  const cards = new Map();
  const none = element('p', { class: 'dialog-text', text: words.none });
  const list = element('ul', { class: 'proposal-list' });

  function add(proposal, put = (row) => list.append(row)) {
    if (cards.has(proposal.proposal_id)) return;
    const card = createProposal(api);
    cards.set(proposal.proposal_id, card);
    card.show(proposal, { isFresh: true });
    put(element('li', {}, element('p', { class: 'proposal-source', text: words.about(sourceOf(proposal.source), shortTime(proposal.created_at)) }), card.node));
    none.hidden = true;
  }

  /** A proposal came, or became something else. */
  async function renew(id) {
    if (cards.has(id)) {
      cards.get(id).renew();
      return;
    }
    const proposal = await api.get(`/api/proposals/${encodeURIComponent(id)}`, {}, { quiet: true }).catch(() => null);
    if (proposal?.state === 'open') add(proposal, (row) => list.prepend(row));
  }

  return { nodes: [none, list], add, renew };
}

/**
 * Shows the open proposals; those that come while the dialog is open appear in it, those that are decided elsewhere say so.
 *
 * @param {{api: object, store: object}} page
 * @returns {Promise<void>} ends when the dialog is closed
 */
export async function openProposals({ api, store }) {
  const rows = createRows(api);
  const meanwhile = [];
  let tell = (id) => meanwhile.push(id);
  const stop = store.subscribe(({ told }) => told.filter(({ kind }) => kind === 'proposal').forEach(({ id }) => tell(id)));
  try {
    const [open] = await Promise.all([api.get('/api/proposals', { limit: MOST }), addPanelStyle('proposals/proposals')]);
    open.forEach((proposal) => rows.add(proposal));
    tell = rows.renew;
    meanwhile.forEach(tell);
    const close = element('button', { type: 'submit', class: 'btn btn-quiet', text: words.close });
    const dialog = openDialog({ title: words.title, content: rows.nodes, buttons: [close], className: 'proposals-dialog', onSubmit: () => dialog.close() });
    await dialog.closed;
  } finally {
    stop();
  }
}
