import { createApi } from '../core/api.js';
import { createBusyBar } from '../ui/busy_bar.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { mountSettings } from '../settings/settings.js';

const bootstrap = JSON.parse(document.getElementById('bootstrap').textContent);
const onUnauthorized = () => location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
installCopyFallbacks();
mountSettings({ api: createApi({ onUnauthorized, onBusy: createBusyBar() }), bootstrap });
