/** The sidebar's buttons, menus, filter and sections. What they do is loaded when the pointer or a key first asks for it. */

import { bring } from '../core/api.js';
import { composes } from '../core/typing.js';
import { shellStrings } from '../strings/en/shell.js';
import { once } from '../ui/assets.js';
import { tellFailure } from '../ui/notices/attempts.js';
import { mountSections } from './lists/sections.js';

const tell = (error, again) => tellFailure(error, { failed: shellStrings.sidebar.actionFailed, again });

/**
 * @param {object} parts
 * @param {object} parts.api
 * @param {import('../core/store.js').Store} parts.store
 * @param {object} parts.events
 * @param {string} parts.domain
 * @param {import('./tree_model.js').TreeModel} parts.model
 * @param {object} parts.sidebar what is done to the sidebar itself
 * @returns {{conversationMenu: (id: string) => Promise<object>, command: (job: (commands: object) => any) => Promise<void>, drawSections: () => void,
 *            shelvesChanged: (...sections: string[]) => void, workspacesChanged: () => void, matchesChanged: (conversations: Map<string, object>) => void}} `command` does a job with the sidebar's commands
 */
export function mountControls({ api, store, events, domain, model, sidebar }) {
  const loadCommands = once(async () => {
    const { createCommands } = await bring(() => import('./actions/commands.js'));
    return createCommands({ api, store, events, domain, model, sidebar });
  });

  async function command(job) {
    try {
      await job(await loadCommands());
    } catch (error) {
      tell(error, () => command(job));
    }
  }

  async function filterTyped() {
    try {
      await loadFilter();
    } catch (error) {
      tell(error, filterTyped);
    }
  }

  function showMenu(anchor, place, itemsOf) {
    const { jQuery } = globalThis;
    return command((commands) => jQuery.vakata.context.show(jQuery(anchor), place, itemsOf(commands)));
  }

  /** A match may be one that no list has: of the archive. */
  async function showMatchMenu(id, anchor, place) {
    try {
      if (!store.conversation(id)) await sidebar.fetch(id);
    } catch (error) {
      tell(error, () => showMatchMenu(id, anchor, place));
      return;
    }
    on.onMenu(id, anchor, place);
  }

  const on = {
    onOpen: sidebar.open,
    isOpen: (id) => store.isShown(id),
    onMenu: (id, anchor, place) => store.conversation(id) && showMenu(anchor, place, (commands) => commands.menuOf({ kind: 'conversation', id })),
  };

  const loadShelves = once(async () => {
    const { createShelves } = await bring(() => import('./lists/shelves.js'));
    return createShelves({ api, domain, on, keep: (conversations) => store.update(() => conversations.forEach((each) => store.putConversation(each))), onRestored: sidebar.fetch });
  });

  let matches = null;
  /** Whether Enter was pressed behind what was typed last, before the filter was there. */
  let isEntered = false;
  const loadFilter = once(async () => {
    const { mountFilter } = await bring(() => import('./filter.js'));
    matches = mountFilter({
      api,
      domain,
      model,
      onConversation: sidebar.open,
      isOpen: on.isOpen,
      onWorkspace: sidebar.showWorkspace,
      onMenu: (id, place, anchor) => showMatchMenu(id, anchor, place),
    });
    if (filter.value) filter.dispatchEvent(new Event('input'));
    if (isEntered) filter.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter' }));
  });

  const onClick = (id, job) => document.getElementById(id).addEventListener('click', job);
  const begin = () => sidebar.begin(model.workspaceOf(store.openId));
  const beginWorkspace = () => command((commands) => commands.newWorkspace());
  onClick('new-conversation', begin);
  events.on('conversation:begin', begin);
  onClick('new-menu', ({ currentTarget }) => {
    const { left, bottom } = currentTarget.getBoundingClientRect();
    showMenu(currentTarget, { x: left, y: bottom }, (commands) => commands.newMenu());
  });
  onClick('new-workspace', beginWorkspace);
  events.on('workspace:begin', beginWorkspace);
  onClick('collapse-workspaces', sidebar.collapse);
  events.on('workspaces:collapse', sidebar.collapse);
  const filter = document.getElementById('sidebar-filter');
  for (const type of ['focus', 'input']) filter.addEventListener(type, filterTyped);
  filter.addEventListener('keydown', (event) => {
    isEntered = event.key === 'Enter' && !composes(event);
  });
  filter.addEventListener('blur', () => {
    isEntered = false;
  });
  document.getElementById('sidebar').addEventListener('pointerenter', () => loadCommands().catch(() => {}), { once: true });

  const conversationMenu = async (id) => (await loadCommands()).menuOf({ kind: 'conversation', id }, [id]);

  const sections = mountSections({ model, on, loadShelves, onFailure: tell });
  function drawSections() {
    sections.draw();
    matches?.markOpen();
  }
  return { command, conversationMenu, drawSections, shelvesChanged: sections.changed, workspacesChanged: () => matches?.workspacesChanged(), matchesChanged: (now) => matches?.conversationsChanged(now) };
}
