/**
 * Runs a job whenever it is asked for, one run at a time: what is asked for during a run is done by one more run.
 *
 * @param {() => Promise<void>} job never fails
 * @param {{pause?: number}} [options] milliseconds after each run in which no other begins
 * @returns {() => void}
 */
export function createRenewal(job, { pause = 0 } = {}) {
  let isRunning = false;
  let isWanted = false;

  async function run() {
    isRunning = true;
    try {
      while (isWanted) {
        isWanted = false;
        await job();
        if (pause > 0) await new Promise((resolve) => { setTimeout(resolve, pause); });
      }
    } finally {
      isRunning = false;
    }
  }

  return () => {
    isWanted = true;
    if (!isRunning) run();
  };
}
