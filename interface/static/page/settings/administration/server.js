/** What the server is set to: models and limits, which only its administrator changes. */

import { saidText } from '../../core/words/said.js';
import { number } from '../../strings/en/count.js';
import { settingsStrings as words } from '../../strings/en/settings.js';
import { element } from '../../ui/dom.js';
import { createAdministrationApi } from './administration_api.js';
import { fill, record, records } from '../records.js';
import { mountUsage } from './usage.js';

const UNDER_WAY = new Set(['waiting', 'fetching', 'loading']);
const SOON_MS = 1500;
const LATER_MS = 20000;

const ABSENT = { name: 'none', phase: 'none', progress: null, detail: '' };

function progressBar(name, progress) {
  const bar = element('progress', { class: 'record-progress', max: '1', 'aria-label': words.models.progress(name) });
  if (progress !== null) bar.value = progress;
  return bar;
}

function modelRow(role, model) {
  const { name: called, phase, progress, detail, said } = model ?? ABSENT;
  const name = called === 'none' ? words.models.none : called;
  const isUnderWay = UNDER_WAY.has(phase);
  return record({
    name: words.models.role[role],
    badges: [words.models.phase[phase]],
    note: [name, words.models.setBy(words.models.setting[role]), saidText(detail, said)].filter(Boolean).join(' · '),
    parts: isUnderWay ? [progressBar(name, progress)] : [],
    value: isUnderWay && progress !== null ? words.models.percent(progress) : '',
  });
}

/** Shows the models, and follows what is under way while the section is looked at. */
export function mountModels(section, { api }) {
  const place = section.querySelector('[data-fill]');
  let timer = null;

  async function show() {
    clearTimeout(timer);
    if (section.hidden) return;
    let pause = LATER_MS;
    const isThere = await fill(place, () => api.models(), (models) => {
      const roles = Object.keys(words.models.role);
      if (roles.some((role) => UNDER_WAY.has(models[role]?.phase))) pause = SOON_MS;
      return [records(roles.map((role) => modelRow(role, models[role])))];
    });
    // What failed waits for the person, who is offered to try again.
    if (isThere) timer = setTimeout(show, pause);
  }

  show();
  return show;
}

/** What a person may see of the server's limits, and what they have used. */
export function mountLimits(section, { settings, api, watch }) {
  const showUsage = mountUsage(section.querySelector('#own-usage'), { settings: createAdministrationApi(api) });
  const place = section.querySelector('[data-fill]');
  const figure = (value) => (value === null ? words.limits.byModel : number(value));
  fill(place, () => settings.limits(), (limits) => {
    const rows = limits.settings.map(({ setting, value, meaning }) => {
      const [name, more] = (words.limits.of[setting] ?? meaning).replace(/\.$/, '').split('; ');
      return record({ name, note: [words.models.setBy(setting), more].filter(Boolean).join(' · '), value: figure(value) });
    });
    rows.unshift(
      record({ name: words.limits.window, note: words.models.setBy(words.limits.windowSetting), value: figure(limits.context_window) }),
      record({ name: words.limits.message, note: words.limits.fixed, value: figure(limits.message_characters) }),
    );
    if (limits.read_only) rows.unshift(record({ name: words.limits.readOnly, note: words.limits.readOnlyNote }));
    return [records(rows)];
  });
  // An administrator set other limits.
  watch('settings', (isChanged) => isChanged('quota') && showUsage({ isBehind: true }));
  return () => showUsage();
}
