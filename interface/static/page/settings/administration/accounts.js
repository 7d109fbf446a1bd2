import { copyText } from '../../core/clipboard.js';
import { settingsStrings as words } from '../../strings/en/settings.js';
import { shortTime } from '../../core/words/times.js';
import { attempt } from '../../ui/notices/attempts.js';
import { confirmAction, showValue } from '../../ui/controls/dialog.js';
import { mountInvitations } from './invitations.js';
import { mountPeopleList } from './people_list.js';
import { onSubmit, record } from '../records.js';
import { showToast } from '../../ui/notices/toast.js';

const find = (id) => document.getElementById(id);

/** The accounts of the server, for its administrator; what other tabs and administrators do to them is shown, too. */
export function mountPeople(section, { settings, bootstrap, watch }) {
  const place = section.querySelector('[data-fill]');
  const showInvitations = mountInvitations({ settings });

  async function change(email, disabled) {
    const { disableTitle, disableText: text, disable: confirmLabel } = words.people;
    if (disabled && !(await confirmAction({ title: disableTitle(email), text, confirmLabel }))) return;
    await attempt(() => settings.changePerson(email, { disabled }), { failed: words.notDone });
    await show();
  }

  async function makePasswordLink(email) {
    const { linkTitle: title, linkText: text } = words.people;
    const made = await attempt(() => settings.passwordLink(email), { failed: words.notDone, creates: true });
    if (!made) return;
    const value = new URL(made.path, location.origin).href;
    const onCopy = async () => (await copyText(value)) && showToast(words.copied, { kind: 'success' });
    await showValue({ title: title(email), text: text(shortTime(made.expires_at)), value, label: title(email), closeLabel: words.close, copy: { label: words.copy, onCopy } });
  }

  async function changeRole(email, isAdmin) {
    const { promoteTitle, promoteText: text, promote: confirmLabel } = words.people;
    if (isAdmin && !(await confirmAction({ title: promoteTitle(email), text, confirmLabel }))) return;
    await attempt(() => settings.changeRole(email, isAdmin ? 'administrator' : 'member'), { failed: words.notDone });
    await show();
  }

  async function remove(email) {
    const { deleteTitle, deleteText: text, deleteConfirm: confirmLabel, deleted, compact } = words.people;
    if (!(await confirmAction({ title: deleteTitle(email), text, confirmLabel }))) return;
    const closed = await attempt(() => settings.deletePerson(email), { failed: words.notDone });
    if (closed) showToast([deleted(email), closed.compacts_itself ? '' : compact].filter(Boolean).join(' '), { kind: 'success' });
    await show();
  }

  function actionsFor(email, { disabled_at: disabledAt, is_admin: isAdmin }) {
    const { disable, enable, link, promote, demote, delete: deletion } = words.people;
    const actions = [
      { label: isAdmin ? demote : promote, onAct: () => changeRole(email, !isAdmin) },
      { label: disabledAt ? enable : disable, onAct: () => change(email, !disabledAt) },
      { label: deletion, onAct: () => remove(email) },
    ];
    return disabledAt ? actions : [{ label: link, onAct: () => makePasswordLink(email) }, ...actions];
  }

  function row(person) {
    const { user_email: email, name, is_admin: isAdmin, disabled_at: disabledAt, last_seen_at: seen } = person;
    const isOwn = email === bootstrap.user_email;
    const { you, admin, disabled, never } = words.people;
    const badges = [[isOwn, you], [isAdmin, admin], [disabledAt, disabled]].filter(([is]) => is).map(([, text]) => text);
    return record({
      name: email,
      badges,
      note: [name, words.created(shortTime(person.created_at)), seen ? words.lastSeen(shortTime(seen)) : never].filter(Boolean).join(' · '),
      actions: isOwn ? [] : actionsFor(email, person),
    });
  }

  const show = mountPeopleList(place, { ask: settings.people, row });
  const form = find('person-form');
  onSubmit(form, async () => {
    const { user_email: email } = await settings.createPerson({
      email: find('person-email').value,
      name: find('person-name').value,
      password: find('person-password').value,
      is_admin: find('person-admin').checked,
    });
    form.reset();
    showToast(words.people.made(email), { kind: 'success' });
    await show();
  }, { running: words.people.creating, creates: true });
  show();
  const showAgain = () => section.hidden || [show, showInvitations].forEach((each) => each({ isBehind: true }));
  watch('administration', showAgain);
  // What changed while another section was looked at.
  return showAgain;
}
