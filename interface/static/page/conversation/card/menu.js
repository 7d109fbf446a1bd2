import { icon } from '../../ui/icons.js';
import { strings } from '../../strings/en/conversation.js';
import { isUnkept } from '../message_model.js';
import { element } from '../../ui/dom.js';
import { hidePopup, showBeside } from '../../ui/popup.js';

const { actions } = strings;

/** The actions in order: name, icon, label, whether there is nothing to do. */
function itemsFor(message, { isFirst, isLast }) {
  if (isUnkept(message) || message.isGone) return [['copyText', 'copy', strings.copy.text]];
  const shared = [
    ...(message.short_id ? [['copyId', 'hash', actions.copyId(message.short_id)]] : []),
    ['copyPermalink', 'link-45deg', actions.copyPermalink],
  ];
  if (message.status === 'streaming' || message.pending) return shared;
  return [
    ['reply', 'reply', actions.reply],
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

function moveFocus(menu, event) {
  const items = [...menu.querySelectorAll('[role=menuitem]:not(:disabled)')];
  const at = items.indexOf(document.activeElement);
  const targets = { ArrowDown: (at + 1) % items.length, ArrowUp: (at - 1 + items.length) % items.length, Home: 0, End: -1 };
  if (!(event.key in targets)) return;
  event.preventDefault();
  items.at(targets[event.key]).focus();
}

let openMenu = null;

/**
 * Opens the menu of a message. Arrow keys move, Enter chooses, Escape and a click elsewhere close it.
 *
 * @param {HTMLElement} button
 * @param {object} message
 * @param {{onAction: (name: string, message: object) => void, isFirst: boolean, isLast: boolean}} options
 */
export function openMessageMenu(button, message, { onAction, ...place }) {
  if (openMenu) hidePopup(openMenu);
  const menu = element('div', { class: 'popup-menu', role: 'menu', popover: 'auto', 'aria-label': actions.open });
  for (const [name, symbol, label, disabled = false] of itemsFor(message, place)) {
    const choose = () => {
      hidePopup(menu);
      onAction(name, message);
    };
    menu.append(element('button', { type: 'button', role: 'menuitem', class: `popup-item action-${name}`, disabled, onclick: choose },
      icon(symbol), element('span', { text: label })));
  }
  menu.addEventListener('keydown', (event) => moveFocus(menu, event));
  menu.addEventListener('toggle', (event) => {
    if (event.newState !== 'closed') return;
    button.setAttribute('aria-expanded', 'false');
    menu.remove();
    if (openMenu === menu) openMenu = null;
  });
  openMenu = menu;
  button.setAttribute('aria-expanded', 'true');
  showBeside(menu, button, { align: 'end' });
  menu.querySelector('[role=menuitem]').focus();
}
