/** The settings: one section at a time, named in the address, each made when it is first looked at. */

import { bring } from '../core/api.js';
import { listensToCharacters } from '../core/browser_storage/storage.js';
import { createSettingsApi } from './api.js';
import { shortcutOf } from '../app/shortcuts/shortcuts_model.js';
import { mountDevices, mountTokens } from './access.js';
import { mountAccount } from './account.js';
import { mountAdministration } from './administration/administration.js';
import { mountAgents } from './agents/agents.js';
import { mountSending } from './device.js';
import { mountLanguage } from './language.js';
import { failure } from './records.js';
import { mountPeople } from './administration/accounts.js';
import { mountLimits, mountModels } from './administration/server.js';
import { mountToolServers } from './tool_servers.js';
import { createChangeWatch } from './watch.js';
import { settingsStrings } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';
import { element, setHidden } from '../ui/dom.js';
import { shortcutList } from '../app/shortcuts/list.js';

const FIRST = 'account';
/** Of these no changes are told, and they are short: asked for again, they lose nothing that is shown. */
const UNTOLD = new Set(['devices', 'tokens', 'tool-servers']);

function mountShortcuts(section) {
  const characters = section.querySelector('#character-keys');
  characters.addEventListener('change', () => listensToCharacters.set(characters.checked));
  const place = section.querySelector('[data-fill]');
  const show = () => {
    characters.checked = listensToCharacters.get();
    place.replaceChildren(shortcutList());
  };
  // Another tab chose something.
  addEventListener('storage', show);
  show();
  // Which key sends may have been set meanwhile.
  return show;
}

async function mountShares(section, { api }) {
  const place = section.querySelector('[data-fill]');
  try {
    const { mountShareList } = await bring(() => import('../conversation/sharing/list.js'));
    await mountShareList(place, { api });
  } catch (error) {
    place.replaceChildren(failure(error, () => mountShares(section, { api })));
  }
}

async function mountImports(section, page) {
  const place = section.querySelector('[data-fill]');
  place.replaceChildren(element('p', { class: 'settings-state', role: 'status', text: settingsStrings.loading }));
  try {
    const { createImports } = await bring(() => import('../imports/imports.js'));
    place.replaceChildren((await createImports(page)).node);
  } catch (error) {
    place.replaceChildren(failure(error, () => mountImports(section, page)));
  }
}

function mountDownload(section, { api }) {
  const link = section.querySelector('#export-account');
  const place = section.querySelector('#export-account-state');
  link.addEventListener('click', (event) => {
    event.preventDefault();
    attempt(async () => {
      const { downloadEverything } = await bring(() => import('../conversation/export/archive.js'));
      setHidden(place, false);
      downloadEverything(place, { api, onBegin: () => setHidden(link, true), onEnd: () => setHidden(link, false) });
    }, { failed: settingsStrings.notDone });
  });
}

function mountData(section, page) {
  mountDownload(section, page);
  mountImports(section, page);
}

/** Each fills its section; what it returns is called when the section is looked at again (`isBehind`: the page is). */
const MOUNTS = {
  account: mountAccount,
  devices: mountDevices,
  tokens: mountTokens,
  agents: mountAgents,
  'tool-servers': mountToolServers,
  models: mountModels,
  sending: mountSending,
  appearance: mountLanguage,
  shortcuts: mountShortcuts,
  shares: mountShares,
  limits: mountLimits,
  data: mountData,
  people: mountPeople,
  administration: mountAdministration,
};

/**
 * @param {{api: object, bootstrap: {user_email: string}, kept: object}} page
 */
export function mountSettings({ api, bootstrap, kept }) {
  const page = { api, bootstrap, kept, settings: createSettingsApi(api), watch: createChangeWatch({ api, bootstrap }) };
  const sections = new Map([...document.querySelectorAll('[data-section]')].map((node) => [node.dataset.section, node]));
  const links = document.querySelectorAll('.settings-nav a');
  // The same list where there is no room beside the sections.
  const choice = document.getElementById('settings-choice');
  const looked = new Map();

  function mount(name, section, how) {
    const again = looked.get(name);
    if (typeof again === 'function') again(how);
    else if (!looked.has(name)) looked.set(name, MOUNTS[name]?.(section, page));
  }

  function shown() {
    const wanted = location.hash.slice(1);
    return sections.has(wanted) ? wanted : FIRST;
  }

  function show({ moved }) {
    const name = shown();
    for (const [each, section] of sections) section.hidden = each !== name;
    for (const link of links) {
      if (link.hash === `#${name}`) link.setAttribute('aria-current', 'page');
      else link.removeAttribute('aria-current');
    }
    choice.value = name;
    mount(name, sections.get(name));
    if (!moved) return;
    document.documentElement.scrollTop = 0;
    // Keys go through the list section by section: the focus stays in it.
    if (document.activeElement !== choice) sections.get(name).querySelector('h2').focus({ preventScroll: true });
  }

  choice.addEventListener('change', () => {
    location.hash = choice.value;
  });
  addEventListener('hashchange', () => show({ moved: true }));
  addEventListener('keydown', (event) => {
    if (shortcutOf(event) === 'help' && !document.querySelector('dialog[open]')) location.hash = 'shortcuts';
  });
  // Who comes back from another tab sees these as they are now.
  document.addEventListener('visibilitychange', () => {
    const name = shown();
    if (!document.hidden && UNTOLD.has(name)) mount(name, sections.get(name), { isBehind: true });
  });
  show({ moved: false });
}
