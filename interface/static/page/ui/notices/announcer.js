/** Tells those who listen to the page what others see. */

const NO_BREAK_SPACE = '\u00a0';

/**
 * @param {{textContent: string}} node a live region
 * @returns {(text: string) => void}
 */
export function createAnnouncer(node) {
  return (text) => {
    // A screen reader speaks what has changed: the same again has to look different.
    node.textContent = text && node.textContent === text ? text + NO_BREAK_SPACE : text;
  };
}
