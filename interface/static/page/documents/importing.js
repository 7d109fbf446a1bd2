import { documentStrings } from '../strings/en/documents.js';
import { element, replaceWithFocus, setHidden } from '../ui/dom.js';
import { icon } from '../ui/icons.js';
import { openMenu } from '../ui/controls/menu.js';
import { ACCEPTED, emptyReport, importable, isRefusal, joined, portionsOf, refusedWhole } from './importing_model.js';
import { shownInPart } from './shown_in_part.js';

const words = documentStrings.imports;

const button = (text, onclick) => element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text, onclick });

function refusedRow({ path, reason, code }) {
  const because = path ? words.because[code] ?? reason : reason;
  return element('li', {}, element('strong', { dir: 'auto', text: path || words.rest }), element('span', { class: 'documents-note', text: because }));
}

/**
 * Brings files, archives or a whole folder into the vault, in portions; says how far it is, and what became of each file.
 *
 * @param {object} api of documents
 * @returns {{node: HTMLElement, offer: (isOffered: boolean) => void}}
 */
export function createImport(api) {
  const files = element('input', { type: 'file', multiple: true, accept: ACCEPTED, hidden: true, 'aria-label': words.files, onchange: () => take(files) });
  const folder = element('input', { type: 'file', webkitdirectory: true, hidden: true, 'aria-label': words.folder, onchange: () => take(folder) });
  const choose = element('button', { type: 'button', class: 'btn btn-quiet btn-sm', 'aria-haspopup': 'menu', 'aria-expanded': 'false', onclick: () => openMenu(choose, [
    { symbol: 'file-text', label: words.files, run: () => files.click() },
    { symbol: 'folder', label: words.folder, run: () => folder.click() },
  ], { label: words.label }) }, icon('plus-lg'), element('span', { text: words.label }));
  const place = element('div', { class: 'documents-import-report' });
  const node = element('div', { class: 'documents-import', hidden: true }, choose, files, folder, place);

  function take(input) {
    const { wanted, others } = importable(input.files);
    input.value = '';
    if (wanted.length > 0) send(wanted, others, emptyReport());
    else replaceWithFocus(place, element('p', { class: 'documents-note', role: 'status', text: words.nothing }));
  }

  async function send(wanted, others, before) {
    const stop = new AbortController();
    const progress = element('progress', { 'aria-label': words.running, max: String(wanted.length), value: '0' });
    choose.disabled = true;
    place.replaceChildren(element('p', { class: 'documents-note', role: 'status', text: words.running }), progress, button(words.stop, () => stop.abort()));
    let report = before;
    let failure = null;
    const left = portionsOf(wanted);
    while (left.length > 0 && !failure && !stop.signal.aborted) {
      const [portion] = left;
      try {
        report = joined(report, await api.importFiles(portion, { signal: stop.signal }));
        left.shift();
      } catch (error) {
        if (stop.signal.aborted) break;
        if (isRefusal(error)) report = joined(report, refusedWhole(left.shift(), error));
        else failure = error;
      }
      progress.value = wanted.length - left.flat().length;
    }
    choose.disabled = false;
    show(report, others, { left: left.flat(), failure });
  }

  function show(report, others, { left, failure }) {
    const { imported, unchanged, refused, passed_over: ofArchives } = report;
    const passedOver = others + ofArchives;
    const told = [words.imported(imported.length), ...(unchanged.length ? [words.unchanged(unchanged.length)] : []),
      ...(refused.length ? [words.refused(refused.length)] : []), ...(passedOver ? [words.others(passedOver)] : []), ...(left.length ? [words.left(left.length)] : [])];
    const problem = failure ? [element('p', { class: 'notice notice-error', role: 'alert', text: words.failed(failure.message) })] : [];
    const again = left.length > 0 ? [button(words.goOn, () => send(left, others, report))] : [];
    const list = refused.length > 0 ? [element('ul', { class: 'documents-refused' }, ...shownInPart(refused, refusedRow))] : [];
    replaceWithFocus(place, element('p', { role: 'status', text: told.join(' · ') }), ...problem, ...list,
      element('div', { class: 'document-head' }, ...again, button(words.close, () => {
        place.replaceChildren();
        choose.focus();
      })));
  }

  return { node, offer: (isOffered) => setHidden(node, !isOffered) };
}
