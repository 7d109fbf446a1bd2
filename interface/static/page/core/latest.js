/**
 * Runs the newest of quickly following requests, after a pause, and drops the answers of older ones.
 *
 * @template Q, R
 * @param {(query: Q, options: {signal: AbortSignal, quiet: true}) => Promise<R>} ask `quiet`: nobody waits for it
 * @param {{delay?: number, onAnswer: (answer: R, query: Q) => void, onError?: (error: Error, query: Q) => void}} options
 * @returns {{request: (query: Q) => void, cancel: () => void}}
 */
export function createLatest(ask, { delay = 150, onAnswer, onError = () => {} }) {
  let timer = null;
  let controller = null;

  function cancel() {
    clearTimeout(timer);
    controller?.abort();
    controller = null;
  }

  async function run(query) {
    const mine = new AbortController();
    controller = mine;
    try {
      const answer = await ask(query, { signal: mine.signal, quiet: true });
      if (controller === mine) onAnswer(answer, query);
    } catch (error) {
      if (controller === mine) onError(error, query);
    }
  }

  function request(query) {
    cancel();
    timer = setTimeout(() => run(query), delay);
  }

  return { request, cancel };
}
