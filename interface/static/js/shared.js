/** The entry of the page behind a shared link. */

import { createApi } from './lib/api.js';
import { installCopyFallbacks } from './views/copy_fallbacks.js';
import { mountSharedPage } from './views/shared_page.js';

installCopyFallbacks();
const first = JSON.parse(document.getElementById('shared').textContent);
mountSharedPage({ api: createApi(), token: decodeURIComponent(location.pathname.split('/').pop()), first });
