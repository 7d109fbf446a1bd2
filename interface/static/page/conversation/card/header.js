import { bring } from '../../core/api.js';
import { icon } from '../../ui/icons.js';
import { strings } from '../../strings/en/conversation.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { threadStrings } from '../../strings/en/threads.js';
import { isChangeable, isUnkept, senderName } from '../message_model.js';
import { createBadge } from './badge.js';
import { openMessageMenu } from './menu.js';
import { attempt } from '../../ui/notices/attempts.js';
import { copyAndSay } from '../../ui/copy_fallbacks.js';
import { element, setHidden } from '../../ui/dom.js';

function iconButton(name, label, attributes) {
  return element('button', { type: 'button', title: label, 'aria-label': label, ...attributes }, icon(name));
}

/** A message that is not stored yet has no number. */
const named = (label, { message_index: index }) => (index ? `${label}: #${index}` : label);

function copyButton(current) {
  const said = element('span', { class: 'copy-said', 'aria-live': 'polite' });
  const button = iconButton('copy', strings.copy.text, {
    class: 'icon-button copy-btn-header',
    onclick: () => copyAndSay(current().text, said, strings.copy.copied),
  });
  button.append(said);
  return button;
}

/**
 * The head of a card: selection, sender, badge, time, copying and the menu of actions.
 *
 * @param {object} context
 * @param {() => object} context.message
 * @param {() => string} context.friendlyId
 * @param {(message: object, selected: boolean) => void} context.onSelect
 * @param {(name: string, message: object) => void} context.onAction
 * @param {() => object} context.transcript
 * @param {object} context.page what the chips in earlier texts need: `api`, `references`, `goTo`, `events`
 */
export function createCardHeader({ message, friendlyId, onSelect, onAction, transcript, ...page }) {
  const box = element('input', { type: 'checkbox', class: 'history-message-checkbox' });
  box.addEventListener('change', () => onSelect(message(), box.checked));
  const sender = element('strong', { class: 'message-sender' });
  const badge = createBadge({ friendlyId });
  const edited = element('button', {
    type: 'button', class: 'message-edited', text: strings.edit.edited, title: strings.history.open,
    'aria-haspopup': 'dialog', hidden: true, onclick: showHistory,
  });
  const pinned = element('span', { class: 'message-pinned', title: strings.pins.pinned, hidden: true },
    icon('pin-angle-fill'), element('span', { class: 'visually-hidden', text: strings.pins.pinned }));
  const unkept = element('span', { class: 'message-unkept', text: strings.unkept.label, title: strings.unkept.title, hidden: true });
  const time = element('time', { class: 'message-time' });
  // For a pointer alone: the menu has the same.
  const shortId = element('button', {
    type: 'button', class: 'message-short-id', title: threadStrings.copyShortId, tabindex: '-1', 'aria-hidden': 'true',
    onclick: () => onAction('copyId', message()),
  });
  const menu = iconButton('three-dots', strings.actions.open, {
    class: 'icon-button message-menu-button',
    'aria-haspopup': 'menu',
    onclick: () => openMessageMenu(menu, message(), { onAction, ...transcript().edgesOf(message()) }),
  });
  const copy = copyButton(message);
  const edit = iconButton('pencil', strings.actions.edit, { class: 'icon-button message-edit-button', onclick: () => onAction('edit', message()) });
  const tools = element('span', { class: 'message-tools' }, edit, copy, menu);
  const node = element('header', { class: 'message-header' }, box, sender, unkept, pinned, edited, badge.node, badge.described, time, shortId, tools);

  async function showHistory() {
    const brought = await attempt(() => bring(() => import('./history.js')), { failed: strings.history.failed });
    if (brought) await brought.showEarlierTexts(edited, message(), page);
  }

  function update(shown) {
    box.setAttribute('aria-label', strings.actions.select(shown.message_index));
    copy.setAttribute('aria-label', named(strings.copy.text, shown));
    edit.setAttribute('aria-label', named(strings.actions.edit, shown));
    menu.setAttribute('aria-label', named(strings.actions.open, shown));
    sender.textContent = senderName(shown, strings.sender);
    badge.update(shown);
    setHidden(badge.node, isUnkept(shown));
    setHidden(box, isUnkept(shown));
    setHidden(unkept, !isUnkept(shown));
    setHidden(edited, !shown.edited_at);
    setHidden(edit, !isChangeable(shown));
    setHidden(pinned, !shown.pinned_at);
    if (shown.short_id) shortId.dataset.shortId = `#${shown.short_id}`;
    setHidden(shortId, !shown.short_id || isUnkept(shown));
    time.dateTime = shown.created_at ?? '';
    time.textContent = shortTime(shown.created_at);
    time.title = fullTime(shown.created_at);
  }

  return {
    node,
    update,
    setSelected: (selected) => {
      box.checked = selected;
    },
  };
}
