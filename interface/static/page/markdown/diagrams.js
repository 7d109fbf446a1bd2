import { strings } from '../strings/en/conversation.js';
import { diagramFrame } from './libraries.js';
import { once } from '../ui/assets.js';
import { element } from '../ui/dom.js';

const PATIENCE_MS = 60_000;
/** A frame that has loaded says at once that it is ready, if its files have come. */
const READY_MS = 2000;

let frame = null;
let drawings = 0;
const waiting = new Map();
/** What diagrams are drawn by did not come. */
class FilesMissingError extends Error {}

/** The pictures that were drawn, of which none is held, and what redraws each. @type {Map<WeakRef<HTMLImageElement>, string>} */
const drawn = new Map();

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
  node.src = diagramFrame();
  const opened = { node, isReady: false };
  opened.ready = new Promise((resolve, reject) => {
    opened.becomeReady = () => {
      opened.isReady = true;
      resolve();
    };
    node.addEventListener('load', () => setTimeout(reject, READY_MS, new FilesMissingError()));
  });
  document.body.append(node);
  return opened;
}

/** A frame whose files did not come will never draw: the next diagram opens another one. */
function discardFailed(opened) {
  if (opened.isReady || frame !== opened) return;
  opened.node.remove();
  frame = null;
}

async function ask(source) {
  frame ??= openFrame();
  const asked = frame;
  drawings += 1;
  const id = drawings;
  const answer = new Promise((resolve, reject) => {
    const fail = (error) => {
      clearTimeout(timer);
      discardFailed(asked);
      reject(error);
    };
    const timer = setTimeout(() => fail(asked.isReady ? new Error('The diagram took too long.') : new FilesMissingError()), PATIENCE_MS);
    asked.ready.then(() => asked.node.contentWindow?.postMessage({ id, source, dark: isDark() }, '*'), fail);
    waiting.set(id, ({ svg, error }) => {
      clearTimeout(timer);
      if (typeof svg === 'string') resolve(svg);
      else reject(new Error(String(error)));
    });
  });
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

async function paint(picture, source) {
  const svg = await ask(source);
  sizeLike(picture, svg);
  picture.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  await picture.decode();
}

function remember(picture, source) {
  for (const reference of drawn.keys()) if (!reference.deref()) drawn.delete(reference);
  drawn.set(new WeakRef(picture), source);
}

/** Draws the shown diagrams again in the colours of the theme that was chosen. */
function repaint() {
  for (const [reference, source] of drawn) {
    const picture = reference.deref();
    // What can't be drawn again keeps its colours.
    if (picture?.isConnected) paint(picture, source).catch(() => {});
  }
}

/** Follows what frames answer, and the theme, from the first diagram on. */
const follow = once(async () => {
  addEventListener('message', onMessage);
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', repaint);
  new MutationObserver(repaint).observe(document.documentElement, { attributes: true, attributeFilter: ['data-theme'] });
});

const againButton = (failure, draw) => element('button', {
  type: 'button', class: 'btn btn-sm btn-quiet', text: strings.attempt.again, onclick: () => {
    failure.remove();
    draw();
  },
});

/**
 * Draws a diagram in a frame that can reach nothing, and shows it as a picture, in which no script runs. Its source is folded
 * below it.
 *
 * @param {HTMLElement} block
 * @param {string} source
 */
export async function drawDiagram(block, source) {
  try {
    follow();
    const code = block.querySelector('pre');
    const picture = element('img', { class: 'diagram', alt: strings.mermaid.alt });
    await paint(picture, source);
    remember(picture, source);
    block.classList.add('has-diagram');
    const folded = element('details', { class: 'diagram-source' }, element('summary', { text: strings.mermaid.source }));
    code.replaceWith(picture, folded);
    folded.append(code);
  } catch (error) {
    const failure = element('p', { class: 'diagram-failed', text: strings.mermaid.failed });
    block.append(failure);
    if (error instanceof FilesMissingError) failure.append(' ', againButton(failure, () => drawDiagram(block, source)));
  }
}
