/** The entry of the page: makes the parts and ties them together. */

import { bring, createApi } from '../core/api.js';
import { followAddress, panelInAddress, writePanel } from '../core/address.js';
import { createEvents } from '../core/events.js';
import { openKept } from '../core/browser_storage/kept.js';
import { shellStrings } from '../strings/en/shell.js';
import { chosenDomain } from '../core/browser_storage/storage.js';
import { Store } from '../core/store.js';
import { createBusyBar } from '../ui/notices/busy_bar.js';
import { shortcutOf } from './shortcuts/shortcuts_model.js';
import { followChanges } from './live.js';
import { createAnnouncer } from '../ui/notices/announcer.js';
import { attempt } from '../ui/notices/attempts.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { isDialogOpen } from '../ui/controls/dialog.js';
import { followDay } from '../ui/day.js';
import { element } from '../ui/dom.js';
import { holdKeys, releaseKeys } from '../ui/controls/early_keys.js';
import { mountModelStatus } from '../composer/models/status.js';
import { mountProposalCount } from '../proposals/count.js';
import { mountSidebar } from '../sidebar/sidebar.js';
import { watchSession } from '../ui/session.js';
import { keepToastsWithin, showToast } from '../ui/notices/toast.js';
import { tellUnkept } from '../ui/notices/unkept.js';
import { createVersionWatch } from '../ui/version.js';
import { keepShell, withAccount } from '../ui/installed.js';
import { askForAddressed } from '../conversation/ahead.js';
import { Sides } from '../conversation/sides.js';

/** What can stand in the place of the conversation while the address says so, each loaded when it first does. */
const PANELS = {
  memories: (page) => bring(() => import('../memories/panel.js')).then(({ mountMemories }) => mountMemories(page)),
  documents: (page) => bring(() => import('../documents/panel.js')).then(({ mountDocuments }) => mountDocuments(page)),
  search: (page) => bring(() => import('../search/panel.js')).then(({ mountSearch }) => mountSearch(page)),
};

/** Until then, the page has better things to ask for. */
const UNHURRIED_MS = 20_000;

function offerPanels(page) {
  const isPanel = (name) => Object.hasOwn(PANELS, name);
  const loaded = {};

  function load(name) {
    loaded[name] ??= PANELS[name](page).catch((error) => {
      delete loaded[name];
      throw error;
    });
    return loaded[name];
  }

  async function withPanel(name, job) {
    try {
      job(await load(name));
    } catch (error) {
      releaseKeys();
      const again = { actionLabel: shellStrings.sidebar.again, onAction: () => withPanel(name, job) };
      showToast(shellStrings.sidebar.actionFailed(error.message), { kind: 'error', ...again });
    }
  }

  async function leaveOthers(wantedNow) {
    const others = Object.keys(loaded).filter((name) => name !== wantedNow);
    for (const name of others) await withPanel(name, (panel) => panel.follow());
  }

  /** What is shown goes before what is wanted comes. */
  async function follow() {
    const name = panelInAddress();
    await leaveOthers(name);
    if (isPanel(name)) await withPanel(name, (panel) => panel.follow());
  }

  function show(name) {
    if (panelInAddress() !== name) writePanel(`?panel=${name}`);
    follow();
  }

  page.events.on('panel:show', ({ name }) => show(name));
  for (const name of Object.keys(PANELS)) {
    const button = document.getElementById(`open-${name}`);
    button.addEventListener('pointerenter', () => load(name).catch(() => {}), { once: true });
    button.addEventListener('click', () => show(name));
    page.events.on(`${name}:open`, async (target) => {
      await withPanel(name, (panel) => panel.open(target));
      await leaveOthers(name);
    });
  }
  followAddress(async ({ closesPanel }) => {
    await follow();
    if (closesPanel) page.events.emit('composer:focus');
  });
  page.events.on('conversation:shown', follow);
  page.events.on('beside:shown', follow);
}

/** Where there is no conversation to find in, and where it is found in already, Ctrl+F is the browser's. */
const mayFind = ({ target }, { store }) =>
  store.activeId !== null && !document.documentElement.dataset.panel && !target.closest?.('.find-bar');

/** What is typed next is meant for the field that these bring. */
const BRINGS_FIELD = ['find', 'palette', 'beside', 'search'];

/** What keys do is loaded with the first that does something. */
function offerShortcuts(page) {
  const failed = shellStrings.sidebar.actionFailed;

  async function perform(name) {
    try {
      const { runShortcut } = await bring(() => import('./shortcuts/run.js'));
      await runShortcut(name, page);
    } catch (error) {
      releaseKeys();
      throw error;
    }
  }

  const run = (name) => attempt(() => perform(name), { failed });

  addEventListener('keydown', (event) => {
    const name = shortcutOf(event);
    const isBrowsers = (name === 'find' && !mayFind(event, page)) || (name === 'otherSide' && page.store.besideId === null);
    if (!name || isDialogOpen() || isBrowsers) return;
    event.preventDefault();
    if (BRINGS_FIELD.includes(name)) holdKeys();
    if (name === 'find') page.events.emit('find:open');
    else run(name);
  });
  document.getElementById('find-toggle').addEventListener('click', () => page.events.emit('find:open'));
  for (const [id, name] of [['open-palette', 'palette'], ['open-shortcuts', 'help']]) {
    document.getElementById(id).addEventListener('click', () => {
      document.getElementById('user-menu').hidePopover();
      run(name);
    });
  }
}

/** Opens the welcome conversation for a new account. */
function offerWelcome(page) {
  if (!new URLSearchParams(location.search).has('welcome')) return;
  attempt(async () => (await bring(() => import('../conversation/welcome/welcome.js'))).beginWelcome(page), { failed: shellStrings.sidebar.actionFailed });
}

/** What views tell that they did is put into the store. */
function followActions({ api, events, store }) {
  events.on('conversation:created', ({ conversationId }) => {
    if (store.conversation(conversationId)) return;
    // Where it can't be had now, the stream of changes brings it.
    store.loadConversation(() => api.getConversationDetails(conversationId)).catch(() => {});
  });
  events.on('conversation:updated', ({ conversationId, ...fields }) => store.changeConversation(conversationId, fields));
}

/** What an earlier version of the page kept in another place. */
async function takeOverDrafts(kept, owner) {
  try {
    if (!localStorage.getItem(`anaphora:drafts:${owner}`) && !localStorage.getItem(`anaphora:edits:${owner}`)) return;
    const { takeFormerDrafts } = await bring(() => import('../core/browser_storage/local_storage_drafts.js'));
    await takeFormerDrafts(kept, localStorage, owner);
  } catch {
    // The browser forbids its storage, or the part does not come: they wait there.
  }
}

/** The domain that was chosen last is the one of a page without a conversation. @returns {boolean} whether that page has to be loaded */
function leadsToDomain({ domain, domains = [] }) {
  const asked = new URLSearchParams(location.search).get('domain');
  if (asked === domain) chosenDomain.set(domain);
  const wanted = chosenDomain.get();
  const isElsewhere = !asked && location.pathname === '/interface/' && wanted !== domain && domains.includes(wanted);
  if (isElsewhere) location.replace(`/interface/?${new URLSearchParams([['domain', wanted], ...new URLSearchParams(location.search)])}`);
  return isElsewhere;
}

/** Removes what was typed for conversations that are gone for good. */
function tidyKept(page) {
  setTimeout(() => {
    if (page.kept.isEmpty) return;
    // Where the part does not come, a later page does it.
    bring(() => import('./forgotten.js')).then(({ dropForgotten }) => dropForgotten(page), () => {});
  }, UNHURRIED_MS);
}

/** Asks for what the page shows first, while it opens what the browser keeps and makes its parts. */
function askAhead(api, { domain }) {
  api.ahead.listWorkspaces(domain);
  api.ahead.listBriefly(domain);
  askForAddressed(api);
}

/** Whose page it is, in the sidebar; also where the person is renamed in another tab. */
function showAccount({ api, events, bootstrap }) {
  function show({ name, user_email: email }) {
    const shown = name || email;
    document.querySelector('.sidebar-user-name').textContent = shown;
    document.querySelector('.sidebar-user-mark').textContent = [...shown][0].toUpperCase();
    document.querySelector('.user-menu-email').textContent = email;
  }

  show(bootstrap);
  let asked = 0;
  events.on('account:renamed', async () => {
    asked += 1;
    const mine = asked;
    // Where the answer does not come, the next page shows it. Of several, the newest one counts.
    const account = await api.get('/get_user_info', {}, { quiet: true }).catch(() => null);
    if (account && mine === asked) show(account);
  });
}

/** A page that came without a network shows what the server has, once that can be reached. */
function followReturn({ events }, { sidebar, conversations }) {
  const stop = events.on('changes:alive', () => {
    stop();
    sidebar.refresh();
    conversations.reopen();
  });
}

/** Where a panel stands: its title and its buttons in the header of the conversation, itself below. */
function panelFrame() {
  const header = document.getElementById('conversation-header');
  const title = document.getElementById('conversation-title');
  return { addTitle: (node) => title.before(node), addButton: (node) => header.append(node), addPanel: (node) => header.after(node) };
}

/** The elements of the first conversation. */
function firstPlace() {
  const [container, composer, header, rail, railToggle] = ['chatView', 'composer', 'conversation-header', 'rail', 'rail-toggle'].map((id) => document.getElementById(id));
  keepToastsWithin(container);
  return { container, composer, header, rail, railToggle, dropArea: document };
}

/** Makes the elements of a second conversation, beside the first. */
function secondPlace() {
  const root = document.getElementById('second-conversation').content.firstElementChild.cloneNode(true);
  const [container, composer, header, find, swap, close] = ['.chat-view', '.composer', '.conversation-header', '.find-toggle', '.beside-swap', '.beside-close']
    .map((selector) => root.querySelector(selector));
  document.querySelector('main').after(root);
  keepToastsWithin(container);
  return { root, container, composer, header, find, swap, close, dropArea: root };
}

async function start() {
  const bootstrap = withAccount(JSON.parse(document.getElementById('bootstrap').textContent));
  if (!bootstrap) {
    location.replace('/login');
    return;
  }
  if (leadsToDomain(bootstrap)) return;
  if (bootstrap.is_installable) keepShell();
  const events = createEvents();
  let kept = null;
  const session = watchSession({ email: bootstrap.user_email, kept: () => kept });
  const api = createApi({
    user: bootstrap.user_email, onBusy: createBusyBar(), onVersion: createVersionWatch(),
    onUnauthorized: session.onUnauthorized, onOtherAccount: session.onOtherAccount,
  });
  // A page that the browser kept may have no server, and no session.
  if (!bootstrap.is_shell) askAhead(api, bootstrap);
  installCopyFallbacks();
  const announcer = element('p', { id: 'announcer', class: 'visually-hidden', role: 'status' });
  document.body.append(announcer);
  const announce = createAnnouncer(announcer);

  kept = await openKept(bootstrap.user_email, tellUnkept);
  // Edits, uploads and messages on their way are looked for once, when a conversation is opened: nothing can be pressed before.
  await kept.ready();
  await takeOverDrafts(kept, bootstrap.user_email);
  const store = new Store({ isSeen: () => !document.hidden });
  const sidebar = mountSidebar({ api, store, events, bootstrap, kept, announce });
  sidebar.refresh();
  mountModelStatus(document.getElementById('model-status'), api, events);
  const page = { api, events, store, bootstrap, kept, announce, logOut: session.logOut, frame: panelFrame(), conversationMenu: sidebar.conversationMenu };
  mountProposalCount(document.getElementById('open-proposals'), page);
  offerPanels(page);
  offerShortcuts(page);
  offerWelcome(page);
  followActions(page);
  tidyKept(page);
  followDay();
  showAccount(page);
  followChanges({ ...page, onReset: () => sidebar.refresh() });
  const conversations = new Sides(page, firstPlace(), secondPlace);
  conversations.start().finally(() => api.ahead.forget());
  if (bootstrap.is_shell) followReturn(page, { sidebar, conversations });
}

start();
