import { createApi } from './lib/api.js';
import { mountAccount } from './views/account.js';
import { installCopyFallbacks } from './views/copy_fallbacks.js';
import { mountThemeChoice } from './views/theme_choice.js';

installCopyFallbacks();
mountThemeChoice(document);
mountAccount({ api: createApi({ onUnauthorized: () => location.assign('/login?next=/account') }) });
