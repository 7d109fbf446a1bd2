const AT_END_PX = 48;
/** A turn of the wheel, or a move of a finger, goes on for so long after the last that was heard of it. */
const TURNING_MS = 300;

/**
 * Keeps what a person reads where it is while things come and go around it, and follows the end for who is there.
 *
 * @param {HTMLElement} scroller
 * @param {HTMLElement} content what grows inside it
 * @param {{onScroll: () => void, hasEnd: () => boolean}} options `hasEnd`: whether there are messages, whose end can be followed
 */
export function createScrollKeeper(scroller, content, { onScroll, hasEnd }) {
  let following = true;
  let lastTop = 0;
  let scheduled = false;
  /** The timer that tells when the person has ended scrolling. */
  let turning = null;
  /** Whether something has grown meanwhile. */
  let isBehind = false;

  const distanceToEnd = () => scroller.scrollHeight - scroller.scrollTop - scroller.clientHeight;

  function toEnd() {
    following = true;
    scroller.scrollTop = scroller.scrollHeight;
    lastTop = scroller.scrollTop;
  }

  function toStart() {
    following = false;
    scroller.scrollTop = 0;
  }

  /** Only a move upwards is somebody leaving the end: content that grows moves the end away, not the person. */
  const hasLeft = () => scroller.scrollTop < lastTop - 1 && distanceToEnd() > AT_END_PX;

  scroller.addEventListener('scroll', () => {
    if (hasLeft()) following = false;
    else if (distanceToEnd() <= AT_END_PX) following = true;
    lastTop = scroller.scrollTop;
    if (scheduled) return;
    scheduled = true;
    requestAnimationFrame(() => {
      scheduled = false;
      onScroll();
    });
  }, { passive: true });

  function follow() {
    if (turning !== null) isBehind = true;
    else if (following && hasEnd()) toEnd();
  }

  function onTurned() {
    turning = null;
    if (isBehind) follow();
  }

  // It begins with small steps, which do not lead away from the end yet: what grows meanwhile must not take them back.
  for (const kind of ['wheel', 'touchmove']) {
    scroller.addEventListener(kind, () => {
      if (turning === null) isBehind = false;
      clearTimeout(turning);
      turning = setTimeout(onTurned, TURNING_MS);
    }, { passive: true });
  }

  const observer = new ResizeObserver(follow);
  observer.observe(content);
  observer.observe(scroller);

  /**
   * Runs `change` and puts what was at the top of the view back to its place.
   *
   * @param {() => void} change
   * @param {Iterable<HTMLElement>} cards in order
   */
  function keepInPlace(change, cards) {
    if (hasLeft()) following = false; // The event of a move in this frame is still to come.
    const edge = scroller.getBoundingClientRect().top;
    const visible = [...cards].filter((card) => card.getBoundingClientRect().bottom > edge);
    const places = visible.map((card) => [card, card.getBoundingClientRect().top]);
    change();
    const [kept, before] = places.find(([card]) => card.isConnected) ?? [];
    if (kept) scroller.scrollTop += kept.getBoundingClientRect().top - before;
    lastTop = scroller.scrollTop;
  }

  return {
    toEnd,
    toStart,
    keepInPlace,
    distanceToEnd,
    distanceToStart: () => scroller.scrollTop,
    isFollowing: () => following,
    release() {
      following = false;
    },
  };
}
