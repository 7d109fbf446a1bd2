/** The person's own tool servers: a list with how each is doing, and the form that joins one. */

import { settingsStrings } from '../strings/en/settings.js';
import { shortTime } from '../core/words/times.js';
import { attempt } from '../ui/notices/attempts.js';
import { confirmAction } from '../ui/controls/dialog.js';
import { element, inRow, setHidden } from '../ui/dom.js';
import { showToast } from '../ui/notices/toast.js';
import { fill, onSubmit, record, records } from './records.js';
import { bodyOf, USUAL_HEADER } from './tool_servers_model.js';

const words = settingsStrings.toolServers;
const find = (id) => document.getElementById(id);

/** Under a server: why it does not answer, and what its tools are. */
function partsOf({ name: server, state, reason, checked_at: since, tools }, { isTold, isUnfolded }) {
  const failed = state === 'failed' && element('p', { class: 'settings-state is-failed', role: isTold ? 'alert' : null, text: words.failed(words.reasons[reason], shortTime(since)) });
  const each = ({ name, description }) => element('li', {}, element('code', { text: name }), description ? ` ${description}` : '');
  const offered = tools.length > 0 && element('details', { class: 'tool-server-tools', open: isUnfolded },
    element('summary', { text: words.tools(tools.length), ...inRow(words.tools(tools.length), server) }), element('ul', { dir: 'auto' }, ...tools.map(each)));
  return [failed, offered].filter(Boolean);
}

export function mountToolServers(section, { settings }) {
  const place = section.querySelector('[data-fill]');
  const form = find('tool-server-form');
  const controls = Object.fromEntries(['name', 'url', 'key', 'header'].map((name) => [name, find(`tool-server-${name}`)]));
  // Whoever empties the form finds it there again.
  controls.header.defaultValue = USUAL_HEADER;
  const read = () => Object.fromEntries(Object.entries(controls).map(([name, { value }]) => [name, value]));
  /** The names of the servers that are being asked for their tools. */
  const asking = new Set();
  let isOpen = true;

  function badgeOf({ name, is_on: isOn, state }) {
    if (asking.has(name)) return words.asking;
    return isOn ? words.states[state] : words.isOff;
  }

  const shownRow = ({ name }) => [...place.querySelectorAll('[data-server]')].find((node) => node.dataset.server === name);

  /** @param {{isTold?: boolean}} [how] `isTold`: somebody waits for what becomes of it */
  function row(server, { isTold = false } = {}) {
    const { name, url, headers, is_on: isOn } = server;
    const actions = [
      { label: words.tryIt, onAct: () => tryOut(server) },
      { label: isOn ? words.switchOff : words.switchOn, onAct: () => turn(server) },
      { label: words.remove, onAct: () => remove(name) },
    ];
    const note = [url, ...headers.map(words.isSet)].join(' · ');
    const isUnfolded = Boolean(shownRow(server)?.querySelector('details[open]'));
    const node = record({ name, badges: [badgeOf(server)], note, parts: partsOf(server, { isTold, isUnfolded }), actions: isOpen ? actions : actions.slice(2) });
    node.dataset.server = name;
    return node;
  }

  /** Shows one server anew. Its button that has the focus keeps it. */
  function refresh(server, how) {
    const old = shownRow(server);
    if (!old) return;
    const at = [...old.querySelectorAll('button')].indexOf(document.activeElement);
    const now = row(server, how);
    old.replaceWith(now);
    now.querySelectorAll('button')[at]?.focus();
  }

  function list({ allowed, limit, servers }) {
    isOpen = allowed !== 'off';
    const isFull = servers.length >= limit;
    setHidden(find('tool-server-editor'), !isOpen || isFull);
    const told = [!isOpen && words.notAllowed, isOpen && isFull && words.full(limit), isOpen && servers.length === 0 && words.none].filter(Boolean);
    return [...told.map((text) => element('p', { class: 'settings-state', text })), ...(servers.length > 0 ? [records(servers.map(row))] : [])];
  }

  // One after the other: an older list never replaces a newer one.
  let last = Promise.resolve();
  const show = (how) => {
    last = last.then(() => fill(place, () => settings.toolServers(), list, how));
    return last;
  };

  /** The server after a change; where that failed, the list tells what is there now. */
  async function changed(job, again) {
    const server = await attempt(job, { failed: settingsStrings.notDone, again });
    if (server) refresh(server, { isTold: true });
    else await show();
    return server;
  }

  async function tryOut(server) {
    const { name } = server;
    if (asking.has(name)) return;
    asking.add(name);
    refresh(server);
    const job = () => settings.tryToolServer(name).finally(() => asking.delete(name));
    const tried = await changed(job, () => tryOut(server));
    if (tried?.state === 'ready') showToast(words.answers(name, tried.tools.length), { kind: 'success' });
  }

  const turn = (server) => changed(() => settings.changeToolServer(server.name, { is_on: !server.is_on }), () => turn(server));

  async function remove(name) {
    const question = { title: words.removeTitle(name), text: words.removeText, confirmLabel: words.removeConfirm };
    if (!(await confirmAction(question))) return;
    await attempt(() => settings.removeToolServer(name), { failed: settingsStrings.notDone, again: () => remove(name) });
    await show();
  }

  async function add(sent) {
    const server = await settings.addToolServer(bodyOf(sent));
    // What was typed meanwhile stays.
    if (JSON.stringify(read()) === JSON.stringify(sent)) form.reset();
    await show();
    // The form is there again while the server is asked, which may take a while.
    tryOut(server);
  }

  onSubmit(form, add, { running: words.adding, creates: true, read });
  show();
  return show;
}
