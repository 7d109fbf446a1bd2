/** Devices and tokens: what may come in as this account. */

import { copyText } from '../core/clipboard.js';
import { settingsStrings as words } from '../strings/en/settings.js';
import { shortTime } from '../core/words/times.js';
import { deviceName } from './device_name_model.js';
import { attempt } from '../ui/notices/attempts.js';
import { confirmAction, showValue } from '../ui/controls/dialog.js';
import { element } from '../ui/dom.js';
import { fill, onSubmit, record, records } from './records.js';
import { showToast } from '../ui/notices/toast.js';

/** Asks, does it, and shows the list anew: also where the thing was gone already. */
async function confirmed(question, job, show) {
  if (!(await confirmAction(question))) return;
  await attempt(job, { failed: words.notDone });
  await show();
}

export function mountDevices(section, { settings }) {
  const place = section.querySelector('[data-fill]');

  function row(session) {
    const { session_id: id, user_agent: agent, address, last_seen_at: seen, current } = session;
    const question = { title: words.devices.endTitle, text: words.devices.endText, confirmLabel: words.revoke };
    return record({
      name: deviceName(agent) || words.devices.unknown,
      badges: current ? [words.devices.current] : [],
      note: [address, words.lastSeen(shortTime(seen))].filter(Boolean).join(' · '),
      actions: current ? [] : [{ label: words.revoke, onAct: () => confirmed(question, () => settings.endSession(id), show) }],
    });
  }

  function endOthers() {
    const { endOthers: text, endOthersTitle: title, endOthersText, endOthersConfirm: confirmLabel } = words.devices;
    const onclick = () => confirmed({ title, text: endOthersText, confirmLabel }, () => settings.endOtherSessions(), show);
    return element('p', { class: 'settings-actions' }, element('button', { type: 'button', class: 'btn btn-quiet', text, onclick }));
  }

  const list = (sessions) => [records(sessions.map(row)), ...(sessions.length > 2 ? [endOthers()] : [])];
  const show = (how) => fill(place, () => settings.sessions(), list, how);
  show();
  return show;
}

export function mountTokens(section, { settings }) {
  const place = section.querySelector('[data-fill]');
  const form = section.querySelector('form');
  const [name, readOnly] = ['token-name', 'token-read-only'].map((id) => document.getElementById(id));

  function row(token) {
    const used = words.tokens.lastUsed(token.last_used_at && shortTime(token.last_used_at));
    const question = { title: words.tokens.revokeTitle(token.name), text: words.tokens.revokeText, confirmLabel: words.revoke };
    return record({
      name: token.name,
      badges: token.read_only ? [words.tokens.readOnly] : [],
      note: `${words.created(shortTime(token.created_at))} · ${used}`,
      actions: [{ label: words.revoke, onAct: () => confirmed(question, () => settings.revokeToken(token.token_id), show) }],
    });
  }

  function list(tokens) {
    if (tokens.length === 0) return [element('p', { class: 'settings-state', text: words.tokens.none })];
    return [records(tokens.map(row))];
  }

  const show = (how) => fill(place, () => settings.tokens(), list, how);

  async function tell(token) {
    const onCopy = async () => (await copyText(token)) && showToast(words.copied, { kind: 'success' });
    const { title, text } = words.tokens;
    await showValue({ title, text, value: token, label: title, closeLabel: words.close, copy: { label: words.copy, onCopy } });
  }

  onSubmit(form, async () => {
    const { token } = await settings.createToken({ name: name.value, read_only: readOnly.checked });
    form.reset();
    show();
    tell(token);
  }, { running: words.tokens.creating, creates: true });
  show();
  return show;
}
