import { bring } from '../../core/api.js';
import { rememberedSwitch } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { attempt } from '../../ui/notices/attempts.js';

const isOpen = rememberedSwitch('anaphora:rail', false);
/** Where the rail is a sheet that covers the conversation, it is not opened by itself. */
const isNarrow = () => matchMedia('(max-width: 999.98px)').matches;
/** Whether something else has the place beside the conversation. */
const isTaken = () => Boolean(document.documentElement.dataset.beside);

/**
 * The button that shows and hides the rail. What the rail is made of is loaded when it is first shown.
 *
 * @param {HTMLElement} button
 * @param {HTMLElement} rail
 * @param {object} page
 */
export function createRailToggle(button, rail, page) {
  let made = null;

  async function load() {
    const [{ createRail }] = await Promise.all([bring(() => import('./rail.js')), addPanelStyle('conversation/rail/rail')]);
    made ??= createRail(rail, page, close);
  }

  async function close() {
    await show(false);
    page.events.emit('beside:left', { by: 'rail' });
  }

  async function show(open, { remember = true } = {}) {
    if (open && !made && !(await attempt(load, { failed: strings.rail.failed }))) return;
    // Something else may have come there while the rail was loaded.
    if (open && isTaken()) return;
    rail.hidden = !open;
    if (remember) isOpen.set(open);
    button.setAttribute('aria-expanded', String(open));
    if (open) await made.refresh();
  }

  async function toggle() {
    const open = rail.hidden;
    if (!open) {
      await close();
      return;
    }
    page.events.emit('beside:taken', { by: 'rail' });
    await show(true);
    made?.takeFocus();
  }

  async function showTab({ tab, ...detail }) {
    if (rail.hidden) {
      page.events.emit('beside:taken', { by: 'rail' });
      await show(true);
    }
    if (!rail.hidden) made.show(tab, detail);
  }

  button.addEventListener('click', toggle);
  page.events.on('rail:show', showTab);
  page.events.on('rail:toggle', toggle);

  /** Shows the rail where it is wanted and has room. */
  function appear() {
    if (rail.hidden && isOpen.get() && !isNarrow() && !isTaken()) show(true);
  }

  page.events.on('beside:taken', ({ by }) => by !== 'rail' && show(false, { remember: false }));
  page.events.on('beside:left', appear);

  page.events.on('conversation:settled', () => {
    if (rail.hidden) appear();
    else made.refresh();
  });
  page.events.on('activities:posted', ({ isMoved }) => !rail.hidden && (isMoved ? made?.renew() : made?.follow()));
}
