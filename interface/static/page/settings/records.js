/** What the sections of the settings share: lists that are fetched, records, forms that are sent. */

import { settingsStrings as words } from '../strings/en/settings.js';
import { attempt } from '../ui/notices/attempts.js';
import { element, inRow, replaceWithFocus, whenReleased } from '../ui/dom.js';

/**
 * Fills a place with what the server says. Says meanwhile that it is loading, and else why it can't, with a way to try again.
 *
 * @param {HTMLElement} place
 * @param {() => Promise<any>} load
 * @param {(told: any) => Array<Node>} show
 * @param {{isBehind?: boolean}} [how] `isBehind`: nobody asked for it, so where it fails, what is there stays
 * @returns {Promise<boolean>} whether it is there
 */
export async function fill(place, load, show, { isBehind = false } = {}) {
  if (!place.hasChildNodes()) place.replaceChildren(element('p', { class: 'settings-state', role: 'status', text: words.loading }));
  try {
    const told = await load();
    await whenReleased();
    replaceWithFocus(place, ...show(told));
    return true;
  } catch (error) {
    if (isBehind) return false;
    replaceWithFocus(place, failure(error, () => {
      replaceWithFocus(place);
      return fill(place, load, show);
    }));
    return false;
  }
}

/** Why something is not there, and a button that tries again. */
export function failure(error, onAgain) {
  const again = element('button', { type: 'button', class: 'btn btn-quiet', text: words.again, onclick: onAgain });
  return element('p', { class: 'settings-state is-failed', role: 'alert' }, words.failed(error.message), again);
}

/**
 * A line of a list.
 *
 * @param {{name: string, badges?: string[], note: string, parts?: Node[], actions?: Array<{label: string, onAct: () => void}>, value?: string}} options
 */
export function record({ name, badges = [], note, parts = [], actions = [], value = '' }) {
  const title = element('div', { class: 'record-name', text: name });
  title.append(...badges.map((text) => element('span', { class: 'record-badge', text })));
  const text = element('div', { class: 'record-words' }, title, element('div', { class: 'record-note', text: note }), ...parts);
  const buttons = actions.map(({ label, onAct }) => element('button', {
    type: 'button', class: 'btn btn-quiet', text: label, ...inRow(label, name), onclick: onAct,
  }));
  return element('li', { class: 'record' }, text, value ? element('div', { class: 'record-value', text: value }) : null, ...buttons);
}

/** Where rows have one name, such as two devices with the same browser, their buttons say the note, too; where that is the same, a number. */
function tellApart(rows) {
  const ways = [(row) => row.querySelector('.record-note')?.textContent ?? '', (row) => `(${rows.indexOf(row) + 1})`];
  for (const tell of ways) {
    const buttons = rows.flatMap((row) => [...row.querySelectorAll('button[aria-label]')].map((button) => ({ row, button, label: button.ariaLabel })));
    const named = new Map();
    for (const { row, label } of buttons) named.set(label, (named.get(label) ?? new Set()).add(row));
    for (const { row, button, label } of buttons) {
      if (named.get(label).size > 1) button.setAttribute('aria-label', `${label}, ${tell(row)}`);
    }
  }
}

/** @param {HTMLElement[]} rows */
export function records(rows) {
  tellApart(rows);
  return element('ul', { class: 'record-list' }, ...rows);
}

/**
 * Runs `job` when the form is sent: its button says so meanwhile, a failure says why and keeps what was typed.
 *
 * @param {HTMLFormElement} form
 * @param {(sent: any) => Promise<void>} job
 * @param {{running?: string, creates?: boolean, read?: () => any}} [options] `running`: what the button says meanwhile; `creates`: doing
 *   it twice makes two; `read`: what the form holds, given to the job also where it is tried again later
 */
export function onSubmit(form, job, { running = words.saving, creates, read = () => undefined } = {}) {
  const button = form.querySelector('button[type="submit"]');
  const label = button.textContent;

  async function once(sent) {
    const hadFocus = document.activeElement === button;
    button.disabled = true;
    button.textContent = running;
    try {
      await job(sent);
    } finally {
      button.disabled = false;
      button.textContent = label;
      // A disabled button loses the focus; whoever went elsewhere meanwhile stays there.
      if (hadFocus && document.activeElement === document.body) button.focus();
    }
  }

  form.addEventListener('submit', (event) => {
    event.preventDefault();
    const sent = read();
    attempt(() => once(sent), { failed: words.notDone, creates });
  });
}
