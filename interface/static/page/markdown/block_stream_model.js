/**
 * Splitting a growing Markdown text into blocks, at a cost that depends on what is new and not on what is there.
 *
 * A block is `{type, raw, token}`; while a code fence at the top level is open, its block is
 * `{type: 'code', open: true, language, code, fresh}`, the same object in every update, `fresh` being what was added.
 */

const OPEN_FENCE = /^(`{3,}|~{3,})([^\n]*)\n/;

/** What closes a fence, and what may become it, at the beginning of the code and after a line of it. */
function fencePatterns(fence) {
  const patterns = (before) => ({
    closing: new RegExp(`${before} {0,3}${fence}[~\`]* *(?=\\n)`),
    heldBack: new RegExp(`${before} {0,3}(?:\`*|~*) *$`),
  });
  return { first: patterns('(?:^|\\n)'), later: patterns('\\n') };
}

const withoutLineEnds = (raw) => raw.replace(/\n+$/, '');

export class BlockStream {
  #lex;
  #all = '';
  #tail = '';
  #settled = [];
  #links = Object.create(null);
  #linkState = '{}';
  #fence = null;
  #endedInReturn = false;

  /**
   * @param {(text: string, links: object) => Array<{type: string, raw: string}>} lex block tokens of a text; `links` holds
   *   the link definitions known so far and takes up those that are found
   */
  constructor(lex) {
    this.#lex = lex;
  }

  /** What the links were that the last update or the end was made with: where it differs, a text may read differently. */
  get linkState() {
    return this.#linkState;
  }

  /** @param {string} text what comes after all that was appended before */
  append(text) {
    const joined = this.#endedInReturn && text.startsWith('\n') ? text.slice(1) : text;
    this.#endedInReturn = text.endsWith('\r');
    const normal = joined.includes('\r') ? joined.replace(/\r\n?/g, '\n') : joined;
    this.#all += normal;
    this.#tail += normal;
  }

  /**
   * @returns {{start: number, blocks: object[]}} from the block number `start` on, the text now consists of `blocks`;
   *   those before are as they were
   */
  update() {
    const start = this.#settled.length;
    if (this.#fence && !this.#growFence()) return { start, blocks: [this.#fence.block] };
    const open = this.#lexTail();
    return { start, blocks: [...this.#settled.slice(start), ...open] };
  }

  /** The blocks of the whole text, as the lexer sees them at once: the end of the matter. */
  finish() {
    this.#fence = null;
    this.#links = Object.create(null);
    this.#settled = this.#blocks(this.#lex(this.#all, this.#links));
    this.#linkState = JSON.stringify(this.#links);
    this.#tail = '';
    return { start: 0, blocks: this.#settled };
  }

  #blocks(tokens) {
    return tokens
      .filter((token) => token.type !== 'space' && token.type !== 'def')
      .map((token) => ({ type: token.type, raw: withoutLineEnds(token.raw), token }));
  }

  #lexTail() {
    // A definition may have only begun: what it defines holds for now alone.
    const links = Object.assign(Object.create(null), this.#links);
    const tokens = this.#lex(this.#tail, links);
    this.#linkState = JSON.stringify(links);
    const last = tokens.findLastIndex((token) => token.type !== 'space');
    if (last < 0) return [];
    const before = tokens.slice(0, last);
    const lead = before.reduce((length, token) => length + token.raw.length, 0);
    const rest = this.#tail.slice(lead);
    const whole = before.map((token) => token.raw).join('') === this.#tail.slice(0, lead);
    // A block is over when the first line of the next one is complete: until then that line may still join it.
    if (whole && rest.includes('\n')) {
      this.#settled.push(...this.#blocks(before));
      if (lead > 0 && this.#linkState !== JSON.stringify(this.#links)) this.#lex(this.#tail.slice(0, lead), this.#links);
      this.#tail = rest;
      return this.#openBlocks(tokens.slice(last));
    }
    return this.#blocks(tokens);
  }

  #openBlocks(tokens) {
    const opening = tokens[0].type === 'code' && tokens[0].codeBlockStyle !== 'indented' && OPEN_FENCE.exec(this.#tail);
    if (!opening) return this.#blocks(tokens);
    const [line, fence, info] = opening;
    const rest = this.#tail.slice(line.length);
    const patterns = fencePatterns(fence);
    if (patterns.first.closing.test(`${rest}\n`)) return this.#blocks(tokens);
    const block = { type: 'code', open: true, language: info.trim().split(/\s+/)[0], raw: line, code: '', fresh: '' };
    this.#fence = { block, patterns, started: false };
    this.#tail = rest;
    this.#growFence();
    return [block];
  }

  /** Takes up what arrived inside the open fence; true when the fence was closed. */
  #growFence() {
    const { block, patterns, started } = this.#fence;
    const { closing, heldBack } = started ? patterns.later : patterns.first;
    const closed = closing.exec(this.#tail);
    if (!closed) {
      const held = heldBack.exec(this.#tail);
      this.#take(held ? held.index : this.#tail.length);
      return false;
    }
    this.#take(closed.index);
    block.raw += block.code + closed[0];
    block.open = false;
    this.#settled.push(block);
    this.#tail = this.#tail.slice(closed[0].length);
    this.#fence = null;
    return true;
  }

  /** Moves the first `length` characters of the tail into the open code block. */
  #take(length) {
    const { block } = this.#fence;
    block.fresh = this.#tail.slice(0, length);
    block.code += block.fresh;
    this.#tail = this.#tail.slice(length);
    if (length > 0) this.#fence.started = true;
  }
}
