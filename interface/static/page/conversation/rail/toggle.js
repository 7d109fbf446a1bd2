import { bring } from '../../core/api.js';
import { rememberedSwitch } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { tight } from '../../ui/columns.js';
import { addPanelStyle } from '../../ui/panel_style.js';
import { attempt } from '../../ui/notices/attempts.js';

const isOpen = rememberedSwitch('anaphora:rail', false);
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
    page.events.emit('rail:turned', { isOpen: open });
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

  /** Shows the rail where it is wanted and has room. Where it would cover the conversation or hide the sidebar, it waits to be asked for. */
  function appear() {
    if (rail.hidden && isOpen.get() && !tight.matches && !isTaken()) show(true);
  }

  page.events.on('beside:taken', ({ by }) => by !== 'rail' && show(false, { remember: false }));
  page.events.on('beside:left', appear);
  page.events.on('sidebar:taken', () => !rail.hidden && show(false, { remember: false }));

  page.events.on('conversation:settled', () => {
    if (rail.hidden) appear();
    else made.refresh();
  });
  page.events.on('messages:shown', () => !rail.hidden && made?.turn());
  page.events.on('activities:posted', ({ isMoved }) => !rail.hidden && (isMoved ? made?.renew() : made?.follow()));
}
