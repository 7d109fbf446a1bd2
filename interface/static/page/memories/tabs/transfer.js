/** The tab of taking memories out and bringing them in, and of how much is there. */

import { icon } from '../../ui/icons.js';
import { number } from '../../strings/en/count.js';
import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { spoken } from '../memory_model.js';
import { warningsIn } from '../../core/words/said.js';
import { portionsOf, rowCount } from './transfer_model.js';
import { exportIn } from './ingest_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { acceptFiles, fileButton } from './ingest_form.js';
import { button, createLoader } from '../controls.js';

const words = memoriesTabStrings.transfer;

function download(page, format, label, hint) {
  const link = element('a', { class: 'btn btn-quiet', href: page.api.pkbExportAddress(format), download: true }, icon('download'), label);
  return element('div', { class: 'memories-download' }, link, element('span', { class: 'memories-note', text: hint }));
}

function exportPart(page) {
  return element('section', { class: 'panel' },
    element('h2', { class: 'section-title', text: words.exportTitle }), element('p', { class: 'panel-text', text: words.exportText }),
    download(page, 'json', words.json, words.jsonHint), download(page, 'markdown', words.markdown, words.markdownHint));
}

/** What an import brought, thing by thing. `total`: rows of the file; `warnings`: references that lead nowhere now. */
function reportNode(counts, total, warnings, onUndo) {
  const rows = Object.entries(counts).filter(([, n]) => n > 0);
  const left = total - rows.reduce((sum, [, n]) => sum + n, 0);
  return element('div', { class: 'memories-outcome', role: 'status' },
    element('p', { text: rows.length ? words.report : words.nothing }),
    element('ul', {}, ...rows.map(([name, n]) => element('li', { text: `${number(n)} ${words.stats[name] ?? spoken(name).toLowerCase()}` })),
      left > 0 && rows.length ? element('li', { text: words.skipped(left) }) : null),
    warnings.length ? element('ul', { class: 'memories-warnings' }, ...warnings.map((text) => element('li', { dir: 'auto', text }))) : null,
    rows.length ? button(memoriesStrings.panel.undo, onUndo, { symbol: 'arrow-counterclockwise' }) : null);
}

function importPart(page) {
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const report = element('div', {});
  const node = element('section', { class: 'panel memories-drop' },
    element('h2', { class: 'section-title', text: words.importTitle }), element('p', { class: 'panel-text', text: words.importText }),
    problem,
    element('div', { class: 'memories-buttons' }, fileButton(words.choose, '.json,application/json', read), element('span', { class: 'memories-note', text: words.drop })), report);

  function tell(text) {
    problem.textContent = text;
    setHidden(problem, !text);
  }

  async function read(file) {
    tell('');
    const payload = exportIn(await file.text());
    if (!payload) {
      tell(words.notOurs(file.name));
      return;
    }
    await send(file, payload);
  }

  /** A large file goes in portions; what came in before a failure stays, and is not added twice by the next try. */
  async function send(file, payload) {
    const portions = portionsOf(payload);
    const progress = element('progress', { 'aria-label': words.importing(file.name), max: String(portions.length), value: '0' });
    report.replaceChildren(element('p', { role: 'status', text: words.importing(file.name) }), progress);
    const counts = {};
    const audits = [];
    const warnings = new Set();
    try {
      for (const [at, portion] of portions.entries()) {
        const answer = await page.api.pkbImport(portion);
        for (const [name, n] of Object.entries(answer.counts)) counts[name] = (counts[name] ?? 0) + n;
        if (answer.audit_id) audits.unshift(answer.audit_id);
        for (const text of warningsIn(answer)) warnings.add(text);
        progress.value = at + 1;
      }
      report.replaceChildren(reportNode(counts, rowCount(payload), [...warnings], (event) => takeBack(event.currentTarget, audits)));
    } catch (error) {
      report.replaceChildren(button(memoriesStrings.panel.again, () => {
        tell('');
        send(file, payload);
      }));
      tell(memoriesStrings.panel.failed(error.message));
    }
    page.changed();
  }

  async function takeBack(control, audits) {
    control.disabled = true;
    control.textContent = memoriesStrings.panel.undoing;
    while (audits.length && (await page.undo(audits[0]))) audits.shift();
    control.textContent = audits.length ? memoriesStrings.panel.undo : memoriesStrings.panel.undone;
    control.disabled = audits.length === 0;
  }

  acceptFiles(node, read);
  return node;
}

function statsNode(stats) {
  const rows = ['claims', 'pinned', 'contexts', 'entities', 'tags', 'open_conflicts'].filter((name) => stats[name] !== undefined);
  const { vectors } = stats;
  const searchable = vectors?.model ? words.vectors(vectors.embedded, vectors.pending) : words.noVectors;
  return [
    element('dl', { class: 'memories-stats' }, ...rows.map((name) =>
      element('div', {}, element('dt', { text: spoken(words.stats[name]) }), element('dd', { text: number(stats[name]) })))),
    element('p', { class: 'memories-note', text: searchable }),
  ];
}

/** @param {ReturnType<typeof import('../page.js').createMemoriesPage>} page */
export function createTab(page) {
  const stats = element('div', {});
  const loader = createLoader(stats);
  const node = element('div', { class: 'memories-tab-content' }, element('div', { class: 'memories-scroller memories-transfer' },
    element('section', { class: 'panel' }, element('h2', { class: 'section-title', text: words.storeTitle }), loader.node),
    exportPart(page), importPart(page)));
  const refresh = () => loader.load((options) => page.api.pkbStats(options), (answer) => stats.replaceChildren(...statsNode(answer)));
  return { node, show: refresh, refresh };
}
