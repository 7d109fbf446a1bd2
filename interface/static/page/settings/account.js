import { bring } from '../core/api.js';
import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/attempts.js';
import { askPassword } from '../ui/dialog.js';
import { setHidden } from '../ui/dom.js';
import { fill, onSubmit } from './records.js';
import { showToast } from '../ui/toast.js';

const saved = () => showToast(words.saved, { kind: 'success' });
const find = (id) => document.getElementById(id);

/** Keeps what is typed in fields until it is saved; `restore` brings it back over what the server says. */
function keepFields(kept, name, fields) {
  const id = `settings:${name}`;
  for (const field of fields) field.addEventListener('input', () => kept.set('form', id, fields.map(({ value }) => value)));
  return {
    restore: () => kept.get('form', id)?.forEach((text, position) => {
      fields[position].value = text;
    }),
    drop: () => kept.get('form', id) && kept.set('form', id, null),
  };
}

function mountName({ settings, kept }) {
  const typed = keepFields(kept, 'name', [find('own-name')]);
  typed.restore();
  onSubmit(find('name-form'), async () => {
    const { name } = await settings.rename(find('own-name').value);
    find('own-name').value = name;
    typed.drop();
    saved();
  });
}

function mountAbout(section, { settings, kept }) {
  const [detail, preference] = [find('user-detail'), find('user-preference')];
  const typed = keepFields(kept, 'about', [detail, preference]);
  // Fields that other clients keep there stay as they are.
  let stored = { detail: {}, preference: {} };

  onSubmit(find('about-form'), async () => {
    stored = {
      detail: { ...stored.detail, text: detail.value },
      preference: { ...stored.preference, text: preference.value },
    };
    await settings.tellAbout(stored);
    typed.drop();
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

function mountDownload({ api }) {
  const link = find('export-account');
  const place = find('export-account-state');
  link.addEventListener('click', (event) => {
    event.preventDefault();
    attempt(async () => {
      const { downloadEverything } = await bring(() => import('../conversation/export/archive.js'));
      setHidden(place, false);
      downloadEverything(place, { api, onBegin: () => setHidden(link, true), onEnd: () => setHidden(link, false) });
    }, { failed: words.notDone });
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
  mountDownload(page);
  mountDeletion(page);
}
