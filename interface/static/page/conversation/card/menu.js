import { readsAloud } from '../../core/browser_storage/storage.js';
import { strings } from '../../strings/en/conversation.js';
import { isUnkept } from '../message_model.js';
import { openMenu } from '../../ui/controls/menu.js';

const { actions } = strings;

/** The actions in order: name, icon, label, whether there is nothing to do, more about it. */
function itemsFor(message, { isFirst, isLast }) {
  if (isUnkept(message) || message.isGone) return [['copyText', 'copy', strings.copy.text]];
  const shared = [
    ...(message.short_id ? [['copyId', 'hash', actions.copyId(message.short_id), false, actions.aboutId]] : []),
    ['copyPermalink', 'link-45deg', actions.copyPermalink],
  ];
  if (message.status === 'streaming' || message.pending) return shared;
  return [
    ['reply', 'reply', actions.reply],
    ...(readsAloud.get() ? [['readAloud', 'chat-square-text', actions.readAloud]] : []),
    ...shared,
    message.pinned_at ? ['unpin', 'pin-angle-fill', actions.unpin] : ['pin', 'pin-angle', actions.pin],
    ['remember', 'lightbulb', actions.remember],
    ['edit', 'pencil', actions.edit],
    ['fork', 'signpost-split', actions.fork],
    ['moveUp', 'arrow-up', actions.moveUp, isFirst],
    ['moveDown', 'arrow-down', actions.moveDown, isLast],
    message.show_hide === 'hide' ? ['show', 'eye', actions.show] : ['hide', 'eye-slash', actions.hide],
    ['select', 'collection', actions.selectThis],
    ['delete', 'trash', actions.delete],
  ];
}

/**
 * Opens the menu of a message.
 *
 * @param {HTMLElement} button
 * @param {object} message
 * @param {{onAction: (name: string, message: object) => void, isFirst: boolean, isLast: boolean}} options
 */
export function openMessageMenu(button, message, { onAction, ...place }) {
  const items = itemsFor(message, place).map(([name, symbol, label, disabled = false, about = null]) => ({
    symbol, label, disabled, about, danger: name === 'delete', run: () => onAction(name, message),
  }));
  openMenu(button, items, { label: actions.open });
}
