/** The account page: what the model should know, the password, the devices and the tokens. */

import { copyText } from '../lib/clipboard.js';
import { shellStrings } from '../lib/shell_strings.js';
import { shortTime } from '../lib/times.js';
import { deviceName } from '../models/device_name.js';
import { confirmAction, showValue } from './dialogs.js';
import { element } from './dom.js';
import { showToast } from './toast.js';

const words = shellStrings.account;
const part = encodeURIComponent;

/** Runs `job` with the form's buttons disabled; what it throws becomes a message. */
async function busy(form, job) {
  const buttons = form.querySelectorAll('button');
  for (const button of buttons) button.disabled = true;
  try {
    await job();
  } catch (error) {
    showToast(words.failed(error.message), { kind: 'error' });
  } finally {
    for (const button of buttons) button.disabled = false;
  }
}

function onSubmit(form, job) {
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    busy(form, job);
  });
}

function record({ name, badge, note, onRevoke, revokeLabel = words.revoke }) {
  const title = element('div', { class: 'record-name', text: name });
  if (badge) title.append(element('span', { class: 'record-badge', text: badge }));
  const revoke = onRevoke
    ? element('button', {
        type: 'button',
        class: 'btn btn-quiet',
        text: revokeLabel,
        'aria-label': `${revokeLabel}: ${name}`,
        onclick: onRevoke,
      })
    : null;
  const text = element('div', { class: 'record-words' }, title, element('div', { class: 'record-note', text: note }));
  return element('li', { class: 'record' }, text, revoke);
}

/** Ask, delete `path`, and show the list anew. */
async function revoke({ api, path, title, text, show }) {
  if (!(await confirmAction({ title, text, confirmLabel: words.revoke }))) return;
  try {
    await api.delete(path);
  } catch (error) {
    showToast(words.failed(error.message), { kind: 'error' });
  }
  await show();
}

function mountSessions(api) {
  const list = document.getElementById('session-list');

  function row(session) {
    const { session_id: id, user_agent: agent, address, last_seen_at: seen, current } = session;
    const name = deviceName(agent) || words.unknownDevice;
    const path = `/sessions/${part(id)}`;
    return record({
      name,
      badge: current ? words.current : null,
      note: [address, words.lastSeen(shortTime(seen))].filter(Boolean).join(' · '),
      onRevoke: current
        ? null
        : () => revoke({ api, path, title: words.revokeSession, text: words.revokeSessionText, show }),
    });
  }

  async function show() {
    list.replaceChildren(...(await api.get('/sessions')).map(row));
  }

  return show;
}

function mountTokens(api) {
  const list = document.getElementById('token-list');
  const form = document.getElementById('token-form');
  const name = document.getElementById('token-name');
  const readOnly = document.getElementById('token-read-only');

  function row(token) {
    const path = `/api_tokens/${part(token.token_id)}`;
    const used = words.lastUsed(token.last_used_at && shortTime(token.last_used_at));
    return record({
      name: token.name,
      badge: token.read_only ? words.readOnly : null,
      note: `${words.created(shortTime(token.created_at))} · ${used}`,
      onRevoke: () => revoke({ api, path, title: words.revokeToken(token.name), text: words.revokeTokenText, show }),
    });
  }

  async function show() {
    const rows = (await api.get('/api_tokens')).map(row);
    list.replaceChildren(...(rows.length ? rows : [element('li', { class: 'record record-note', text: words.noTokens })]));
  }

  onSubmit(form, async () => {
    const { token } = await api.post('/api_tokens', { name: name.value, read_only: readOnly.checked });
    form.reset();
    await Promise.all([
      show(),
      showValue({
        title: words.tokenTitle,
        text: words.tokenText,
        value: token,
        label: words.tokenTitle,
        closeLabel: words.close,
        copy: { label: words.copy, onCopy: async () => (await copyText(token)) && showToast(words.copied, { kind: 'success' }) },
      }),
    ]);
  });
  return show;
}

function mountAbout(api) {
  const detail = document.getElementById('user-detail');
  const preference = document.getElementById('user-preference');
  // Fields that other clients keep there stay as they are.
  let stored = { detail: {}, preference: {} };

  onSubmit(document.getElementById('about-form'), async () => {
    stored = {
      detail: { ...stored.detail, text: detail.value },
      preference: { ...stored.preference, text: preference.value },
    };
    await api.post('/modify_user_detail', stored.detail);
    await api.post('/modify_user_preference', stored.preference);
    showToast(words.saved, { kind: 'success' });
  });

  return async function show() {
    const [storedDetail, storedPreference] = await Promise.all([
      api.get('/get_user_detail'),
      api.get('/get_user_preference'),
    ]);
    stored = { detail: storedDetail, preference: storedPreference };
    detail.value = storedDetail.text ?? '';
    preference.value = storedPreference.text ?? '';
  };
}

function mountPassword(api, showSessions) {
  const form = document.getElementById('password-form');
  onSubmit(form, async () => {
    const { value: current } = document.getElementById('current-password');
    const { value: next } = document.getElementById('new-password');
    await api.put('/password', { current_password: current, new_password: next });
    form.reset();
    showToast(words.saved, { kind: 'success' });
    await showSessions();
  });
}

/**
 * @param {{api: object}} page
 * @returns {Promise<void>} when everything is shown
 */
export async function mountAccount({ api }) {
  const showSessions = mountSessions(api);
  mountPassword(api, showSessions);
  const results = await Promise.allSettled([mountAbout(api)(), showSessions(), mountTokens(api)()]);
  const failed = results.find(({ status }) => status === 'rejected');
  if (failed) showToast(words.failed(failed.reason.message), { kind: 'error' });
}
