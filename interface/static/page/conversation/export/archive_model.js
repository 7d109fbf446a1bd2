/** The archive of an account while it comes: how far it is, and whether it is whole. */

const MEMBER = [0x50, 0x4b, 0x03, 0x04];
const END = [0x50, 0x4b, 0x05, 0x06];
const END_BYTES = 22;
const NAME_LENGTH_AT = 26;
const NAME_AT = 30;
const CONVERSATION = /^conversations\/[^/]+\.json$/;
/** So many bytes at once become a blob, which the browser may keep on the disk. */
const BLOB_BYTES = 8 * 1024 * 1024;

const startsWith = (bytes, at, signature) => signature.every((byte, place) => bytes[at + place] === byte);

function joined(one, other) {
  const both = new Uint8Array(one.length + other.length);
  both.set(one);
  both.set(other, one.length);
  return both;
}

/**
 * Counts the conversations in a ZIP by the headers of its members, as they come.
 *
 * @returns {(bytes: Uint8Array) => number} takes what comes next; how many have begun so far
 */
export function createConversationCount() {
  const decoder = new TextDecoder();
  let rest = new Uint8Array();
  let found = 0;

  /** The name of the member whose header begins there; null where it is not there as a whole. */
  function nameAt(bytes, at) {
    const length = bytes[at + NAME_LENGTH_AT] + 256 * bytes[at + NAME_LENGTH_AT + 1];
    const end = at + NAME_AT + length;
    return end <= bytes.length ? decoder.decode(bytes.subarray(at + NAME_AT, end)) : null;
  }

  return (more) => {
    const bytes = joined(rest, more);
    let at = bytes.indexOf(MEMBER[0]);
    while (at !== -1) {
      const isCutOff = at + NAME_AT > bytes.length;
      if (isCutOff || startsWith(bytes, at, MEMBER)) {
        const name = isCutOff ? null : nameAt(bytes, at);
        if (name === null) break;
        found += CONVERSATION.test(name) ? 1 : 0;
      }
      at = bytes.indexOf(MEMBER[0], at + 1);
    }
    rest = at === -1 ? new Uint8Array() : bytes.slice(at);
    return found;
  };
}

/** Whether a ZIP that ends in these bytes is whole. @param {Uint8Array} last its last 22 bytes */
export const isWhole = (last) => last.length === END_BYTES && startsWith(last, 0, END);

/**
 * Takes an archive from the network.
 *
 * @param {ReadableStream<Uint8Array>} body
 * @param {(far: {conversations: number, bytes: number}) => void} onProgress told after each piece
 * @returns {Promise<Blob|null>} null where it ended before its end
 */
export async function received(body, onProgress) {
  const countIn = createConversationCount();
  const blobs = [];
  let waiting = [];
  let waitingBytes = 0;
  let bytes = 0;
  let last = new Uint8Array();
  const settle = () => {
    blobs.push(new Blob(waiting));
    waiting = [];
    waitingBytes = 0;
  };
  const reader = body.getReader();
  for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
    waiting.push(piece.value);
    waitingBytes += piece.value.length;
    bytes += piece.value.length;
    last = joined(last, piece.value.subarray(-END_BYTES)).slice(-END_BYTES);
    if (waitingBytes >= BLOB_BYTES) settle();
    onProgress({ conversations: countIn(piece.value), bytes });
  }
  settle();
  return isWhole(last) ? new Blob(blobs, { type: 'application/zip' }) : null;
}
