import { copyText } from '../../core/clipboard.js';
import { settingsStrings as words } from '../../strings/en/settings.js';
import { shortTime } from '../../core/words/times.js';
import { attempt } from '../../ui/notices/attempts.js';
import { showValue } from '../../ui/controls/dialog.js';
import { fill, onSubmit, record, records } from '../records.js';
import { showToast } from '../../ui/notices/toast.js';

const find = (id) => document.getElementById(id);

/** The invitations that can still be used, and a form that makes one; for administrators. @returns {(how?: object) => Promise<boolean>} shows them anew */
export function mountInvitations({ settings }) {
  const place = find('invitation-list');
  const form = find('invitation-form');
  const [email, uses] = ['invitation-email', 'invitation-uses'].map(find);

  async function withdraw(invitation) {
    await attempt(() => settings.withdrawInvitation(invitation.invitation_id), { failed: words.notDone });
    await show();
  }

  function row(invitation) {
    const { anybody, left, until, by, withdraw: label } = words.invitations;
    const { invited_email: invited, invited_by: inviter, uses_left: count, role, expires_at: expires } = invitation;
    return record({
      name: invited ?? anybody,
      badges: role === 'administrator' ? [words.people.admin] : [],
      note: [invited ? '' : left(count), until(shortTime(expires)), inviter ? by(inviter) : ''].filter(Boolean).join(' · '),
      actions: [{ label, onAct: () => withdraw(invitation) }],
    });
  }

  function read() {
    const address = email.value.trim();
    return {
      email: address || null,
      uses: address ? 1 : Number(uses.value),
      days: Number(find('invitation-days').value),
      role: find('invitation-admin').checked ? 'administrator' : 'member',
    };
  }

  async function give(made, sent) {
    const { linkTitle: title, linkText: text } = words.invitations;
    const value = new URL(made.path, location.origin).href;
    const onCopy = async () => (await copyText(value)) && showToast(words.copied, { kind: 'success' });
    const told = { title, text: text(shortTime(made.expires_at), sent.uses), value, label: title };
    await showValue({ ...told, closeLabel: words.close, copy: { label: words.copy, onCopy } });
  }

  // The owner of an address uses a link once.
  email.addEventListener('input', () => { uses.disabled = Boolean(email.value.trim()); });
  const show = (how) => fill(place, settings.invitations, (pending) => [pending.length ? records(pending.map(row)) : none()], how);
  onSubmit(form, async (sent) => {
    const made = await settings.invite(sent);
    form.reset();
    uses.disabled = false;
    await show();
    await give(made, sent);
  }, { running: words.invitations.making, creates: true, read });
  show();
  return show;
}

function none() {
  const text = document.createElement('p');
  text.className = 'settings-state';
  text.textContent = words.invitations.none;
  return text;
}
