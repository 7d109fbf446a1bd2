const LONGEST_WAIT_MS = 3000;

/**
 * Asks several sources at once, and goes on with those that answered in time. One that answers later is no longer among those
 * that failed, and its answer is with the others by then.
 *
 * @param {Record<string, () => Promise<any>>} sources
 * @param {{longestWait?: number, onLate?: (found: {answers: Record<string, any>, failed: string[]}) => void}} [options] `longestWait` in milliseconds; `onLate` is called when an answer has come late, with the same
 * @returns {Promise<{answers: Record<string, any>, failed: string[]}>} both go on changing where answers come late
 */
export async function askTogether(sources, { longestWait = LONGEST_WAIT_MS, onLate = () => {} } = {}) {
  const answers = {};
  const failed = [];
  await Promise.all(Object.entries(sources).map(async ([name, ask]) => {
    const answering = (async () => {
      answers[name] = await ask();
    })();
    try {
      await inTime(answering, longestWait);
    } catch {
      failed.push(name);
      answering.then(() => {
        failed.splice(failed.indexOf(name), 1);
        onLate({ answers, failed });
      }, () => {});
    }
  }));
  return { answers, failed };
}

async function inTime(answering, longestWait) {
  let timer = null;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('The source took too long.')), longestWait);
  });
  try {
    return await Promise.race([answering, late]);
  } finally {
    clearTimeout(timer);
  }
}
