import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/attempts.js';
import { askPassword } from '../ui/dialog.js';
import { setHidden } from '../ui/dom.js';
import { fill, onSubmit } from './records.js';
import { showToast } from '../ui/toast.js';

const saved = () => showToast(words.saved, { kind: 'success' });
const find = (id) => document.getElementById(id);

function mountName({ settings }) {
  onSubmit(find('name-form'), async () => {
    const { name } = await settings.rename(find('own-name').value);
    find('own-name').value = name;
    saved();
  });
}

function mountAbout(section, { settings }) {
  const [detail, preference] = [find('user-detail'), find('user-preference')];
  // Fields that other clients keep there stay as they are.
  let stored = { detail: {}, preference: {} };

  onSubmit(find('about-form'), async () => {
    stored = {
      detail: { ...stored.detail, text: detail.value },
      preference: { ...stored.preference, text: preference.value },
    };
    await settings.tellAbout(stored);
    saved();
  });
  fill(section.querySelector('[data-state]'), () => settings.about(), (about) => {
    stored = about;
    detail.value = about.detail.text ?? '';
    preference.value = about.preference.text ?? '';
    setHidden(find('about-form'), false);
    return [];
  });
}

function mountPassword({ settings }) {
  const form = find('password-form');
  onSubmit(form, async () => {
    await settings.changePassword(find('current-password').value, find('new-password').value);
    form.reset();
    saved();
  });
}

function mountDeletion({ settings }) {
  find('delete-account').addEventListener('click', async () => {
    const { title, text, label, confirm: confirmLabel } = words.deletion;
    const password = await askPassword({ title, text, label, confirmLabel });
    if (password && (await attempt(() => settings.deleteAccount(password), { failed: words.notDone }))) location.assign('/login');
  });
}

/** Who the person is: name, what the model should know, password, and the end of it all. */
export function mountAccount(section, page) {
  mountName(page);
  mountAbout(section, page);
  mountPassword(page);
  mountDeletion(page);
}
