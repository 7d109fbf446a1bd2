/** Who the person is: name, what the model should know, password, and the end of it all. */

import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';
import { askPassword } from '../ui/controls/dialog.js';
import { setHidden } from '../ui/dom.js';
import { followedFields } from './followed_fields.js';
import { fill, onSubmit } from './records.js';
import { showToast } from '../ui/notices/toast.js';

const saved = () => showToast(words.saved, { kind: 'success' });
const find = (id) => document.getElementById(id);

function mountName({ settings, kept, watch }) {
  const field = find('own-name');
  const typed = followedFields(kept, 'settings:name', [field]);
  typed.restore();
  onSubmit(find('name-form'), () => typed.save(async () => {
    const sent = field.value;
    const { name } = await settings.rename(sent);
    if (field.value === sent) field.value = name;
    saved();
    return [name];
  }));
  watch('settings', (isChanged) => isChanged('name') && typed.follow(async () => [(await settings.account()).name]));
}

function mountAbout(section, { settings, kept, watch }) {
  const [detail, preference] = [find('user-detail'), find('user-preference')];
  const typed = followedFields(kept, 'settings:about', [detail, preference]);
  const texts = (about) => [about.detail.text ?? '', about.preference.text ?? ''];
  // Fields that other clients keep there stay as they are.
  let stored = { detail: {}, preference: {} };
  let isFilled = false;

  onSubmit(find('about-form'), () => typed.save(async () => {
    const [before, about] = [stored, {
      detail: { ...stored.detail, text: detail.value },
      preference: { ...stored.preference, text: preference.value },
    }];
    await settings.tellAbout(about, before);
    stored = about;
    saved();
    return texts(about);
  }));
  fill(section.querySelector('[data-state]'), () => settings.about(), (about) => {
    stored = about;
    [detail.value, preference.value] = texts(about);
    typed.restore();
    setHidden(find('about-form'), false);
    isFilled = true;
    return [];
  });
  watch('settings', (isChanged) => isFilled && (isChanged('detail') || isChanged('preference')) && typed.follow(async () => {
    stored = await settings.about();
    return texts(stored);
  }));
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

export function mountAccount(section, page) {
  mountName(page);
  mountAbout(section, page);
  mountPassword(page);
  mountDeletion(page);
}
