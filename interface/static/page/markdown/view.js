import { BlockStream } from './block_stream_model.js';
import { completeBlock, openCodeBlock } from './blocks.js';
import { createRenderer } from './render.js';
import { element } from '../ui/dom.js';

const SHORTEST_PAUSE_MS = 50;
const COST_FACTOR = 3;

const renderers = { answer: createRenderer(), question: createRenderer({ breaks: true }) };

/** A code block that is not over yet, or was over before a lexer saw it whole. */
function openBlock(block) {
  const code = openCodeBlock(block);
  block.fresh = '';
  return { node: element('div', { class: 'md-block' }, code.node), code };
}

/**
 * Markdown in the page, also while it is being written: a block that is over keeps its nodes, the last one is drawn again
 * at most every 50 ms and never for more than a quarter of the time.
 */
export class MarkdownView {
  #renderer;
  #stream;
  #blocks = [];
  #timer = null;
  #cost = 0;
  #decorate;

  /**
   * @param {HTMLElement} container which the view fills
   * @param {{typed?: boolean, decorate?: (node: HTMLElement, raw: string) => void}} [options] `typed`: a person typed the
   *   text, so that line ends count; `decorate` is called with each block that is over
   */
  constructor(container, { typed = false, decorate = () => {} } = {}) {
    this.container = container;
    this.#renderer = typed ? renderers.question : renderers.answer;
    this.#decorate = decorate;
    this.#stream = new BlockStream(this.#renderer.lex);
  }

  /** @param {string} text more of it */
  append(text) {
    this.#stream.append(text);
    this.#timer ??= setTimeout(() => this.#draw(), Math.max(SHORTEST_PAUSE_MS, COST_FACTOR * this.#cost));
  }

  /** The text is whole: everything is drawn as it stays. */
  finish() {
    this.#cancel();
    this.#reconcile(this.#stream.finish(), { whole: true });
  }

  /** @param {string} text a whole text in the place of what was there */
  setText(text) {
    this.#cancel();
    this.#stream = new BlockStream(this.#renderer.lex);
    this.#stream.append(text);
    this.finish();
  }

  /** Forgets what is there, for a text that comes again from its beginning. */
  restart() {
    this.#cancel();
    this.#stream = new BlockStream(this.#renderer.lex);
  }

  /** Takes everything away. */
  clear() {
    this.restart();
    this.#blocks = [];
    this.container.replaceChildren();
  }

  close() {
    this.#cancel();
  }

  #cancel() {
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  #draw() {
    const begun = performance.now();
    this.#timer = null;
    this.#reconcile(this.#stream.update(), { whole: false });
    this.#cost = performance.now() - begun;
  }

  #reconcile({ start, blocks }, { whole }) {
    const drawn = this.#drawAll(blocks.filter((block, offset) => !this.#shownStill(start + offset, block)));
    blocks.forEach((block, offset) => {
      const position = start + offset;
      const over = whole || offset < blocks.length - 1;
      if (drawn.has(block)) this.#put(position, block, drawn.get(block), over);
      else this.#keep(this.#blocks[position], block, over);
    });
    for (const surplus of this.#blocks.splice(start + blocks.length)) surplus.node.remove();
  }

  /** Elements for blocks that are new or different. */
  #drawAll(blocks) {
    const known = blocks.filter((block) => block.token);
    const nodes = this.#renderer.render(known.map((block) => block.token));
    const drawn = new Map(known.map((block, i) => [block, { node: nodes[i], code: null }]));
    for (const block of blocks) if (!block.token) drawn.set(block, openBlock(block));
    return drawn;
  }

  #shownStill(position, block) {
    const shown = this.#blocks[position];
    if (!shown) return false;
    if (shown.block === block) return true;
    if (shown.type !== block.type) return false;
    if (shown.code) return !block.open && block.token?.text === shown.code.text.data;
    const sameLinks = shown.links === this.#stream.linkState || !block.raw.includes('[');
    return shown.raw === block.raw && sameLinks;
  }

  #keep(shown, block, over) {
    if (shown.code && shown.block === block && block.fresh) {
      shown.code.text.appendData(block.fresh);
      block.fresh = '';
    }
    shown.raw = block.raw;
    if (over && !shown.over) this.#complete(shown);
  }

  #put(position, block, { node, code }, over) {
    const shown = { block, node, code, raw: block.raw, type: block.type, links: this.#stream.linkState, over: false };
    const old = this.#blocks[position]?.node;
    if (old) old.replaceWith(node);
    else this.container.append(node);
    this.#blocks[position] = shown;
    if (over) this.#complete(shown);
  }

  #complete(shown) {
    shown.over = true;
    completeBlock(shown.node);
    this.#decorate(shown.node, shown.raw);
  }
}
