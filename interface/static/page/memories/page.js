/** What the tabs of the Memories panel share: the server, the catalogues, how to say that something failed or is done. */

import { createDocumentsApi } from '../documents/api.js';
import { createMemoriesApi } from './api.js';
import { memoriesStrings } from '../strings/en/memories.js';
import { categoryLabel } from './memory_model.js';
import { VIEW } from '../core/browser_storage/kept.js';
import { FilingTree } from './filing/tree_model.js';
import { attempt as attemptWith } from '../ui/notices/attempts.js';
import { showToast } from '../ui/notices/toast.js';

const words = memoriesStrings.panel;
/** The names of what a person types. */
const TYPED = /^(?:draft|many|text|ingest_text|edit:.*|context:.*)$/;

/**
 * What forms of the panel keep by name: what is typed in them, and how they are shown. `get` gives null for what is not there; `onLate`
 * tells the name of what the browser's database brings after the panel has waited for it.
 */
function createStore(kept) {
  const prefix = 'memories:';
  const kindOf = (name) => (TYPED.test(name) ? 'form' : VIEW);
  return {
    get: (name) => kept.get(kindOf(name), prefix + name),
    set: (name, value) => kept.set(kindOf(name), prefix + name, value === '' ? null : value),
    ready: () => kept.ready(),
    onLate: (listener) => kept.follow(({ id, isLate }) => isLate && id.startsWith(prefix) && listener(id.slice(prefix.length))),
  };
}

/** Types, domains and contexts, asked for once and again after a change. A failed request is not remembered. */
function createCatalogue(api) {
  const kept = new Map();

  function once(name, ask) {
    if (!kept.has(name)) {
      const asked = ask();
      kept.set(name, asked);
      asked.catch(() => kept.delete(name));
    }
    return kept.get(name);
  }

  const options = (list) => list.map((each) => [each.name, categoryLabel(each)]);
  return {
    /** @returns {Promise<Array<[string, string]>>} name and label */
    types: () => once('types', async () => options((await api.pkbTypes()).types)),
    domains: () => once('domains', async () => options((await api.pkbDomains()).domains)),
    /** @returns {Promise<FilingTree>} */
    contexts: () => once('contexts', async () =>
      new FilingTree((await api.pkbContexts()).contexts, { id: 'context_id', parent: 'parent_context_id' })),
    forget: () => kept.clear(),
  };
}

/**
 * @param {{api: object, events: object, kept: object, announce: (text: string) => void, conversationId: () => string|null, state: () => object, go: (changes: object, options?: object) => void,
 *          refresh: () => void, close: () => void, writeMessage: () => void}} panel `writeMessage` leads to where messages are written
 */
export function createMemoriesPage({ api, events, kept, announce, conversationId, state, go, refresh, close, writeMessage }) {
  const memories = createMemoriesApi(api);
  const catalogue = createCatalogue(memories);
  let pinnedHere = new Set();
  let telling = false;

  /** Other parts of the page may show what changed; the open tab is shown anew unless it has done so itself. */
  function changed({ show = true } = {}) {
    catalogue.forget();
    telling = true;
    events.emit('memories:changed', {});
    telling = false;
    if (show) refresh();
  }

  events.on('memories:changed', () => {
    if (telling) return;
    catalogue.forget();
    refresh();
  });

  /**
   * Runs `job`; what it throws is said, with a way to try again: see `ui/notices/attempts.js`.
   *
   * @param {() => Promise<any>} job
   * @param {{again?: () => void, creates?: boolean}} [options]
   * @returns {Promise<any>} null where it was given up
   */
  const attempt = (job, options = {}) => attemptWith(job, { failed: words.failed, ...options });

  /** @returns {Promise<boolean>} whether the change was taken back */
  async function undo(auditId) {
    const done = await attempt(() => memories.pkbUndo(auditId));
    if (!done) return false;
    showToast(words.undone, { kind: 'success' });
    changed();
    return true;
  }

  /** Says what was done, with a way to take it back where the server kept one. */
  function tellDone(text, auditId) {
    showToast(text, auditId ? { actionLabel: words.undo, onAction: () => undo(auditId) } : { kind: 'success' });
  }

  /** Which memories are pinned to the open conversation; the menu of a memory has to know at once. */
  async function lookUpPins() {
    const id = conversationId();
    try {
      const { claims } = id ? await memories.pkbConversationPinned(id) : { claims: [] };
      pinnedHere = new Set(claims.map(({ claim_id: claimId }) => claimId));
      if (pinnedHere.size) refresh();
    } catch {
      pinnedHere = new Set();
    }
  }

  return {
    api: memories, documents: createDocumentsApi(api), events, catalogue, conversationId, state, go, refresh, close, writeMessage, changed, attempt, undo, tellDone, lookUpPins, announce,
    store: createStore(kept),
    isPinnedHere: (claimId) => pinnedHere.has(claimId),
    setPinnedHere: (claimIds) => {
      pinnedHere = new Set(claimIds);
    },
  };
}
