/** What administrators see of the server: who uses how much, models, jobs, its health, and what administrators did. */

import { number } from '../../strings/en/count.js';
import { administrationStrings as words } from '../../strings/en/administration.js';
import { settingsStrings } from '../../strings/en/settings.js';
import { fullTime, shortTime } from '../../core/words/times.js';
import { attempt } from '../../ui/notices/attempts.js';
import { labelled, openDialog } from '../../ui/controls/dialog.js';
import { element } from '../../ui/dom.js';
import { accountText, actText } from './audit_model.js';
import { createActs } from './acts_model.js';
import { createAdministrationApi } from './administration_api.js';
import { fill, record, records } from '../records.js';
import { mountPeopleList } from './people_list.js';
import { megabytes, quotaOf, used } from './usage_model.js';

const LIMITS = ['messages_a_day', 'tokens_a_day', 'tokens_a_month', 'file_megabytes'];
const LARGEST = { file_megabytes: 1e8 };

const nothing = (text) => element('p', { class: 'settings-state', text });
const joined = (parts) => parts.filter(Boolean).join(' · ');

/** Asks what an account may use; undefined when nothing is to be changed. */
function askQuota({ user_email: email, own, quota }) {
  const fields = LIMITS.map((name) => {
    const input = element('input', { class: 'form-control', type: 'number', min: '0', max: String(LARGEST[name] ?? 1e12), step: '1' });
    input.value = own[name] ?? '';
    input.placeholder = own[name] === null ? words.quota.usual(quota[name]) : '';
    return [name, input];
  });
  const save = element('button', { class: 'btn btn-primary', type: 'submit', text: words.quota.save });
  const cancel = element('button', { class: 'btn btn-quiet', type: 'button', text: words.quota.cancel });
  const dialog = openDialog({
    title: words.quota.title(email),
    content: [element('p', { class: 'dialog-text', text: words.quota.text }), ...fields.map(([name, input]) => labelled(words.quota.of[name], input))],
    buttons: [cancel, save],
    validates: true,
    onSubmit: () => dialog.close(quotaOf(fields.map(([name, input]) => [name, input.value]))),
  });
  cancel.addEventListener('click', () => dialog.close());
  return dialog.closed;
}

function personRow(person, onQuota) {
  const { user_email: email, name, last_seen_at: seen, usage, quota } = person;
  const room = quota.file_megabytes;
  return record({
    name: email,
    badges: LIMITS.some((limit) => person.own[limit] !== null) ? [words.quota.own] : [],
    note: joined([name, seen ? settingsStrings.lastSeen(shortTime(seen)) : settingsStrings.people.never]),
    parts: [
      element('div', { class: 'record-note', text: words.use.today(used(usage.messages_today, quota.messages_a_day), used(usage.tokens_today, quota.tokens_a_day)) }),
      element('div', { class: 'record-note', text: words.use.month(number(usage.messages_this_month), used(usage.tokens_this_month, quota.tokens_a_month)) }),
      element('div', { class: 'record-note', text: words.use.inFiles(words.use.files(megabytes(person.file_bytes), room === null ? '' : number(room))) }),
    ],
    actions: [{ label: words.quota.change, onAct: () => onQuota(person) }],
  });
}

function mountPeopleUse(place, { settings }) {
  const show = mountPeopleList(place, { ask: settings.administeredPeople, row: (person) => personRow(person, change) });

  async function change(person) {
    const quota = await askQuota(person);
    if (!quota) return;
    await attempt(() => settings.changeQuota(person.user_email, quota), { failed: settingsStrings.notDone });
    await show();
  }

  return show;
}

function mountAdministeredModels(place, { api }) {
  const row = ({ id, state, size_bytes: bytes, role }) => record({
    name: id,
    badges: [settingsStrings.models.phase[state.phase]],
    note: joined([role ? settingsStrings.models.role[role] : '', bytes ? words.megabytes(megabytes(bytes)) : '']),
  });
  return () => fill(place, () => api.models(), ({ choices }) => (choices.length ? [records(choices.map(row))] : [nothing(words.models.none)]));
}

function mountJobs(place, { settings }) {
  const show = () => fill(place, () => settings.jobs(), ({ jobs, imports }) => {
    const inStates = Object.entries(imports).map(([state, count]) => words.jobs.imports(words.jobs.importStates[state] ?? state, number(count)));
    const summary = inStates.length ? [nothing(joined(inStates))] : [];
    return [...summary, jobs.length ? records(jobs.map(row)) : nothing(words.jobs.none)];
  });

  async function again(jobId) {
    await attempt(() => settings.retryJob(jobId), { failed: settingsStrings.notDone });
    await show();
  }

  function row({ job_id: id, kind, user_email: email, status, running, waits_for: waits, due_at: due, done, total, error, updated_at: updated }) {
    const hasFailed = status === 'failed';
    const state = running ? 'running' : status;
    return record({
      name: words.jobs.kinds[kind] ?? kind,
      badges: [error && !hasFailed ? words.jobs.failing : (words.jobs.waits[waits] ?? words.jobs.states[state])],
      note: joined([
        email, error, total ? words.jobs.progress(number(done), number(total)) : '', words.jobs.at(shortTime(updated)),
        waits === 'retry' || waits === 'time' ? words.jobs.next(shortTime(due)) : '',
      ]),
      actions: hasFailed ? [{ label: settingsStrings.again, onAct: () => again(id) }] : [],
    });
  }

  return show;
}

function mountHealth(place, { settings }) {
  return () => fill(place, () => settings.health(), ({ ready, version, python, engine, process, processes, turns_running: turns, disk }) => {
    const part = (name, state) => record({ name: words.health.parts[name], note: '', value: words.health.states[state] ?? state });
    const figure = (name, note, value) => record({ name: words.health[name], note, value });
    return [records([
      ...['status', 'store', 'knowledge', 'model', 'broker'].map((name) => part(name, ready[name])),
      figure('disk', '', words.health.free(megabytes(disk.free), megabytes(disk.total))),
      figure('turns', '', number(turns)),
      figure('processes', joined([process, ...processes.map((each) => words.health.duties(each.process.slice(0, 8), number(each.duties)))]), number(Math.max(1, processes.length))),
      figure('versions', joined([`Python ${python}`, engine]), version),
    ])];
  });
}

function mountAudit(place, form, { settings }) {
  const list = createActs(settings.audit);
  const filter = () => ({ act: form.elements.act.value, subject: form.elements.subject.value.trim() });

  function row({ at, actor_email: actor, door, address, ...done }) {
    const time = element('time', { datetime: at, title: fullTime(at), text: shortTime(at) });
    return record({
      ...actText(done),
      parts: [element('div', { class: 'record-note' }, time, ` · ${joined([accountText(actor) || words.audit.doors['command line'], actor ? words.audit.doors[door] : '', address])}`)],
    });
  }

  function shown(isTaken) {
    if (!isTaken) return [...place.childNodes];
    if (!list.acts().length) return [nothing(words.audit.none)];
    const more = element('button', { type: 'button', class: 'btn btn-quiet', text: words.audit.more, onclick: () => fill(place, list.earlier, shown) });
    return [records(list.acts().map(row)), ...(list.hasEarlier() ? [more] : [])];
  }

  /** What is in the form counts from now on, and what is typed there later does not yet. */
  function show() {
    const wanted = filter();
    return fill(place, () => list.begin(wanted), shown);
  }

  const showNewer = () => fill(place, list.newer, shown, { isBehind: true });

  form.elements.act.append(...Object.entries(words.audit.acts).map(([act, label]) => element('option', { value: act, text: label })));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    show();
  });
  form.elements.act.addEventListener('change', () => show());
  return { show, showNewer };
}

export function mountAdministration(section, { api, watch }) {
  const page = { api, settings: createAdministrationApi(api) };
  const place = (name) => section.querySelector(`[data-part='${name}']`);
  const showPeople = mountPeopleUse(place('people'), page);
  const audit = mountAudit(place('audit'), section.querySelector('form'), page);
  const shows = [
    showPeople,
    mountAdministeredModels(place('models'), page),
    mountJobs(place('jobs'), page),
    mountHealth(place('health'), page),
    audit.show,
  ];
  const show = () => shows.forEach((each) => each());
  show();
  // What other tabs and administrators do. Who looks at another section sees it on coming back.
  watch('administration', () => {
    if (section.hidden) return;
    showPeople({ isBehind: true });
    audit.showNewer();
  });
  return show;
}
