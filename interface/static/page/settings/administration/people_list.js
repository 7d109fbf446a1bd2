import { settingsStrings } from '../../strings/en/settings.js';
import { labelled } from '../../ui/controls/dialog.js';
import { searchField } from '../../ui/controls/search_field.js';
import { attempt } from '../../ui/notices/attempts.js';
import { element, setHidden } from '../../ui/dom.js';
import { fill, records } from '../records.js';
import { createPeople } from './people_model.js';

const words = settingsStrings.peopleList;

/**
 * Shows the accounts of the server: a search field, a row for each account, and a button for the next page.
 *
 * @param {HTMLElement} place
 * @param {{ask: Parameters<typeof createPeople>[0], row: (person: object) => HTMLElement}} options
 * @returns {(how?: {isBehind?: boolean}) => Promise<void>} loads and shows them again; `isBehind` as of `fill`
 */
export function mountPeopleList(place, { ask, row }) {
  const people = createPeople(ask);
  const list = element('div');
  const status = element('p', { class: 'settings-state', role: 'status' });
  const more = element('button', { type: 'button', class: 'btn btn-quiet', text: words.more, hidden: true, onclick: showMore });
  const find = searchField(() => show(), { placeholder: words.hint });

  function tell({ people: { length }, cursor }) {
    status.textContent = length ? words.shown(length, cursor !== null) : words.none;
    setHidden(more, cursor === null);
  }

  async function show(how) {
    const isThere = await fill(list, () => people.load(find.value.trim()), (found) => {
      tell(found);
      return found.people.length ? [records(found.people.map(row))] : [];
    }, how);
    if (isThere || how?.isBehind) return;
    status.textContent = '';
    setHidden(more, true);
  }

  async function showMore() {
    const found = await attempt(() => people.more(), { failed: settingsStrings.failed });
    const rows = found ? found.people.slice(list.querySelectorAll('.record').length).map(row) : [];
    if (!rows.length) return;
    list.querySelector('ul').append(...rows);
    // The keyboard continues at the first new row.
    if (document.activeElement === more) {
      rows[0].tabIndex = -1;
      rows[0].focus();
    }
    tell(found);
  }

  place.replaceChildren(labelled(words.find, find), status, list, more);
  return show;
}
