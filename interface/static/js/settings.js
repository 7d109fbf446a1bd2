import { createApi } from './lib/api.js';
import { createBusyBar } from './views/busy_bar.js';
import { installCopyFallbacks } from './views/copy_fallbacks.js';
import { mountSettings } from './views/settings.js';

const bootstrap = JSON.parse(document.getElementById('bootstrap').textContent);
const onUnauthorized = () => location.assign(`/login?next=${encodeURIComponent(location.pathname)}`);
installCopyFallbacks();
mountSettings({ api: createApi({ onUnauthorized, onBusy: createBusyBar() }), bootstrap });
