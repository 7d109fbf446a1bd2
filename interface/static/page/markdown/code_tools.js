import { strings } from '../strings/en/conversation.js';
import { copyAndSay } from '../ui/copy_fallbacks.js';
import { element } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { csvOf, fileNameOf, isPreviewed } from './code_model.js';
import { previewFrame } from './libraries.js';

const words = strings.code;

/** A button that copies what `text` gives, and says so. */
function copyButton(label, text, name = '') {
  const said = element('span', { text: label });
  return element('button', { type: 'button', class: `code-tool ${name}`, onclick: () => copyAndSay(text(), said, strings.copy.copied) }, said);
}

function download(text, name) {
  const address = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
  element('a', { href: address, download: name }).click();
  // The browser reads it after this call.
  setTimeout(() => URL.revokeObjectURL(address), 0);
}

/** HTML or SVG in a frame that runs none of its scripts and reaches nothing, by a policy of its own. */
function previewOf(source) {
  const shown = element('iframe', { class: 'code-preview', sandbox: 'allow-scripts', title: words.previewTitle, src: previewFrame() });
  const answer = (event) => {
    // The frame has an opaque origin: the window it comes from is what identifies it.
    if (event.source !== shown.contentWindow || !event.data?.ready) return;
    removeEventListener('message', answer);
    shown.contentWindow.postMessage({ source }, '*');
  };
  addEventListener('message', answer);
  return shown;
}

function createPreview(frame, source) {
  let shown = null;
  const button = element('button', { type: 'button', class: 'code-tool', 'aria-pressed': 'false', text: words.preview });
  button.addEventListener('click', () => {
    shown?.remove();
    shown = shown ? null : previewOf(source());
    if (shown) frame.append(shown);
    button.setAttribute('aria-pressed', String(Boolean(shown)));
  });
  return button;
}

function createWrap(frame) {
  const button = element('button', { type: 'button', class: 'code-tool', 'aria-pressed': 'false', text: words.wrap });
  button.addEventListener('click', () => button.setAttribute('aria-pressed', String(frame.classList.toggle('wrapped'))));
  return button;
}

/**
 * The head of a code block: its language, and what can be done with it.
 *
 * @param {HTMLElement} frame
 * @param {HTMLElement} code
 * @param {string} language
 */
export function codeHeader(frame, code, language) {
  const source = () => code.textContent;
  return element('div', { class: 'code-header' },
    element('span', { class: 'code-language', text: language }),
    element('span', { class: 'code-tools' },
      isPreviewed(language) ? createPreview(frame, source) : null,
      createWrap(frame),
      element('button', { type: 'button', class: 'code-tool', text: words.download, onclick: () => download(source(), fileNameOf(language)) }),
      copyButton(strings.copy.code, source, 'code-copy')));
}

/** Lets a table be scrolled, and copied as CSV. */
export function frameTable(table) {
  const scroller = element('div', { class: 'table-scroller', tabindex: '0' });
  const cells = () => [...table.rows].map((row) => [...row.cells].map((cell) => cell.textContent.trim()));
  const frame = element('div', { class: 'table-frame' }, scroller, copyButton(words.csv, () => csvOf(cells())));
  frame.lastElementChild.prepend(icon('copy'));
  table.replaceWith(frame);
  scroller.append(table);
}

/**
 * A formula that stands alone gets a button that copies its source.
 *
 * @param {HTMLElement} node
 * @param {string} source
 */
export function offerSource(node, source) {
  if (node.classList.contains('math-display')) node.append(copyButton(words.latex, () => source));
}
