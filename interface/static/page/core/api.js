/**
 * The one place that calls the server. Every method returns the decoded JSON, or throws an `ApiError`.
 */

import { strings } from '../strings/en/conversation.js';
import { bringWordsFor, saidText, wordsOfError } from './words/said.js';

const VERSION_PATIENCE_MS = 10_000;
/** The server has another version of the page: only a reload helps. */
const OUTDATED = 'page_outdated';

/** What the server (or the way to it) answered instead of a result. `code` is `network_failed` when nothing answered. */
export class ApiError extends Error {
  constructor({ status = 0, code = 'network_failed', message = '', details = null, retryAfter = null }) {
    super(message || code);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.details = details;
    this.retryAfter = retryAfter;
  }
}

/**
 * Whether what went wrong may go well the next time: nobody answered, or the server could not do it now.
 *
 * @param {Error} error
 * @returns {boolean}
 */
export function mayPass(error) {
  if (error.code === OUTDATED) return false;
  return !(error instanceof ApiError) || error.status === 0 || error.status === 429 || error.status >= 500;
}

/** Asked each time a part of the page does not come. */
let isOutdated = async () => false;

/** @param {() => Promise<boolean>} listener tells whether the server has another version of the page by now */
export const followMissingParts = (listener) => {
  isOutdated = listener;
};

/** @returns {Promise<string|null>} the version of the page that the server has; null where it can't be reached */
export async function serverVersion() {
  try {
    const { headers } = await fetch('/manifest.webmanifest', { method: 'HEAD', cache: 'no-store', signal: AbortSignal.timeout(VERSION_PATIENCE_MS) });
    return headers.get('X-Anaphora-Version');
  } catch {
    return null;
  }
}

/**
 * Brings a part of the page that is loaded when it is first needed.
 *
 * @template T
 * @param {() => Promise<T>} load imports it
 * @returns {Promise<T>}
 * @throws {ApiError} `network_failed` where it does not come: of that, browsers only say an address; `page_outdated` where the server has
 *   another version of the page, whose parts do not fit
 */
export async function bring(load) {
  try {
    return await load();
  } catch (error) {
    const isMissing = error instanceof TypeError;
    // A part of another version may lack what is asked of it. Any other mistake in the part itself is no matter of the network.
    if (!isMissing && !(error instanceof SyntaxError)) throw error;
    if (await isOutdated()) throw new ApiError({ code: OUTDATED, message: strings.outdated });
    throw isMissing ? new ApiError({ message: strings.unreachable }) : error;
  }
}

/** How long an answer may take, in milliseconds; of a stream, its beginning. */
const PATIENCE_MS = 30_000;
/** The same for what a model works on, and for whole libraries. */
export const LONG_PATIENCE_MS = 600_000;
const LONGEST_RETRY_SECONDS = 3600;

/** What the browser says of a request without an answer. */
function errorOf(error) {
  if (error.name === 'TimeoutError') return new ApiError({ code: 'timed_out', message: strings.timedOut });
  return error instanceof TypeError ? new ApiError({ message: strings.unreachable }) : error;
}

/** Calls `onBusy(true)` when the first of several jobs begins, `onBusy(false)` when the last has ended. */
function createCounter(onBusy) {
  let open = 0;
  return async (job) => {
    open += 1;
    if (open === 1) onBusy(true);
    try {
      return await job();
    } finally {
      open -= 1;
      if (open === 0) onBusy(false);
    }
  };
}

const part = encodeURIComponent;
/** Of requests that no person waits for: what is looked at from time to time, or offered while somebody types. */
const quietly = (options) => ({ ...options, quiet: true });

const JSON_TYPE = 'application/json';

/** What a body is sent as. The browser itself names the parts of a form. @returns {string} '' where nothing is to be said */
function contentType(body) {
  if (body === undefined || body instanceof FormData) return '';
  return body instanceof Blob ? 'application/octet-stream' : JSON_TYPE;
}

function withQuery(path, query = {}) {
  const filled = Object.entries(query).filter(([, value]) => value !== undefined && value !== null);
  const search = new URLSearchParams(filled.map(([key, value]) => [key, String(value)])).toString();
  return search ? `${path}?${search}` : path;
}

/**
 * What an error of the server says: in words of the page's language where there are any for its code. Where the code is a
 * general one, the words quote the server's own sentence, which says more.
 *
 * @param {{code?: string, message?: string, said?: import('./words/said.js').Saying[]}|null|undefined} error
 * @returns {string|undefined}
 */
export function errorText(error) {
  if (error?.said) return saidText(error.message, error.said);
  const words = wordsOfError(error?.code);
  return typeof words === 'function' ? words(error.message ?? '') : words ?? error?.message;
}

/** What an answer holds, once the page has the words for what the server says in it. */
async function decoded(text) {
  await bringWordsFor(text);
  return JSON.parse(text);
}

/** What a gateway says that stands before the server and does not reach it, as while that is started again. */
const GATEWAY = new Set([502, 503, 504]);

/** What an answer without an error of the server's own says: what stands there instead is none of our words. */
const foreignText = ({ status, statusText }) => (GATEWAY.has(status) ? strings.unreachable : statusText);

async function errorFrom(response) {
  const body = await response.text().then(decoded).catch(() => ({}));
  // At most an hour: a used-up quota of a month gives weeks, and timers of more than 24 days go off at once.
  const seconds = Math.min(Number(response.headers.get('Retry-After')), LONGEST_RETRY_SECONDS);
  return new ApiError({
    status: response.status,
    code: body.code ?? `http_${response.status}`,
    message: errorText(body) ?? foreignText(response),
    details: body.details ?? null,
    retryAfter: Number.isFinite(seconds) && seconds > 0 ? seconds : null,
  });
}

/**
 * The cursor in a `Link: <…>; rel=next` header.
 *
 * @param {string|null} header
 * @returns {string|null}
 */
export function nextCursor(header) {
  const link = /<([^>]*)>\s*;\s*rel="?next"?/.exec(header ?? '');
  return link ? new URL(link[1], 'http://relative.invalid').searchParams.get('cursor') : null;
}

/**
 * @param {object} [options]
 * @param {typeof globalThis.fetch} [options.fetch]
 * @param {string} [options.user] whose page it is: a session of another account is refused
 * @param {(request: {quiet: boolean}) => void} [options.onUnauthorized]
 * @param {() => void} [options.onOtherAccount]
 * @param {(busy: boolean) => void} [options.onBusy] tells when requests that somebody waits for begin and end
 * @param {(version: string|null) => void} [options.onVersion] told with each answer: the server's version of the page
 * @param {number} [options.patience] in milliseconds
 */
export function createApi({
  fetch = (...args) => globalThis.fetch(...args), user = '', onUnauthorized = () => {}, onOtherAccount = () => {}, onBusy = () => {},
  onVersion = () => {}, patience: usual = PATIENCE_MS,
} = {}) {
  const counted = createCounter(onBusy);

  /** The raw response of a request that succeeded. `quiet`: nobody waits for it. */
  function open(method, path, { quiet = false, ...options } = {}) {
    return quiet ? ask(method, path, options, true) : counted(() => ask(method, path, options, false));
  }

  /** Waits so long for an answer to begin. */
  async function ask(method, path, { patience = usual, signal, ...options }, quiet) {
    const late = new AbortController();
    const timer = setTimeout(() => late.abort(new DOMException('late', 'TimeoutError')), patience);
    try {
      return await answerTo(method, path, { ...options, quiet, signal: signal ? AbortSignal.any([signal, late.signal]) : late.signal });
    } finally {
      clearTimeout(timer);
    }
  }

  async function answerTo(method, path, { query, body, signal, quiet, accept = 'application/json', headers: more = {} }) {
    const headers = { Accept: accept, ...more, ...(user ? { 'X-Anaphora-User': encodeURIComponent(user) } : {}) };
    const type = contentType(body);
    if (type) headers['Content-Type'] = type;
    let response;
    try {
      response = await fetch(withQuery(path, query), {
        method,
        headers,
        body: type === JSON_TYPE ? JSON.stringify(body) : body,
        credentials: 'same-origin',
        cache: 'no-store',
        signal,
      });
    } catch (error) {
      throw errorOf(error);
    }
    onVersion(response.headers.get('X-Anaphora-Version'));
    if (response.ok) return response;
    if (response.status === 401) onUnauthorized({ quiet });
    const error = await errorFrom(response);
    if (error.code === 'other_account') onOtherAccount();
    throw error;
  }

  async function request(method, path, { signal, patience = usual, ...options }) {
    const whole = AbortSignal.timeout(patience);
    try {
      const response = await open(method, path, { ...options, patience, signal: signal ? AbortSignal.any([signal, whole]) : whole });
      return response.status === 204 ? null : await decoded(await response.text());
    } catch (error) {
      throw errorOf(error);
    }
  }

  /** Answers that were asked for ahead, by their address. */
  const ahead = new Map();

  function getAhead(path, query) {
    const asked = request('GET', path, { query });
    // Of a failure, whoever wants the answer tells.
    asked.catch(() => {});
    ahead.set(withQuery(path, query), asked);
    return asked;
  }

  async function get(path, query, { signal, quiet, patience } = {}) {
    const address = withQuery(path, query);
    const asked = ahead.get(address);
    if (!asked) return request('GET', path, { query, signal, quiet, patience });
    ahead.delete(address);
    const answer = await asked;
    signal?.throwIfAborted();
    return answer;
  }

  /** One page of a list: `{items, cursor}`, `cursor` null at the end. */
  async function getPage(path, query) {
    const response = await open('GET', path, { query });
    return { items: await response.json(), cursor: nextCursor(response.headers.get('Link')) };
  }

  const post = (path, body = {}, { signal, quiet, patience } = {}) => request('POST', path, { body, signal, quiet, patience });
  const patch = (path, body = {}) => request('PATCH', path, { body });
  const put = (path, body = {}, { headers } = {}) => request('PUT', path, { body, headers });
  const remove = (path, body, { headers } = {}) => request('DELETE', path, { body, headers });
  /** Sends files: those of a form, or one alone. @param {FormData|Blob} files */
  const upload = (path, files, { query, signal } = {}) => request('POST', path, { query, body: files, signal, patience: LONG_PATIENCE_MS });

  /**
   * Stores a file for a message. Of `fetch`, no progress is heard.
   *
   * @param {File} file
   * @param {{onProgress: (share: number) => void, signal: AbortSignal}} options `share`: how much is sent, 0 to 1
   * @returns {Promise<object>} what the server knows of the file
   */
  function uploadFile(file, { onProgress, signal }) {
    return counted(() => new Promise((resolve, reject) => {
      const request = new XMLHttpRequest();
      const lost = () => reject(new ApiError({ message: strings.unreachable }));
      request.open('POST', withQuery('/attachments', { name: file.name || 'file' }));
      request.setRequestHeader('Content-Type', 'application/octet-stream');
      if (user) request.setRequestHeader('X-Anaphora-User', encodeURIComponent(user));
      request.upload.addEventListener('progress', ({ loaded, total }) => onProgress(total > 0 ? loaded / total : 0));
      request.addEventListener('error', lost);
      request.addEventListener('abort', () => reject(new DOMException('aborted', 'AbortError')));
      request.addEventListener('load', () => {
        if (request.status === 201) decoded(request.responseText).then(resolve, reject);
        else if (request.status === 0) lost();
        else errorFrom(new Response(request.responseText, { status: request.status })).then(reject);
      });
      signal.addEventListener('abort', () => request.abort(), { once: true });
      request.send(file);
    }));
  }

  return {
    open,
    get,
    getPage,
    post,
    patch,
    put,
    delete: remove,
    upload,
    uploadFile,
    aboutFileText: (id, page, options) => get(`/attachments/${part(id)}/text`, { page }, options),
    discardFile: (id) => remove(`/attachments/${part(id)}`),
    /** Calls for what is certainly wanted soon: the first of the usual calls for the same takes the answer. */
    ahead: {
      ...conversationCalls({ get: getAhead }), ...messageCalls({ get: getAhead }), ...workspaceCalls({ get: getAhead }),
      /** What nobody took is asked for anew by whoever wants it from now on. */
      forget: () => ahead.clear(),
    },
    ...conversationCalls({ getPage, get, patch, post, put, remove }),
    ...messageCalls({ open, get, post, put, remove }),
    ...referenceCalls({ get }),
    ...workspaceCalls({ get, post, put, remove }),
    models: (options) => get('/models', {}, quietly(options)),
    tools: () => get('/api/tools'),
    /** The stream of changes from a position on. */
    watchChanges: (query, { signal } = {}) => open('GET', '/events', { query, signal, accept: 'application/x-ndjson', quiet: true }),
  };
}

function conversationCalls({ getPage, get, patch, post, put, remove }) {
  return {
    listConversations: (domain, query = {}) => get(`/list_conversation_by_user/${part(domain)}`, query),
    /** The same with only what a tree shows, for all of them: see `wholeOf`. */
    listBriefly: (domain, query = {}) => get(`/list_conversation_by_user/${part(domain)}`, { ...query, brief: true }),
    /** One page of the list: `{conversations, cursor}`, `cursor` null at the end. */
    async listConversationsPage(domain, query = {}) {
      const { items: conversations, cursor } = await getPage(`/list_conversation_by_user/${part(domain)}`, query);
      return { conversations, cursor };
    },
    /** The conversation of this `clientId`, which the first request creates. */
    createConversation: (domain, { clientId, workspaceId }) =>
      post(`/create_conversation/${part(domain)}/${workspaceId ? part(workspaceId) : ''}`, { client_id: clientId }),
    getConversationDetails: (id, options) => get(`/get_conversation_details/${part(id)}`, {}, options),
    getConversationSettings: (id) => get(`/get_conversation_settings/${part(id)}`),
    /** Changes those settings that are given; null takes one away. */
    changeConversationSettings: (id, settings) => patch(`/conversations/${part(id)}/settings`, settings),
    setConversationTitle: (id, title) => put(`/conversations/${part(id)}/title`, { title }),
    cloneConversation: (id, clientId) => post(`/clone_conversation/${part(id)}`, { client_id: clientId }),
    deleteConversation: (id) => remove(`/delete_conversation/${part(id)}`),
    restoreConversation: (id) => post(`/restore_conversation/${part(id)}`),
    ...conversationStateCalls({ get, post, put, remove }),
  };
}

function conversationStateCalls({ get, post, put, remove }) {
  return {
    archiveConversation: (id, archived) => post(`/archive_conversation/${part(id)}`, { archived }),
    pinConversation: (id) => put(`/conversations/${part(id)}/pin`),
    unpinConversation: (id) => remove(`/conversations/${part(id)}/pin`),
    setTags: (id, tags) => put(`/conversations/${part(id)}/tags`, { tags }),
    listTags: (domain, options) => get(`/conversation_tags/${part(domain)}`, {}, options),
    createTemporaryConversation: (domain, { clientId }) => post(`/create_temporary_conversation/${part(domain)}`, { client_id: clientId }),
    listBin: (domain) => get(`/bin/${part(domain)}`),
    eraseConversation: (id) => remove(`/bin/${part(id)}`),
    emptyBin: (domain) => post(`/empty_bin/${part(domain)}`),
  };
}

function messageCalls({ open, get, post, put, remove }) {
  return {
    /** Messages of a window; `before`, `after`, `around` are message indexes (`around` also an id or a hash). */
    listMessages: (id, window = {}, options) => get(`/list_messages_by_conversation/${part(id)}`, window, options),
    /** Activities between the messages of a window, each with its place; `before` is a `seq`. */
    listActivities: (id, window = {}, options) => get(`/api/conversations/${part(id)}/activities`, window, options),
    findInConversation: (id, q, options) => get(`/find_in_conversation/${part(id)}`, { q }, options),
    /** `basedOn`: what the message said when it was changed; one that says something else by now is refused. */
    editMessage: (id, messageId, index, text, basedOn) =>
      post(`/edit_message_from_conversation/${part(id)}/${part(messageId)}/${index}`, { text, based_on: basedOn }),
    deleteMessage: (id, messageId, index) =>
      remove(`/delete_message_from_conversation/${part(id)}/${part(messageId)}/${index}`),
    restoreMessage: (id, messageId) => post(`/restore_message/${part(id)}/${part(messageId)}`),
    /** @param {'show'|'hide'} how whether models see it */
    showOrHideMessage: (id, messageId, index, how) =>
      post(`/show_hide_message_from_conversation/${part(id)}/${part(messageId)}/${index}`, { show_hide: how }),
    listEdits: (messageId, options) => get(`/messages/${part(messageId)}/edits`, {}, options),
    listVariants: (messageId, options) => get(`/messages/${part(messageId)}/variants`, {}, options),
    pinMessage: (messageId) => put(`/messages/${part(messageId)}/pin`),
    unpinMessage: (messageId) => remove(`/messages/${part(messageId)}/pin`),
    filesOfConversation: (id) => get(`/conversations/${part(id)}/files`),
    listPinnedMessages: (id, options) => get(`/conversations/${part(id)}/pinned_messages`, {}, options),
    forkConversation: (id, messageId, clientId) =>
      post(`/fork_conversation/${part(id)}/${part(messageId)}`, { client_id: clientId }),
    /** Makes an answer again: the response whose body is its event stream. `clientId` names the wish: sent twice, it is one. */
    regenerate: (id, messageId, clientId, { signal } = {}) =>
      open('POST', `/regenerate/${part(id)}/${part(messageId)}`, { body: { client_message_id: clientId }, signal, accept: 'application/x-ndjson' }),
    continueAnswer: (id, messageId, clientId, { signal } = {}) =>
      open('POST', `/continue/${part(id)}/${part(messageId)}`, { body: { client_message_id: clientId }, signal, accept: 'application/x-ndjson' }),
    /** Asks a question in the place of another; `asked` is `{text, client_message_id}`. */
    askInstead: (id, messageId, asked, { signal } = {}) =>
      open('POST', `/branch/${part(id)}/${part(messageId)}`, { body: asked, signal, accept: 'application/x-ndjson' }),
    chooseBranch: (messageId, number) => put(`/branch/${part(messageId)}/${number}`),
    /** Chooses the branch that a message lies in. */
    chooseBranchWith: (messageId) => put(`/branch/${part(messageId)}`),
    conversationUsage: (id) => get(`/usage/${part(id)}`),
    listBranches: (id) => get(`/branches/${part(id)}`),
    chooseVariant: (messageId, number) => put(`/variant/${part(messageId)}/${number}`),
    moveMessages: (id, messageIds, direction) =>
      post(`/move_messages_up_or_down/${part(id)}`, { message_ids: messageIds, direction }),
    /** Starts a turn: the response whose body is the answer's event stream. */
    sendMessage: (id, payload, { signal } = {}) =>
      open('POST', `/send_message/${part(id)}`, { body: payload, signal, accept: 'application/x-ndjson' }),
    /** Watches an answer from the event after number `after` on: the response with the event stream. */
    watchStream: (messageId, after, { signal } = {}) =>
      open('GET', `/stream/${part(messageId)}`, { query: { after }, signal, accept: 'application/x-ndjson', quiet: true }),
    cancelResponse: (id) => post(`/cancel_response/${part(id)}`),
  };
}

function referenceCalls({ get }) {
  return {
    /** `withUnnamed`: also new and empty ones, to which nothing can refer. */
    autocompleteConversations: (q, { domain, limit = 10, withUnnamed } = {}, options) =>
      get('/conversations/autocomplete', { q, domain, limit, with_unnamed: withUnnamed }, options),
    findMessages: (friendlyId, q, { limit = 20 } = {}, options) =>
      get(`/conversations/${part(friendlyId)}/messages`, { q, limit }, options),
    suggestReferences: (q, { limit = 10, conversationId = null, without = null } = {}, options) =>
      get('/references/suggest', { q, limit, conversation_id: conversationId, without: without?.join(',') }, options),
    /** The documents that a conversation rests on, and others that may belong to it. */
    conversationDocuments: (id, options) => get(`/conversations/${part(id)}/documents`, {}, options),
    resolveReference: (ref, { conversationId, ...options } = {}) =>
      get('/references/resolve', { ref, conversation_id: conversationId || null }, quietly(options)),
    /** A message or another activity, in whichever conversation. */
    getActivity: (activityId, options) => get(`/api/activities/${part(activityId)}`, {}, options),
    /** The messages that refer to a whole conversation, or to a range of it. */
    listBacklinksOfConversation: (id) => get(`/conversations/${part(id)}/backlinks`),
    listBacklinks: (messageId) => get(`/messages/${part(messageId)}/backlinks`),
  };
}

function workspaceCalls({ get, post, put, remove }) {
  return {
    listWorkspaces: (domain) => get(`/list_workspaces/${part(domain)}`),
    createWorkspace: (domain, name, { color, parentId } = {}) =>
      post(`/create_workspace/${part(domain)}/${part(name)}`, { workspace_color: color, parent_workspace_id: parentId }),
    updateWorkspace: (id, changes) => put(`/update_workspace/${part(id)}`, changes),
    collapseWorkspaces: (workspaceIds) => post('/collapse_workspaces', { workspace_ids: workspaceIds }),
    deleteWorkspace: (domain, id) => remove(`/delete_workspace/${part(domain)}/${part(id)}`),
    moveWorkspace: (id, parentId) => put(`/move_workspace/${part(id)}`, { parent_workspace_id: parentId }),
    getWorkspacePath: (id) => get(`/get_workspace_path/${part(id)}`),
  };
}
