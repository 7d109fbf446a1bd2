/** Finding a text in the open conversation: its bar is loaded when it is first wanted, and gets what is typed meanwhile. */

import { bring } from '../../core/api.js';
import { shellStrings } from '../../strings/en/shell.js';
import { releaseKeys } from '../../ui/controls/early_keys.js';
import { attempt } from '../../ui/notices/attempts.js';

/** @param {object} page what the parts of the conversation share */
export async function findIn(page) {
  const conversationId = page.conversationId();
  const brought = await attempt(() => bring(() => import('./bar.js')), { failed: shellStrings.sidebar.actionFailed });
  if (brought && page.conversationId() === conversationId) brought.openFindBar(page);
  else releaseKeys();
}
