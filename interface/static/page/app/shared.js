/** The entry of the page behind a shared link. */

import { createApi } from '../core/api.js';
import { bringWordsFor } from '../core/words/said.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { mountSharedPage } from '../conversation/sharing/shared_page.js';

installCopyFallbacks();
const shared = document.getElementById('shared').textContent;
await bringWordsFor(shared);
mountSharedPage({ api: createApi(), token: decodeURIComponent(location.pathname.split('/').pop()), first: JSON.parse(shared) });
