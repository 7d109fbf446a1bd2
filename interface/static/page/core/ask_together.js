const LONGEST_WAIT_MS = 3000;

/**
 * Asks several sources at once, and goes on with those that answered in time.
 *
 * @param {Record<string, () => Promise<any>>} sources
 * @param {{longestWait?: number}} [options] in milliseconds
 * @returns {Promise<{answers: Record<string, any>, failed: string[]}>}
 */
export async function askTogether(sources, { longestWait = LONGEST_WAIT_MS } = {}) {
  const answers = {};
  const failed = [];
  await Promise.all(Object.entries(sources).map(async ([name, ask]) => {
    try {
      answers[name] = await inTime(ask, longestWait);
    } catch {
      failed.push(name);
    }
  }));
  return { answers, failed };
}

async function inTime(ask, longestWait) {
  let timer = null;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error('The source took too long.')), longestWait);
  });
  try {
    return await Promise.race([ask(), late]);
  } finally {
    clearTimeout(timer);
  }
}
