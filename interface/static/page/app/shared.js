/** The entry of the page behind a shared link. */

import { createApi } from '../core/api.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { mountSharedPage } from '../conversation/sharing/shared_page.js';

installCopyFallbacks();
const first = JSON.parse(document.getElementById('shared').textContent);
mountSharedPage({ api: createApi(), token: decodeURIComponent(location.pathname.split('/').pop()), first });
