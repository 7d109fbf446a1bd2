/**
 * Where the code of a Markdown text stands: what is code is quoted, and no reference is read in it.
 * Linear in the text; the same as `markdown_code.py` on the server.
 */

const LINE = /[^\r\n]*(?:\r\n?|\n)?/g;
// Fences stand in quotes and lists too; how deep a list indents them is not looked at.
const FENCE_OPENS = /^(?:[ \t>]|[-*+][ \t]|[0-9]{1,9}[.)][ \t])*(?:(`{3,})[^`\r\n]*|(~{3,})[^\r\n]*)[\r\n]*$/;
const FENCE_CLOSES = /^[ \t>]*(`{3,}|~{3,})[ \t]*[\r\n]*$/;
const QUOTED = /^[ \t]*>/;
const BLANK = /^[ \t>]*[\r\n]*$/;
const BACKTICKS = /(?<!\\)(\\*)(`+)/g;

/**
 * Start and end of each fenced block and code span, in order; an unclosed fence reaches to the end.
 *
 * @param {string} text
 * @returns {Generator<[number, number]>}
 */
export function* codeRanges(text) {
  let fence = null;
  let paragraphStart = 0;
  for (const { 0: line, index: start } of text.matchAll(LINE)) {
    const end = start + line.length;
    if (fence?.isQuoted && !QUOTED.test(line)) {
      yield [fence.start, start];
      fence = null;
      paragraphStart = start;
    }
    if (fence) {
      if (isClosed(fence, line)) {
        yield [fence.start, end];
        fence = null;
        paragraphStart = end;
      }
      continue;
    }
    fence = openFence(line, start);
    if (fence || BLANK.test(line)) {
      yield* spans(text, paragraphStart, start);
      paragraphStart = end;
    }
  }
  if (fence) yield [fence.start, text.length];
  else yield* spans(text, paragraphStart, text.length);
}

function openFence(line, start) {
  const opens = FENCE_OPENS.exec(line);
  return opens && { start, marker: opens[1] ?? opens[2], isQuoted: QUOTED.test(line) };
}

function isClosed(fence, line) {
  return FENCE_CLOSES.exec(line)?.[1].startsWith(fence.marker) ?? false;
}

/** Spans between runs of equally many backticks in one paragraph; a run without a partner is plain text. */
function* spans(text, start, end) {
  const runs = [...text.slice(start, end).matchAll(BACKTICKS)];
  const partners = new Map();
  for (let index = runs.length - 1; index >= 0; index -= 1) {
    const { length } = runs[index][2];
    if (!partners.has(length)) partners.set(length, []);
    partners.get(length).push(index);
  }
  for (let index = 0; index < runs.length; index += 1) {
    const run = runs[index];
    // A backslash makes one backtick plain where code could begin; within code it means nothing.
    const escaped = run[1].length % 2;
    const candidates = partners.get(run[2].length - escaped) ?? [];
    while (candidates.length && candidates.at(-1) <= index) candidates.pop();
    if (candidates.length) {
      index = candidates.at(-1);
      yield [start + run.index + run[1].length + escaped, start + runs[index].index + runs[index][0].length];
    }
  }
}
