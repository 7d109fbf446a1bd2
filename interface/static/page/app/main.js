/** The entry of the page: makes the parts and ties them together. */

import { bring, createApi } from '../core/api.js';
import { followAddress, panelInAddress, writePanel } from '../core/address.js';
import { createEvents } from '../core/events.js';
import { createDrafts } from '../core/drafts.js';
import { openKept } from '../core/kept.js';
import { shellStrings } from '../strings/en/shell.js';
import { Store } from '../core/store.js';
import { createBusyBar } from '../ui/busy_bar.js';
import { shortcutOf } from './shortcuts/shortcuts_model.js';
import { followChanges } from './live.js';
import { attempt } from '../ui/attempts.js';
import { installCopyFallbacks } from '../ui/copy_fallbacks.js';
import { element } from '../ui/dom.js';
import { mountModelStatus } from '../composer/models/status.js';
import { mountSidebar } from '../sidebar/sidebar.js';
import { watchSession } from '../ui/session.js';
import { showToast } from '../ui/toast.js';
import { createVersionWatch } from '../ui/version.js';
import { keepShell, withAccount } from '../ui/installed.js';
import { ConversationPage } from '../conversation/page.js';

/** What can stand in the place of the conversation while the address says so, each loaded when it first does. */
const PANELS = {
  knowledge: (page) => bring(() => import('../memories/panel.js')).then(({ mountKnowledge }) => mountKnowledge(page)),
  search: (page) => bring(() => import('../search/panel.js')).then(({ mountSearch }) => mountSearch(page)),
};

/** A temporary conversation, which is in no list, lives for a day. */
const YOUNG_DRAFT_MS = 2 * 24 * 3600 * 1000;
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

  for (const name of Object.keys(PANELS)) {
    const button = document.getElementById(`open-${name}`);
    button.addEventListener('pointerenter', () => load(name).catch(() => {}), { once: true });
    button.addEventListener('click', () => {
      if (panelInAddress() !== name) writePanel(`?panel=${name}`);
      follow();
    });
    page.events.on(`${name}:open`, async (target) => {
      await withPanel(name, (panel) => panel.open(target));
      await leaveOthers(name);
    });
  }
  followAddress(async ({ closesPanel }) => {
    await follow();
    if (closesPanel) document.getElementById('composer-input').focus();
  });
  page.events.on('conversation:shown', follow);
}

/** Where there is no conversation to find in, and where it is found in already, Ctrl+F is the browser's. */
const mayFind = ({ target }, { store }) =>
  store.openId !== null && !document.documentElement.dataset.panel && !target.closest?.('.find-bar');

/** What keys do is loaded with the first that does something. */
function offerShortcuts(page) {
  const failed = shellStrings.sidebar.actionFailed;
  const run = (name) => attempt(async () => (await bring(() => import('./shortcuts/run.js'))).runShortcut(name, page), { failed });

  addEventListener('keydown', (event) => {
    const name = shortcutOf(event);
    if (!name || document.querySelector('dialog[open]') || (name === 'find' && !mayFind(event, page))) return;
    event.preventDefault();
    // What is typed next is meant for the bar, so that it can't wait to be loaded.
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

/** Opens the welcome conversation for a new account, and offers the messages that a conversation suggests. */
function offerWelcome(page) {
  const failed = shellStrings.sidebar.actionFailed;
  let clear = () => {};

  async function suggest({ conversation_id: conversationId, conversation_settings: { suggestions }, messages }) {
    if (!suggestions?.length) return;
    const views = await bring(() => import('../conversation/welcome/suggested_messages.js'));
    clear = views.clearSuggestedMessages;
    const isOpen = () => page.store.openId === conversationId;
    await views.showSuggestedMessages(suggestions, { api: page.api, events: page.events, conversationId, messages, isOpen });
  }

  page.events.on('conversation:shown', () => clear());
  page.events.on('conversation:loaded', (details) => attempt(() => suggest(details), { failed }));
  if (!new URLSearchParams(location.search).has('welcome')) return;
  attempt(async () => (await bring(() => import('../conversation/welcome/welcome.js'))).beginWelcome(page), { failed });
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
    const { takeFormerDrafts } = await bring(() => import('../core/former_drafts.js'));
    await takeFormerDrafts(kept, localStorage, owner);
  } catch {
    // The browser forbids its storage, or the part does not come: they wait there.
  }
}

/** Removes drafts of conversations that are gone for good: those that are old, and that the page does not know. */
function forgetDrafts({ api, kept, store, bootstrap }) {
  setTimeout(async () => {
    const ids = createDrafts(kept).untouchedSince(Date.now() - YOUNG_DRAFT_MS).filter((id) => !store.conversation(id));
    if (ids.length === 0) return;
    const { dropForgottenDrafts } = await bring(() => import('./forgotten_drafts.js'));
    await dropForgottenDrafts({ api, kept, domain: bootstrap.domain, ids });
  }, UNHURRIED_MS);
}

/** A page that came without a network shows what the server has, once that can be reached. */
function followReturn({ events, store, bootstrap }, { sidebar, conversation }) {
  document.querySelector('.sidebar-user-name').textContent = bootstrap.name || bootstrap.user_email;
  document.querySelector('.user-menu-email').textContent = bootstrap.user_email;
  const stop = events.on('changes:alive', () => {
    stop();
    sidebar.refresh();
    if (store.openId) conversation.open(store.openId, { history: 'none' });
  });
}

async function start() {
  const bootstrap = withAccount(JSON.parse(document.getElementById('bootstrap').textContent));
  if (!bootstrap) {
    location.replace('/login');
    return;
  }
  if (bootstrap.is_installable) keepShell();
  const events = createEvents();
  let kept = null;
  const api = createApi({
    user: bootstrap.user_email, onBusy: createBusyBar(), onVersion: createVersionWatch(),
    ...watchSession({ email: bootstrap.user_email, kept: () => kept }),
  });
  installCopyFallbacks();
  document.body.append(element('p', { id: 'announcer', class: 'visually-hidden', role: 'status' }));

  kept = await openKept(bootstrap.user_email);
  await takeOverDrafts(kept, bootstrap.user_email);
  const store = new Store({ isSeen: () => !document.hidden });
  const sidebar = mountSidebar({ api, store, events, bootstrap, kept });
  sidebar.refresh();
  mountModelStatus(document.getElementById('model-status'), api, events);
  const page = { api, events, store, bootstrap, kept, conversationMenu: sidebar.conversationMenu };
  offerPanels(page);
  offerShortcuts(page);
  offerWelcome(page);
  followActions(page);
  forgetDrafts(page);
  followChanges({ ...page, onReset: () => sidebar.refresh() });
  const conversation = new ConversationPage(page);
  conversation.start();
  if (bootstrap.is_shell) followReturn(page, { sidebar, conversation });
}

start();
