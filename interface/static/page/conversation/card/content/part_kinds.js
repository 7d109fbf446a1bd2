import { errorText } from '../../../core/api.js';
import { createFile } from './files.js';
import { createProposal } from './proposal.js';
import { saidText } from '../../../core/words/said.js';
import { number } from '../../../strings/en/count.js';
import { strings } from '../../../strings/en/conversation.js';
import { element } from '../../../ui/dom.js';
import { MarkdownView } from '../../../markdown/view.js';

/**
 * How a kind of part is shown.
 *
 * @typedef {object} PartView
 * @property {HTMLElement} node
 * @property {(part: object) => void} update shows what the part is now; called once at the beginning
 * @property {() => void} [close] the part is not shown any more
 *
 * @typedef {object} PartKind
 * @property {boolean} inline it stands among the words, where it came; else below them
 * @property {(part: object, context: object) => PartView} create `context`: see `MessageContent`
 */

/** @type {Map<string, PartKind>} */
const kinds = new Map();

/**
 * @param {string} name the `kind` of such parts
 * @param {PartKind} kind
 */
export function registerPart(name, kind) {
  kinds.set(name, kind);
}

/** @param {object} part @returns {PartKind} the kind of a part; one that says what it is where nobody knows the kind */
export function kindOf(part) {
  return kinds.get(part.kind) ?? UNKNOWN;
}

const UNKNOWN = {
  inline: false,
  create: () => {
    const node = element('p', { class: 'message-notice', dir: 'auto' });
    return {
      node,
      update({ kind, name }) {
        node.textContent = strings.parts.other(kind, name ?? '');
      },
    };
  },
};

/** The words of a message. They can also come piece by piece: `begin`, `append`, `finish`. */
function createText(_part, { typed, decorate }) {
  const node = element('div', { class: 'message-body markdown' });
  const view = new MarkdownView(node, { typed, decorate });
  let shown = null;
  let isWhole = false;

  function show(text) {
    view.setText(text);
    shown = text;
    isWhole = true;
  }

  function finish() {
    if (shown !== null) view.finish();
    isWhole = true;
  }

  return {
    node,
    update({ text }) {
      // Words that are being written come by `append`.
      if (text === undefined) return;
      if (text !== shown) show(text);
      else if (!isWhole) finish();
    },
    begin() {
      view.restart();
      shown = '';
      isWhole = false;
    },
    append(text) {
      shown = (shown ?? '') + text;
      isWhole = false;
      view.append(text);
    },
    finish,
    redraw() {
      view.clear();
      show(shown ?? '');
    },
    close: () => view.close(),
  };
}

/** What the model thought, folded. It is shown as it is, not as Markdown. */
function createThinking() {
  const thought = document.createTextNode('');
  const node = element('details', { class: 'message-thinking' },
    element('summary', { text: strings.parts.thinking }), element('p', { class: 'message-thought', dir: 'auto' }, thought));
  return {
    node,
    update({ text = '' }) {
      if (text.startsWith(thought.data)) thought.appendData(text.slice(thought.length));
      else thought.data = text;
    },
  };
}

function createNotice() {
  const node = element('p', { class: 'message-notice', dir: 'auto' });
  return {
    node,
    update({ text, said }) {
      node.textContent = strings.parts.notice(saidText(text, said));
    },
  };
}

/**
 * A tool that the model called: what became of it, and folded what it was given and what it found. Neither is Markdown: it
 * may be anybody's text. What it proposes stands below. A call that nobody ended, when the answer is over, was stopped with it.
 */
function createToolCall(_part, { api }) {
  const summary = element('summary');
  const data = element('pre', { class: 'message-tool-data', dir: 'auto', tabindex: '0' });
  const folded = element('details', { class: 'message-tool' }, summary, data);
  const failure = element('p', { class: 'message-tool-failure', dir: 'auto', hidden: true });
  const proposal = createProposal(api);
  const node = element('div', { class: 'message-tool-call' }, folded, failure, proposal.node);
  let call = {};

  function draw() {
    const { name, status, seconds, arguments: given, result } = call;
    folded.dataset.status = status;
    summary.textContent = strings.parts.tool(name, strings.parts.toolStates[status] ?? status, seconds ? number(seconds) : '');
    const error = status === 'failed' ? call.result?.error : null;
    failure.textContent = error ? errorText({ ...error, said: call.said }) : '';
    failure.hidden = !failure.textContent;
    // A long result is laid out only for those who look at it.
    data.textContent = folded.open ? strings.parts.toolData(JSON.stringify(given ?? {}, null, 2), JSON.stringify(result ?? null, null, 2)) : '';
  }

  folded.addEventListener('toggle', draw);
  return {
    node,
    update(part) {
      call = part;
      draw();
      // A call that waits for consent has it in its error.
      proposal.show(part.result?.proposal ?? part.result?.error?.proposal);
    },
    finish() {
      if (call.status !== 'running') return;
      call = { ...call, status: 'cancelled' };
      draw();
    },
  };
}

registerPart('tool_call', { inline: true, create: createToolCall });
registerPart('text', { inline: true, create: createText });
registerPart('thinking', { inline: true, create: createThinking });
registerPart('notice', { inline: false, create: createNotice });
registerPart('file', { inline: false, create: createFile });
registerPart('image', { inline: false, create: createFile });
