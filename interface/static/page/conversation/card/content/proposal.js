import { excerpt } from '../../../core/words/excerpt.js';
import { strings } from '../../../strings/en/conversation.js';
import { element, inRow, replaceWithFocus, whenReleased } from '../../../ui/dom.js';

const LABEL_LENGTH = 100;

/** @param {string} kind @param {object} payload @returns {string} */
function wordsOf(kind, payload) {
  if (kind === 'tool_call') return strings.proposal.call(payload.tool);
  if (kind === 'memory') return strings.proposal.memory(payload.statement);
  const say = kind === 'document' ? strings.proposal.documents[payload.action] : undefined;
  return say ? say(payload.path, payload.new_path) : strings.proposal.other(kind);
}

/**
 * What a tool call proposes, under it, until the person has decided. What became of it elsewhere is asked once; the answer to a
 * decision says it too, also where another window was faster.
 *
 * @param {object} api
 * @returns {{node: HTMLElement, show: (proposal: object|undefined, how?: {isFresh?: boolean}) => void, renew: () => void}} `isFresh`: the
 *   server has just told what the proposal is; `renew` asks again
 */
export function createProposal(api) {
  const words = element('p', { class: 'message-proposal-text', dir: 'auto' });
  const diff = element('pre', { class: 'message-tool-data', dir: 'auto', tabindex: '0', hidden: true });
  const controls = element('div', { class: 'message-proposal-controls' });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const node = element('div', { class: 'message-proposal', hidden: true }, words, diff, controls, problem);
  const button = (text, onclick) => element('button', {
    type: 'button', class: 'btn btn-sm btn-quiet', text, ...inRow(text, excerpt(words.textContent, LABEL_LENGTH)), onclick,
  });
  let shown = null;
  let isDeciding = false;
  // What was asked before the first decision may come after its answer, and is older.
  let wasDecided = false;

  const isShown = (id) => shown?.proposal_id === id;

  function drawDiff(text) {
    diff.textContent = text ?? '';
    diff.hidden = !text;
  }

  function choicesOf(id, kind) {
    if (kind !== 'tool_call') return [button(strings.proposal.accept, () => decide(id, 'accept')), button(strings.proposal.decline, () => decide(id, 'decline'))];
    return [
      button(strings.proposal.allowOnce, () => decide(id, 'accept', { scope: 'once' })),
      button(strings.proposal.allowHere, () => decide(id, 'accept', { scope: 'conversation' })),
      button(strings.proposal.refuse, () => decide(id, 'decline')),
    ];
  }

  function draw({ proposal_id: id, kind, payload, state, diff: change }) {
    words.textContent = wordsOf(kind, payload);
    // Whoever agrees to a call has to see what is sent with it.
    drawDiff(kind === 'tool_call' ? JSON.stringify(payload.arguments, null, 2) : change);
    const states = kind === 'tool_call' ? strings.proposal.callStates : strings.proposal.states;
    replaceWithFocus(controls, ...(state === 'open' ? choicesOf(id, kind) : [element('p', { class: 'message-proposal-state', text: states[state] ?? state })]));
    node.dataset.state = state;
    node.hidden = false;
  }

  async function decide(id, how, body) {
    if (isDeciding) return;
    isDeciding = wasDecided = true;
    problem.hidden = true;
    try {
      const answer = await api.post(`/api/proposals/${encodeURIComponent(id)}/${how}`, body);
      if (isShown(id)) draw(answer.proposal ?? answer);
    } catch (error) {
      if (!isShown(id)) return;
      const { state, diff: change } = error.details ?? {};
      // The document was changed meanwhile: the next decision is on what the proposal does now.
      if (change !== undefined) {
        shown = { ...shown, diff: change };
        drawDiff(change);
      }
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

  async function renew() {
    const { proposal_id: id } = shown;
    try {
      const now = await api.get(`/api/proposals/${encodeURIComponent(id)}`, {}, { quiet: true });
      await whenReleased();
      if (wasDecided || !isShown(id) || node.dataset.state !== 'open') return;
      shown = now;
      draw(now);
    } catch {
      // Without an answer it stays open here; deciding says what became of it.
    }
  }

  function show(proposal, { isFresh = false } = {}) {
    if (!proposal) {
      // The call that waited for a decision goes on, maybe before the answer to that decision is here.
      shown = null;
      node.hidden = true;
    }
    if (!proposal || isShown(proposal.proposal_id)) return;
    shown = proposal;
    draw(proposal);
    if (!isFresh) renew();
  }

  return { node, show, renew };
}
