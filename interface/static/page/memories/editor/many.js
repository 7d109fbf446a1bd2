/** Adding several memories, one a line, with what became of each. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { splitNames } from '../memory_model.js';
import { sentAs } from './save.js';
import { statementsIn } from './suggestions_model.js';
import { MOST_STATEMENTS } from '../tabs/ingest_model.js';
import { failureText } from '../../ui/notices/attempts.js';
import { element, setHidden } from '../../ui/dom.js';
import { openDialog } from '../dialog.js';
import { button, field, fillSelect, select } from '../controls.js';

const words = memoriesStrings.many;
const DRAFT = 'many';
/** What was sent last and under which id, until the server has answered. */
const TRIED = 'many-tried';

function resultRow(statement, { success, error, friendly_id: friendlyId }) {
  return element('li', { class: success ? 'result-ok' : 'result-failed' },
    element('span', { class: 'memories-result-text', text: statement }),
    element('span', { class: 'memories-note', text: success ? `${words.ok} · @${friendlyId}` : error }));
}

function kinds(page) {
  const type = select([['fact', 'Fact']], 'fact');
  const domain = select([['personal', 'Personal']], 'personal');
  page.catalogue.types().then((list) => fillSelect(type, list, 'fact'), () => {});
  page.catalogue.domains().then((list) => fillSelect(domain, list, 'personal'), () => {});
  return { type, domain };
}

/** @returns {Promise<boolean>} whether anything was added */
export async function addManyMemories(page) {
  const area = element('textarea', { class: 'form-control memories-area', rows: '8', id: 'many-memories' });
  area.value = page.store.get(DRAFT) ?? '';
  const { type, domain } = kinds(page);
  const tags = element('input', { class: 'form-control', type: 'text', autocomplete: 'off' });
  const counted = element('p', { class: 'memories-note', role: 'status' });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const results = element('ul', { class: 'memories-results' });
  const submit = element('button', { type: 'submit', class: 'btn btn-primary', text: words.add });
  let added = 0;
  let tried = page.store.get(TRIED);
  const dialog = openDialog({
    title: words.title,
    wide: true,
    content: [
      field(words.label, area, { hint: words.hint(MOST_STATEMENTS) }), counted,
      element('div', { class: 'memories-row' }, field(memoriesStrings.editor.type, type), field(memoriesStrings.editor.domain, domain),
        field(memoriesStrings.editor.tags, tags)),
      problem, results,
    ],
    buttons: [button(memoriesStrings.panel.closeDialog, () => dialog.close()), submit],
    onSubmit: send,
  });

  function count() {
    const { length } = statementsIn(area.value);
    const fits = length <= MOST_STATEMENTS;
    counted.textContent = fits ? words.count(length) : words.tooMany(length, MOST_STATEMENTS);
    submit.disabled = length === 0 || !fits;
    page.store.set(DRAFT, area.value || null);
  }

  async function send() {
    const statements = statementsIn(area.value);
    const shared = { claim_type: type.value, context_domain: domain.value, tags: splitNames(tags.value) };
    submit.disabled = true;
    setHidden(problem, true);
    try {
      const claims = statements.map((statement) => ({ statement, ...shared }));
      tried = sentAs(JSON.stringify(claims), tried);
      // Whoever closes the browser now does not know whether they arrived.
      page.store.set(TRIED, tried);
      take(statements, await page.api.pkbAddClaims(claims, tried.id));
      page.store.set(TRIED, null);
    } catch (error) {
      problem.textContent = failureText(error, memoriesStrings.panel.failed);
      problem.hidden = false;
      submit.disabled = false;
    }
  }

  /** What was added leaves the field; what was not stays, to be changed and tried again. */
  function take(statements, answer) {
    added += answer.added_count;
    results.replaceChildren(...answer.results.map((result) => resultRow(statements[result.index], result)));
    area.value = answer.results.filter(({ success }) => !success).map(({ index }) => statements[index]).join('\n');
    count();
    counted.textContent = words.done(answer.added_count, answer.failed_count);
    submit.textContent = answer.failed_count ? words.retry : words.add;
    page.changed({ show: false });
  }

  area.addEventListener('input', count);
  count();
  area.focus();
  await dialog.closed;
  return added > 0;
}
