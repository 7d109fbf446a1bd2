import { cutsOf, cutText, inReadingOrder, lengthOf, ordered, textPart } from './parts_model.js';
import { kindOf } from './part_kinds.js';

const isInline = (part) => kindOf(part).inline;

/**
 * What a message says: its words, and its parts where they stand among or below them. The words can also come piece by
 * piece; what stands there already keeps its nodes.
 */
export class MessageContent {
  #container;
  #context;
  /** @type {Map<string|number, {part: object, view: import('./part_kinds.js').PartView}>} by the part's id */
  #shown = new Map();
  #cuts = [];
  /** How many code points of an answer that is being written have come. */
  #length = 0;

  /**
   * @param {HTMLElement} container which the content fills
   * @param {object} context what views of parts share: `api`, `typed` (a person typed the words, so that line ends count) and
   *   `decorate(node, raw)`, called with each block of words that is over
   */
  constructor(container, context) {
    this.#container = container;
    this.#context = context;
  }

  /** Shows a whole message. */
  show(text, parts) {
    this.#arrange(inReadingOrder(text, parts, isInline));
  }

  /** An answer begins (again): its words come piece by piece, those of before stand there until they do. */
  begin(text, parts) {
    this.#length = 0;
    this.#arrange([textPart(0)]);
    this.#textFrom(0).begin();
    this.showParts(parts);
    this.append(text);
  }

  /** The parts of an answer that is being written. */
  showParts(parts) {
    this.#cuts = cutsOf(parts.filter(isInline));
    this.#arrange(ordered(this.#texts(), parts, isInline));
  }

  append(text) {
    if (!text) return;
    for (const piece of cutText(text, this.#length, this.#cuts)) this.#textFrom(piece.at).append(piece.text);
    this.#length += lengthOf(text);
  }

  /** The answer is whole. */
  finish() {
    for (const { view } of this.#shown.values()) view.finish?.();
  }

  /** Draws the words again: what is known of their references changed. */
  redraw() {
    for (const { view } of this.#shown.values()) view.redraw?.();
  }

  close() {
    for (const { view } of this.#shown.values()) view.close?.();
  }

  #texts() {
    return [...this.#shown.values()].map(({ part }) => part).filter(({ kind }) => kind === 'text').map(({ at }) => textPart(at));
  }

  /** The view of the words from code point `at` on. */
  #textFrom(at) {
    const { id } = textPart(at);
    if (!this.#shown.has(id)) {
      const others = [...this.#shown.values()].map(({ part }) => part).filter(({ kind }) => kind !== 'text');
      this.#arrange(ordered([...this.#texts(), textPart(at)], others, isInline));
    }
    return this.#shown.get(id).view;
  }

  /** Makes the views of these parts, in this order, what the container holds. */
  #arrange(parts) {
    const wanted = new Set(parts.map(({ id }) => id));
    for (const [id, { view }] of this.#shown) {
      if (wanted.has(id)) continue;
      view.close?.();
      view.node.remove();
      this.#shown.delete(id);
    }
    parts.forEach((part, place) => {
      const { node } = this.#updated(part);
      if (this.#container.children[place] !== node) this.#container.insertBefore(node, this.#container.children[place] ?? null);
    });
  }

  #updated(part) {
    const known = this.#shown.get(part.id);
    if (known?.part === part) return known.view;
    const isSameKind = known?.part.kind === part.kind;
    const view = isSameKind ? known.view : kindOf(part).create(part, this.#context);
    if (known && !isSameKind) known.view.node.replaceWith(view.node);
    this.#shown.set(part.id, { part, view });
    view.update(part);
    return view;
  }
}
