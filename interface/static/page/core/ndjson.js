import { bringWordsFor } from './words/said.js';

/**
 * Turns chunks of text into the JSON values of their complete lines. Blank lines and lines that are no JSON are left out.
 *
 * @param {(value: any, line: string) => void} onValue
 * @returns {{push: (chunk: string) => void, end: () => void}} `end` hands over a last line that has no line end.
 */
export function createLineParser(onValue) {
  let rest = '';

  function take(line) {
    if (line.trim() === '') return;
    let value;
    try {
      value = JSON.parse(line);
    } catch {
      // A line that a broken connection cut in half; what it said comes again when the stream is resumed.
      return;
    }
    onValue(value, line);
  }

  return {
    push(chunk) {
      const lines = (rest + chunk).split('\n');
      rest = lines.pop();
      lines.forEach(take);
    },
    end() {
      take(rest);
      rest = '';
    },
  };
}

/** Longer than the server ever stays silent: it sends a line at least every 15 s. */
const STALLED_AFTER_MS = 45000;

/** Nothing came for so long that the connection must be dead, though nobody said so (a laptop that slept). */
export class StalledError extends Error {
  constructor() {
    super('The connection fell silent.');
    this.name = 'StalledError';
  }
}

async function readInTime(reader, milliseconds) {
  let timer;
  const stalled = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new StalledError()), milliseconds);
  });
  try {
    return await Promise.race([reader.read(), stalled]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * The JSON values of an NDJSON body, in batches: what one network chunk brought comes together, once the page has the words for
 * what the server says in it.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {{stalledAfter?: number}} [options] milliseconds of silence that mean a dead connection
 * @returns {AsyncGenerator<any[]>}
 * @throws {StalledError}
 */
export async function* ndjsonBatches(body, { stalledAfter = STALLED_AFTER_MS } = {}) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let batch = [];
  let lines = '';
  const parser = createLineParser((value, line) => {
    batch.push(value);
    lines += line;
  });
  const hasBatch = async () => {
    await bringWordsFor(lines);
    lines = '';
    return batch.length > 0;
  };
  try {
    for (;;) {
      const { done, value } = await readInTime(reader, stalledAfter);
      if (done) break;
      parser.push(decoder.decode(value, { stream: true }));
      if (await hasBatch()) yield batch;
      batch = [];
    }
    parser.push(decoder.decode());
    parser.end();
    if (await hasBatch()) yield batch;
  } finally {
    await reader.cancel().catch(() => {});
  }
}
