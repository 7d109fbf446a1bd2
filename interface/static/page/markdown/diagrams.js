import { strings } from '../strings/en/conversation.js';
import { MERMAID_FRAME } from './libraries.js';
import { element } from '../ui/dom.js';

const PATIENCE_MS = 20000;

let frame = null;
let drawings = 0;
const waiting = new Map();

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
}

function onMessage(event) {
  // The frame has an opaque origin: the window it comes from is what identifies it.
  if (!frame || event.source !== frame.node.contentWindow) return;
  if (event.data?.ready) frame.becomeReady();
  else waiting.get(event.data?.id)?.(event.data);
}

function openFrame() {
  const node = element('iframe', { class: 'diagram-frame', sandbox: 'allow-scripts', 'aria-hidden': 'true', tabindex: '-1' });
  node.src = MERMAID_FRAME;
  const opened = { node };
  opened.ready = new Promise((resolve) => {
    opened.becomeReady = resolve;
  });
  addEventListener('message', onMessage);
  document.body.append(node);
  return opened;
}

async function ask(source) {
  frame ??= openFrame();
  drawings += 1;
  const id = drawings;
  const answer = new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('The diagram took too long.')), PATIENCE_MS);
    waiting.set(id, ({ svg, error }) => {
      clearTimeout(timer);
      if (typeof svg === 'string') resolve(svg);
      else reject(new Error(String(error)));
    });
  });
  frame.ready.then(() => frame.node.contentWindow.postMessage({ id, source, dark: isDark() }, '*'));
  try {
    return await answer;
  } finally {
    waiting.delete(id);
  }
}

/** Gives a picture the size that the drawing has of itself: a drawing alone would fill all the room there is. */
function sizeLike(picture, svg) {
  const [, , width, height] = (/viewBox="([^"]*)"/.exec(svg)?.[1] ?? '').split(/[\s,]+/).map(Number);
  if (!(width > 0 && height > 0)) return;
  picture.width = Math.ceil(width);
  picture.height = Math.ceil(height);
}

/**
 * Draws a diagram below its source: in a frame that can reach nothing, and shown as a picture, in which no script runs.
 *
 * @param {HTMLElement} block
 * @param {string} source
 */
export async function drawDiagram(block, source) {
  try {
    const svg = await ask(source);
    const picture = element('img', { class: 'diagram', alt: strings.mermaid.alt });
    sizeLike(picture, svg);
    picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
    await picture.decode();
    block.classList.add('has-diagram');
    block.append(picture);
  } catch {
    block.append(element('p', { class: 'diagram-failed', text: strings.mermaid.failed }));
  }
}
