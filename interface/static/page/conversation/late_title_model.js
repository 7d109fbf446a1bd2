const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;
const MOST_LOOKS = 60;
/** A message that was sent just before may take so many looks to arrive; after that there was none. */
const LOOKS_WITHOUT_MESSAGE = 3;

const pause = (milliseconds) => new Promise((resolve) => {
  setTimeout(resolve, milliseconds);
});

/**
 * Asks for the title of a conversation that was left during its first answer, until it has one. A look now and then, for
 * streams that stay open would take the few connections that a browser has.
 *
 * @param {() => Promise<object>} look gives the details of the conversation
 * @param {{isWanted?: () => boolean, wait?: (milliseconds: number) => Promise<void>}} [options] `isWanted`: whether to go on
 * @returns {Promise<object|null>} the details with the title; null where none comes, or none is wanted any more
 */
export async function lateTitle(look, { isWanted = () => true, wait = pause } = {}) {
  for (let looks = 1; looks <= MOST_LOOKS; looks += 1) {
    await wait(Math.min(LONGEST_PAUSE_MS, FIRST_PAUSE_MS * 1.5 ** (looks - 1)));
    if (!isWanted()) return null;
    const details = await looked(look);
    if (details.title) return details;
    if (details.gone || (details.message_count === 0 && looks >= LOOKS_WITHOUT_MESSAGE)) return null;
  }
  return null;
}

async function looked(look) {
  try {
    return await look();
  } catch (error) {
    return { gone: [401, 404].includes(error.status) };
  }
}
