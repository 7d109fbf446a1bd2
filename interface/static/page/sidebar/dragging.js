/** The list scrolls while rows are dragged to its upper or lower edge; jsTree scrolls only what scrolls in both directions. */

/** So near an edge, and beyond it, the list scrolls: by an eighth of the way into that margin with each frame. */
const MARGIN = 48;
const SLOWNESS = 8;

/**
 * How far a list scrolls with the next frame.
 *
 * @param {number} y where the pointer is
 * @param {{top: number, bottom: number}} view
 * @returns {number} 0 away from the edges; never more than a quarter of the margin
 */
export function scrolledBy(y, { top, bottom }) {
  const into = Math.min(0, y - (top + MARGIN)) + Math.max(0, y - (bottom - MARGIN));
  return Math.sign(into) * Math.ceil(Math.min(Math.abs(into), 2 * MARGIN) / SLOWNESS);
}

/**
 * @param {HTMLElement} scroller what holds the tree and scrolls
 * @param {object} $ jQuery, by which jsTree tells of drags
 */
export function scrollWhileDragging(scroller, $) {
  let pointer = null;
  let frame = 0;

  /** The rows have moved under the pointer: jsTree looks where it is when it hears that it moves, and drops onto the row that it saw last. */
  function lookAgain() {
    if (!pointer) return;
    const { x, y } = pointer;
    const under = document.elementFromPoint(x, y) ?? document.documentElement;
    under.dispatchEvent(new MouseEvent('mousemove', { clientX: x, clientY: y, bubbles: true }));
  }

  function scroll() {
    frame = 0;
    const view = scroller.getBoundingClientRect();
    if (!pointer || pointer.x < view.left || pointer.x > view.right) return;
    const by = scrolledBy(pointer.y, view);
    const before = scroller.scrollTop;
    scroller.scrollTop += by;
    // What is told by that asks for the next frame.
    if (scroller.scrollTop !== before) lookAgain();
  }

  // Also by the wheel.
  scroller.addEventListener('scroll', lookAgain);
  $(document)
    .on('dnd_move.vakata', (_event, { event }) => {
      pointer = { x: event.clientX, y: event.clientY };
      frame ||= requestAnimationFrame(scroll);
    })
    .on('dnd_stop.vakata', () => {
      pointer = null;
    });
}
