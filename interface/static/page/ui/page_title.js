/** The window's title: what is shown, and before it how many conversations have an unread answer. */

import { strings } from '../strings/en/conversation.js';

let shown = '';
let unread = 0;

function write() {
  const title = shown ? `${shown} · ${strings.product}` : strings.product;
  document.title = unread > 0 ? `(${unread}) ${title}` : title;
}

/** @param {string} text what is shown; '' for nothing in particular */
export function setPageTitle(text) {
  shown = text;
  write();
}

/** @param {number} count of conversations with an unread answer */
export function setUnreadCount(count) {
  unread = count;
  write();
}
