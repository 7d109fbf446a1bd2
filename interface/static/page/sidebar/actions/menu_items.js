/**
 * The items of the sidebar's context menus, as vakata wants them. Labels are HTML to vakata: they are escaped here; `text` is
 * what the palette shows.
 */

import { escapeHtml } from '../../core/html.js';
import { exportStrings } from '../../strings/en/export.js';
import { shellStrings } from '../../strings/en/shell.js';
import { sidebarStrings } from '../../strings/en/sidebar.js';

const DEEPEST_INDENT = 6;

function item(label, iconClass, action, extra = {}) {
  return { label: escapeHtml(label), text: label, icon: iconClass, action, ...extra };
}

/** One item for each workspace of `outline`, indented like the tree; those in `closedTo` cannot be chosen. */
function workspaceItems(outline, { closedTo, choose }) {
  const items = {};
  outline.forEach(({ workspace, depth }, position) => {
    const { workspace_id: id, workspace_name: name } = workspace;
    items[`to_${position}`] = item(name, 'fa fa-folder', () => choose(id), {
      _class: `menu-depth-${Math.min(depth, DEEPEST_INDENT)}`,
      _disabled: closedTo(id),
    });
  });
  return items;
}

function flagItems(current, choose) {
  return Object.fromEntries(
    Object.entries(shellStrings.flags).map(([flag, label]) => [
      `flag_${flag}`,
      item(label, flag === 'none' ? 'fa fa-circle-o' : 'fa fa-circle', () => choose(flag), {
        _class: `menu-flag-${flag}${flag === current ? ' menu-current' : ''}`,
        separator_after: flag === 'none',
      }),
    ]),
  );
}

/** Pin, flag, move, archive: what sets the chosen conversations apart. An archived one stays where it is. */
function placingItems(conversation, { chosen, home, outline, actions }) {
  const words = shellStrings.conversationMenu;
  const { pinned, archived, flag } = conversation;
  const many = chosen.length > 1;
  const named = (one, several) => (many ? several(chosen.length) : one);
  const pin = item(
    pinned ? named(words.unpin, words.unpinMany) : named(words.pin, words.pinMany),
    'fa fa-thumb-tack',
    () => actions.pin(chosen, !pinned),
  );
  const moveTo = item(named(words.moveTo, words.moveMany), 'fa fa-arrow-right', undefined, {
    submenu: workspaceItems(outline, {
      closedTo: (workspaceId) => !many && workspaceId === home,
      choose: (workspaceId) => actions.moveConversations(chosen, workspaceId),
    }),
  });
  return {
    ...(archived ? {} : { pin }),
    flag: item(named(words.flag, words.flagMany), 'fa fa-flag', undefined, {
      submenu: flagItems(flag || 'none', (color) => actions.flag(chosen, color)),
    }),
    ...(many ? { tags: item(sidebarStrings.menu.tagsMany(chosen.length), 'fa fa-tag', () => actions.tagMany(chosen)) } : {}),
    ...(archived ? {} : { moveTo }),
    archive: item(archived ? words.unarchive : named(words.archive, words.archiveMany), 'fa fa-archive', () => actions.archive(chosen, !archived)),
  };
}

/** Copies of it, and whether what is said in it is kept. */
function copyingItems({ conversation_id: id, stateless }, actions) {
  const words = sidebarStrings.menu;
  return {
    clone: item(shellStrings.conversationMenu.clone, 'fa fa-clone', () => actions.clone(id)),
    fork: item(words.fork, 'fa fa-code-fork', () => actions.fork(id)),
    stateless: stateless
      ? item(words.keep, 'fa fa-eye', () => actions.setStateless(id, false))
      : item(words.stopKeeping, 'fa fa-eye-slash', () => actions.setStateless(id, true)),
  };
}

/** What takes it out of here: a link for others, a file. */
function outwardItems(id, actions) {
  const words = sidebarStrings.menu;
  const formats = Object.entries(exportStrings.formats).map(([format, label]) => [
    `export_${format}`,
    item(label, 'fa fa-file-text-o', () => actions.exportAs(id, format)),
  ]);
  return {
    share: item(words.share, 'fa fa-link', () => actions.share(id)),
    export: item(words.export, 'fa fa-download', undefined, { submenu: Object.fromEntries(formats), separator_after: true }),
  };
}

/** References to it, a window for it, its name. */
function namingItems({ conversation_id: id, conversation_friendly_id: friendlyId }, { actions, hasPlaceBeside }) {
  const words = shellStrings.conversationMenu;
  return {
    copyReference: item(words.copyReference, 'fa fa-at', () => actions.copy(friendlyId), {
      _disabled: !friendlyId,
      separator_after: true,
    }),
    copyFullReference: item(
      words.copyFullReference,
      'fa fa-quote-right',
      () => actions.copy(`@conversation_${friendlyId}`),
      { _disabled: !friendlyId },
    ),
    openWindow: item(words.openWindow, 'fa fa-external-link', () => actions.openWindow(id)),
    openBeside: item(words.openBeside, 'fa fa-columns', () => actions.openBeside(id), { separator_after: true, _disabled: !hasPlaceBeside }),
    rename: item(words.rename, 'fa fa-pencil', () => actions.rename(id)),
    tags: item(words.tags, 'fa fa-tag', () => actions.editTags(id)),
  };
}

/** What the small menu beside "New conversation" offers. */
export function newMenu(actions) {
  return { temporary: item(shellStrings.sidebar.newTemporary, 'fa fa-hourglass-half', () => actions.newTemporary()) };
}

/**
 * @param {object} conversation
 * @param {{chosen: string[], home: string, outline: object[], hasPlaceBeside: boolean, actions: object}} context `chosen`: the ids the menu
 *   speaks of, this conversation's among them; `hasPlaceBeside`: whether it may be opened beside the conversation that is open
 */
export function conversationMenu(conversation, context) {
  const { chosen, actions } = context;
  const words = shellStrings.conversationMenu;
  const { length: count } = chosen;
  // What can be done to one conversation only is not offered for several.
  const isOne = count === 1;
  return {
    ...(isOne ? { ...namingItems(conversation, context), ...copyingItems(conversation, actions) } : {}),
    ...placingItems(conversation, context),
    ...(isOne ? outwardItems(conversation.conversation_id, actions) : {}),
    delete: item(count > 1 ? words.deleteMany(chosen.length) : words.delete, 'fa fa-trash', () => actions.remove(chosen), {
      _class: 'menu-danger',
    }),
  };
}

/**
 * @param {object} workspace
 * @param {{outline: object[], isDefault: boolean, mayMoveTo: (parentId: string|null) => boolean, actions: object}} context
 */
export function workspaceMenu(workspace, { outline, isDefault, mayMoveTo, actions }) {
  const words = shellStrings.workspaceMenu;
  const { workspace_id: id, workspace_color: current, parent_workspace_id: parent } = workspace;
  const colors = Object.entries(words.colors).map(([color, label]) => [
    color,
    item(label, 'fa fa-circle', () => actions.colorWorkspace(id, color), {
      _class: `menu-color-${color}${color === current ? ' menu-current' : ''}`,
    }),
  ]);
  const toTop = item(words.topLevel, 'fa fa-house', () => actions.moveWorkspace(id, null), {
    _disabled: !parent || !mayMoveTo(null),
    separator_after: true,
  });
  const toOthers = workspaceItems(outline, {
    closedTo: (target) => target === parent || !mayMoveTo(target),
    choose: (target) => actions.moveWorkspace(id, target),
  });
  return {
    newConversation: item(words.newConversation, 'fa fa-plus', () => actions.newConversation(id)),
    newWorkspace: item(words.newWorkspace, 'fa fa-folder-plus', () => actions.newWorkspace(id), { separator_after: true }),
    rename: item(words.rename, 'fa fa-pencil', () => actions.renameWorkspace(id)),
    color: item(words.color, 'fa fa-palette', undefined, { submenu: Object.fromEntries(colors) }),
    moveTo: isDefault
      ? item(words.moveTo, 'fa fa-arrow-right', undefined, { _disabled: true, separator_after: true })
      : item(words.moveTo, 'fa fa-arrow-right', undefined, { submenu: { toTop, ...toOthers }, separator_after: true }),
    delete: item(words.delete, 'fa fa-trash', () => actions.deleteWorkspace(id), {
      _class: 'menu-danger',
      _disabled: isDefault,
    }),
  };
}
