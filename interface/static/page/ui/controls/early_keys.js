/** Keys that are pressed for a field which is on its way, and not for the one that has the focus until then. */

/** After so long the field will hardly come: who goes on typing must see it somewhere. */
const PATIENCE_MS = 10_000;

let held = null;
let timer = null;
/** The field in which an input method composes text, as it was before; null while none does. */
let composing = null;

/** What these do, they would do to the field that has the focus until then: a message must not be sent by the Enter that was meant for a list. */
const IDLE_KEYS = new Set(['Enter', 'Escape', 'ArrowUp', 'ArrowDown', 'ArrowLeft', 'ArrowRight']);

const isCommand = (event) => (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph');

function hold(event) {
  if (event.isComposing || isCommand(event)) return;
  if (event.key.length === 1) held += event.key;
  else if (event.key === 'Backspace') held = held.slice(0, -1);
  else if (!IDLE_KEYS.has(event.key)) return;
  event.preventDefault();
  event.stopPropagation();
}

function beginComposition({ target }) {
  const { value, selectionStart, selectionEnd } = target;
  composing = typeof value === 'string' ? { target, value, selection: [selectionStart, selectionEnd] } : null;
}

/** What is composed can't be kept from the field that has the focus: it is taken out there once it is done. */
function endComposition({ data }) {
  if (!composing) return;
  const { target, value, selection } = composing;
  composing = null;
  held += data;
  target.value = value;
  target.setSelectionRange(...selection);
  target.dispatchEvent(new Event('input', { bubbles: true }));
}

const LISTENERS = Object.entries({ keydown: hold, compositionstart: beginComposition, compositionend: endComposition });

/** Holds what is typed from now on, until `releaseKeys`. */
export function holdKeys() {
  held ??= '';
  for (const [name, listener] of LISTENERS) addEventListener(name, listener, { capture: true });
  clearTimeout(timer);
  timer = setTimeout(() => releaseKeys(document.activeElement), PATIENCE_MS);
}

/**
 * Ends it. Nothing happens where no keys are held. What is being composed ends where another field has got the focus before.
 *
 * @param {HTMLInputElement|null} [field] has the focus, and gets what was typed; without one, nobody does
 */
export function releaseKeys(field = null) {
  for (const [name, listener] of LISTENERS) removeEventListener(name, listener, { capture: true });
  composing = null;
  clearTimeout(timer);
  const typed = held;
  held = null;
  // As if it were typed: what is selected there makes room, and who listens is told.
  if (typed && field === document.activeElement) document.execCommand('insertText', false, typed);
}
