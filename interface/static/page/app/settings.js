import { createApi } from '../core/api.js';
import { openKept } from '../core/browser_storage/kept.js';
import { createBusyBar } from '../ui/notices/busy_bar.js';
import { tellUnkept } from '../ui/notices/unkept.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { watchSession } from '../ui/session.js';
import { createVersionWatch } from '../ui/version.js';
import { mountSettings } from '../settings/settings.js';

const bootstrap = JSON.parse(document.getElementById('bootstrap').textContent);
const kept = await openKept(bootstrap.user_email, tellUnkept);
// The forms are filled once.
await kept.ready();
const session = watchSession({ email: bootstrap.user_email, kept: () => kept });
installCopyFallbacks();
const api = createApi({ user: bootstrap.user_email, onBusy: createBusyBar(), onVersion: createVersionWatch(), ...session });
mountSettings({ api, bootstrap, kept });
