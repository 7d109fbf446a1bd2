/**
 * Runs the newest of quickly following requests, after a pause, and drops the answers of older ones.
 *
 * @template Q, R
 * @param {(query: Q, options: {signal: AbortSignal, quiet: true, onMore: (answer: R) => void}) => Promise<R>} ask `quiet`: nobody waits for it;
 *   `onMore` is to be called where the answer becomes a fuller one later
 * @param {{delay?: number, ready?: () => Promise<void>|null, onAnswer: (answer: R, query: Q) => void, onError?: (error: Error, query: Q) => void}} options
 *   `ready`: waits until an answer may be shown
 * @returns {{request: (query: Q) => void, cancel: () => void}}
 */
export function createLatest(ask, { delay = 150, ready = () => null, onAnswer, onError = () => {} }) {
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
    async function take(answer) {
      await ready();
      if (controller === mine) onAnswer(answer, query);
    }
    try {
      await take(await ask(query, { signal: mine.signal, quiet: true, onMore: take }));
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
