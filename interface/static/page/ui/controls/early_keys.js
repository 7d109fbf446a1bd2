/** Keys that are pressed for a field which is on its way, and not for the one that has the focus until then. */

/** After so long the field will hardly come: who goes on typing must see it somewhere. */
const PATIENCE_MS = 10_000;

let held = null;
let timer = null;

const isCommand = (event) => (event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState('AltGraph');

function hold(event) {
  if (event.isComposing || isCommand(event)) return;
  if (event.key.length === 1) held += event.key;
  else if (event.key === 'Backspace') held = held.slice(0, -1);
  // A message must not be sent by the Enter that was meant for a list.
  else if (event.key !== 'Enter') return;
  event.preventDefault();
  event.stopPropagation();
}

/** Holds what is typed from now on, until `releaseKeys`. */
export function holdKeys() {
  held ??= '';
  addEventListener('keydown', hold, { capture: true });
  clearTimeout(timer);
  timer = setTimeout(() => releaseKeys(document.activeElement), PATIENCE_MS);
}

/**
 * Ends it. Nothing happens where no keys are held.
 *
 * @param {HTMLInputElement|null} [field] has the focus, and gets what was typed; without one, nobody does
 */
export function releaseKeys(field = null) {
  removeEventListener('keydown', hold, { capture: true });
  clearTimeout(timer);
  const typed = held;
  held = null;
  // As if it were typed: what is selected there makes room, and who listens is told.
  if (typed && field === document.activeElement) document.execCommand('insertText', false, typed);
}
