import { bring } from '../../core/api.js';
import { rememberedSwitch } from '../../core/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { attempt } from '../../ui/attempts.js';

const isOpen = rememberedSwitch('anaphora:rail', false);
/** Where the rail is a sheet that covers the conversation, it is not opened by itself. */
const isNarrow = () => matchMedia('(max-width: 999.98px)').matches;

/**
 * The button that shows and hides the rail. What the rail is made of is loaded when it is first shown.
 *
 * @param {HTMLElement} button
 * @param {HTMLElement} rail
 * @param {object} page
 * @returns {{refresh: () => void}}
 */
export function createRailToggle(button, rail, page) {
  let made = null;

  async function load() {
    const [{ createRail }] = await Promise.all([bring(() => import('./rail.js')), addPanelStyle('conversation/rail/rail')]);
    made ??= createRail(rail, page, () => show(false));
  }

  async function show(open) {
    if (open && !made && !(await attempt(load, { failed: strings.rail.failed }))) return;
    rail.hidden = !open;
    isOpen.set(open);
    button.setAttribute('aria-expanded', String(open));
    if (open) await made.refresh();
  }

  button.addEventListener('click', async () => {
    const open = rail.hidden;
    await show(open);
    if (open) made?.takeFocus();
  });

  return {
    refresh() {
      if (!rail.hidden) made.refresh();
      else if (!made && isOpen.get() && !isNarrow()) show(true);
    },
  };
}
