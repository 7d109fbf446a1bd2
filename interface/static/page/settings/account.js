import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';
import { askPassword } from '../ui/controls/dialog.js';
import { setHidden } from '../ui/dom.js';
import { keepFields } from '../ui/controls/kept_fields.js';
import { fill, onSubmit } from './records.js';
import { showToast } from '../ui/notices/toast.js';

const saved = () => showToast(words.saved, { kind: 'success' });
const find = (id) => document.getElementById(id);

function mountName({ settings, kept }) {
  const field = find('own-name');
  const typed = keepFields(kept, 'settings:name', [field]);
  typed.restore();
  onSubmit(find('name-form'), async () => {
    const sent = field.value;
    const { name } = await settings.rename(sent);
    if (field.value === sent) field.value = name;
    typed.saved([name]);
    saved();
  });
}

function mountAbout(section, { settings, kept }) {
  const [detail, preference] = [find('user-detail'), find('user-preference')];
  const typed = keepFields(kept, 'settings:about', [detail, preference]);
  // Fields that other clients keep there stay as they are.
  let stored = { detail: {}, preference: {} };

  onSubmit(find('about-form'), async () => {
    stored = {
      detail: { ...stored.detail, text: detail.value },
      preference: { ...stored.preference, text: preference.value },
    };
    await settings.tellAbout(stored);
    typed.saved([stored.detail.text, stored.preference.text]);
    saved();
  });
  fill(section.querySelector('[data-state]'), () => settings.about(), (about) => {
    stored = about;
    detail.value = about.detail.text ?? '';
    preference.value = about.preference.text ?? '';
    typed.restore();
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

function mountDeletion({ settings, kept }) {
  find('delete-account').addEventListener('click', async () => {
    const { title, text, label, confirm: confirmLabel } = words.deletion;
    const password = await askPassword({ title, text, label, confirmLabel });
    if (password && (await attempt(() => settings.deleteAccount(password), { failed: words.notDone }))) {
      await kept.clear();
      location.assign('/login');
    }
  });
}

/** Who the person is: name, what the model should know, password, and the end of it all. */
export function mountAccount(section, page) {
  mountName(page);
  mountAbout(section, page);
  mountPassword(page);
  mountDeletion(page);
}
