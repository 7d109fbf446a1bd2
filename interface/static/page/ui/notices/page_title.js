/** The window's title: the open conversation, or what covers it; before it how many conversations have an unread answer. */

import { strings } from '../../strings/en/conversation.js';

let conversation = '';
/** What covers the conversation; null: nothing. */
let cover = null;
let unread = 0;

function write() {
  const shown = cover ?? conversation;
  const title = shown ? `${shown} · ${strings.product}` : strings.product;
  document.title = unread > 0 ? `(${unread}) ${title}` : title;
}

/** @param {string} text the title of the open conversation; '' for none */
export function setPageTitle(text) {
  conversation = text;
  write();
}

/** @param {string|null} text what covers the conversation; null: nothing does any more */
export function coverPageTitle(text) {
  cover = text;
  write();
}

/** @param {number} count of conversations with an unread answer */
export function setUnreadCount(count) {
  unread = count;
  write();
}
