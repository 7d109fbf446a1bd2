import { loadHighlighter, loadKatex } from './libraries.js';
import { codeHeader, frameTable, offerSource } from './code_tools.js';
import { element } from '../ui/dom.js';
import { drawDiagram } from './diagrams.js';
import { sanitisedSpans } from './render.js';

const LONGEST_HIGHLIGHTED = 100000;
const KATEX_OPTIONS = { throwOnError: false, trust: false, strict: 'ignore', maxExpand: 200, maxSize: 20 };

/**
 * A code block that grows: its text node takes what comes.
 *
 * @param {{language: string, code: string}} block
 * @returns {{node: HTMLElement, text: Text}}
 */
export function openCodeBlock({ language, code }) {
  const text = document.createTextNode(code);
  const inner = element('code', language ? { class: `language-${language}` } : {}, text);
  return { node: element('pre', {}, inner), text };
}

function languageOf(code) {
  return /(?:^|\s)language-(\S+)/.exec(code.className)?.[1] ?? '';
}

async function highlight(code, language) {
  const source = code.textContent;
  if (!language || source.length > LONGEST_HIGHLIGHTED) return;
  const highlighter = await loadHighlighter();
  if (!highlighter.getLanguage(language)) return;
  code.replaceChildren(sanitisedSpans(highlighter.highlight(source, { language, ignoreIllegals: true }).value));
}

function completeCode(pre) {
  const code = pre.firstElementChild;
  if (!code || pre.parentElement.classList.contains('code-block')) return;
  const language = languageOf(code);
  const frame = element('div', { class: 'code-block' });
  pre.replaceWith(frame);
  pre.tabIndex = 0;
  frame.append(codeHeader(frame, code, language), pre);
  if (language === 'mermaid') drawDiagram(frame, code.textContent);
  else highlight(code, language.toLowerCase()).catch(() => {});
}

async function completeMath(node) {
  const source = node.textContent;
  try {
    const katex = await loadKatex();
    katex.render(source, node, { ...KATEX_OPTIONS, displayMode: node.classList.contains('math-display') });
    offerSource(node, source);
  } catch {
    // The source stays readable as it was written.
    node.textContent = source;
    node.classList.add('math-failed');
  }
}

/**
 * Does what waits until a block is over: code gets its colours and its copy button, mathematics and diagrams are drawn.
 *
 * @param {HTMLElement} node
 */
export function completeBlock(node) {
  node.querySelectorAll('pre').forEach(completeCode);
  node.querySelectorAll('.math').forEach(completeMath);
  node.querySelectorAll('table').forEach(frameTable);
}
