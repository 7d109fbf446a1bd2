const isWrittenIn = (tag, { type = 'text' }) => tag === 'textarea' || (tag === 'input' && (type === 'text' || type === 'search'));

/**
 * Builds an element. Text goes in as text: there is no way to hand in HTML.
 *
 * A field takes the direction of what is written into it.
 *
 * @param {string} tag
 * @param {Object<string, any>} [attributes] `text` is the text; `on<event>` a listener; true, false and null set or leave
 *   out an attribute; everything else becomes an attribute as it is named
 * @param {...(Node|string|null)} children
 * @returns {HTMLElement}
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  if (isWrittenIn(tag, attributes)) node.dir = 'auto';
  for (const [name, value] of Object.entries(attributes)) {
    if (name === 'text') node.textContent = value;
    else if (name.startsWith('on')) node.addEventListener(name.slice(2), value);
    else if (value === true) node.setAttribute(name, '');
    else if (value !== false && value !== null && value !== undefined) node.setAttribute(name, value);
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

/**
 * What a button is called that stands in each row of a list: what is seen of it, and the row. Without the row, voice control and lists of
 * controls can't tell it from those of the other rows.
 *
 * @param {string} label
 * @param {string} row
 */
export const inRow = (label, row) => ({ 'aria-label': `${label}: ${row}` });

/** How often each name was given. */
const given = new Map();

/**
 * An id for an element of a part that may be there more than once, as the composer is: the first one has the plain name.
 *
 * @param {string} name
 */
export function uniqueId(name) {
  const count = (given.get(name) ?? 0) + 1;
  given.set(name, count);
  return count === 1 ? name : `${name}-${count}`;
}

/** Shows or hides, and says whether that changed anything. */
export function setHidden(node, hidden) {
  const changed = node.hidden !== hidden;
  if (changed) node.hidden = hidden;
  return changed;
}

/**
 * Makes `place` show something else; what had the focus in it may go with that, and then what has the same name there gets it, else the
 * first button.
 *
 * @param {HTMLElement} place
 * @param {...(Node|string)} nodes
 */
export function replaceWithFocus(place, ...nodes) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  place.replaceChildren(...nodes);
  if (!focused || place.contains(document.activeElement)) return;
  place.tabIndex = -1;
  const controls = [...place.querySelectorAll('button:not(:disabled), summary')];
  const name = focused.getAttribute('aria-label');
  const same = controls.find((control) => name && control.getAttribute('aria-label') === name);
  (same ?? controls.find((control) => control.matches('button')) ?? place).focus();
}

/** Milliseconds after which a press is taken for over: of some, such as those that open a list, no end is told. */
const LONGEST_PRESS = 10_000;
/** Resolves when what is pressed is let go of; null: nothing is pressed. */
let press = null;

globalThis.addEventListener?.('pointerdown', ({ target }) => {
  const begun = new Promise((resolve) => {
    // The click comes after the release, which is not told where the press has opened a menu.
    for (const end of ['pointerup', 'pointercancel', 'contextmenu']) addEventListener(end, () => setTimeout(resolve), { capture: true, once: true });
    // Of a list that the browser opens, only the choice is told.
    target.closest?.('select')?.addEventListener('change', () => setTimeout(resolve), { once: true });
    setTimeout(resolve, LONGEST_PRESS);
  });
  press = begun;
  begun.then(() => {
    if (press === begun) press = null;
  });
}, true);

/** Waits while something is being pressed: a button that is replaced before it is let go of is never clicked. */
export const whenReleased = () => press;

/** How often the person has pressed something, or written. */
let deeds = 0;

for (const name of ['keydown', 'pointerdown', 'input']) {
  globalThis.addEventListener?.(name, () => {
    deeds += 1;
  }, true);
}

/** A row that is drawn anew is the same place. */
const placeOf = (node) => {
  const row = node?.closest('[data-conversation-id]');
  return row ? `${node.localName} ${row.dataset.conversationId}` : node;
};

/**
 * For what takes the focus some time after it was asked for.
 *
 * @returns {() => boolean} whether the person has gone elsewhere since, or went on writing in a field: then the focus stays there
 */
export function watchWriting() {
  const { body, activeElement } = document;
  const [before, place] = [deeds, placeOf(activeElement)];
  return () => {
    const now = document.activeElement ?? body;
    return deeds !== before && now !== body && (placeOf(now) !== place || now.matches('input, textarea, select'));
  };
}

/** Makes `place` hold these nodes. Those that are there already are left alone: a press on them goes on, and what has the focus keeps it. */
export function replaceChildrenKeepingFocus(place, ...nodes) {
  const focused = place.contains(document.activeElement) ? document.activeElement : null;
  const wanted = new Set(nodes);
  for (const child of [...place.childNodes]) if (!wanted.has(child)) child.remove();
  nodes.forEach((node, position) => {
    if (place.childNodes[position] !== node) place.insertBefore(node, place.childNodes[position] ?? null);
  });
  if (focused !== document.activeElement && place.contains(focused)) focused.focus({ preventScroll: true });
}

/** The main landmark of the page, or its body: what floats belongs into it, so that screen readers find it. */
export function mainLandmark() {
  return document.querySelector('main') ?? document.body;
}
