import { strings } from '../../strings/en/conversation.js';
import { element, replaceWithFocus } from '../../ui/dom.js';

/**
 * What a tool call proposes, under it, until the person has decided. What became of it elsewhere is asked once; the answer to a
 * decision says it too, also where another window was faster.
 *
 * @param {object} api
 * @returns {{node: HTMLElement, show: (proposal: object|undefined) => void}}
 */
export function createProposal(api) {
  const words = element('p', { class: 'message-proposal-text', dir: 'auto' });
  const controls = element('div', { class: 'message-proposal-controls' });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const node = element('div', { class: 'message-proposal', hidden: true }, words, controls, problem);
  const button = (text, onclick) => element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text, onclick });
  let shown = null;
  let isDeciding = false;

  function draw({ proposal_id: id, kind, payload, state }) {
    words.textContent = kind === 'memory' ? strings.proposal.memory(payload.statement) : strings.proposal.other(kind);
    const choices = [button(strings.proposal.accept, () => decide(id, 'accept')), button(strings.proposal.decline, () => decide(id, 'decline'))];
    replaceWithFocus(controls, ...(state === 'open' ? choices : [element('p', { class: 'message-proposal-state', text: strings.proposal.states[state] ?? state })]));
    node.dataset.state = state;
    node.hidden = false;
  }

  async function decide(id, how) {
    if (isDeciding) return;
    isDeciding = true;
    problem.hidden = true;
    try {
      const answer = await api.post(`/api/proposals/${encodeURIComponent(id)}/${how}`);
      draw(answer.proposal ?? answer);
    } catch (error) {
      const { state } = error.details ?? {};
      if (state) {
        draw({ ...shown, state });
      } else {
        problem.textContent = strings.proposal.failed(error.message);
        problem.hidden = false;
      }
    } finally {
      isDeciding = false;
    }
  }

  async function renew(id) {
    try {
      const now = await api.get(`/api/proposals/${encodeURIComponent(id)}`, {}, { quiet: true });
      if (!isDeciding && node.dataset.state === 'open') draw(now);
    } catch {
      // Without an answer it stays open here; deciding says what became of it.
    }
  }

  function show(proposal) {
    if (!proposal || proposal.proposal_id === shown?.proposal_id) return;
    shown = proposal;
    draw(proposal);
    renew(proposal.proposal_id);
  }

  return { node, show };
}
