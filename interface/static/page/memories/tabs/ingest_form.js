import { number } from '../../strings/en/count.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { proposesAlways } from '../../core/browser_storage/storage.js';
import { MOST_TEXT_BYTES, bytesOf, refusalOf } from './ingest_model.js';
import { element, setHidden } from '../../ui/dom.js';
import { button, checkbox, field, fillSelect, select } from '../controls.js';

const words = memoriesTabStrings.ingest;
const KB = 1024;

/** Lets files be dropped on a place. */
export function acceptFiles(place, onFile) {
  const mark = (on) => place.classList.toggle('drop-target', on);
  place.addEventListener('dragover', (event) => {
    if (!event.dataTransfer.types.includes('Files')) return;
    event.preventDefault();
    mark(true);
  });
  place.addEventListener('dragleave', () => mark(false));
  place.addEventListener('drop', (event) => {
    mark(false);
    const [file] = event.dataTransfer.files;
    if (!file) return;
    event.preventDefault();
    onFile(file);
  });
}

/** A button that opens the browser's choice of files. */
export function fileButton(label, accept, onFile) {
  const input = element('input', { type: 'file', accept, hidden: true, 'aria-label': label });
  input.addEventListener('change', () => {
    const [file] = input.files;
    input.value = '';
    if (file) onFile(file);
  });
  return element('span', {}, button(label, () => input.click(), { symbol: 'file-text' }), input);
}

/**
 * The text that memories are to be found in.
 *
 * @param {object} page
 * @param {{onText: (text: string) => void, onStart: (wanted: {text: string, settings: object}) => void}} options `onText`: somebody changed the text
 */
export function createIngestForm(page, { onText, onStart }) {
  const most = Math.round(MOST_TEXT_BYTES / KB);
  const area = element('textarea', { class: 'form-control memories-area', rows: '12', id: 'ingest-text' });
  const size = element('span', { class: 'memories-note' });
  const problem = element('p', { class: 'notice notice-error', role: 'alert', hidden: true });
  const type = select([['', words.auto]], '');
  const domain = select([['', words.auto]], '');
  let useModel = true;
  const start = button(words.start, submit, { class: 'btn btn-primary', id: 'start-ingest' });
  const node = element('form', { class: 'stack memories-ingest-form' },
    element('p', { class: 'memories-note', text: words.intro }), problem,
    field(words.label, area),
    element('div', { class: 'memories-buttons' }, fileButton(words.choose, '.txt,.md,.markdown,text/plain,text/markdown', read), element('span', { class: 'memories-note', text: words.drop }), size),
    checkbox(words.useModel, true, (checked) => {
      useModel = checked;
    }),
    element('div', { class: 'memories-row' }, field(words.type, type), field(words.domain, domain)),
    element('div', { class: 'memories-buttons' }, start),
    element('hr'), checkbox(words.proposeAlways, proposesAlways.get(), proposesAlways.set),
    element('p', { class: 'memories-note', text: words.proposeAlwaysHint }));

  function tell(said) {
    problem.textContent = said;
    setHidden(problem, !said);
  }

  function measure() {
    const bytes = bytesOf(area.value);
    const tooLarge = bytes > MOST_TEXT_BYTES;
    size.textContent = words.size(number(bytes / KB), most);
    size.classList.toggle('too-much', tooLarge);
    start.disabled = tooLarge || !area.value.trim();
    tell(tooLarge ? words.tooLarge(most) : '');
  }

  function changed() {
    measure();
    onText(area.value);
  }

  function show(text) {
    area.value = text;
    measure();
  }

  function fill(given) {
    area.value = given;
    changed();
  }

  async function read(file) {
    const refusal = refusalOf(file);
    if (refusal) {
      tell(refusal === 'too_large' ? words.tooLarge(most) : words.notText(file.name));
      return;
    }
    fill(await file.text());
  }

  function submit() {
    const settings = { use_model: useModel, default_claim_type: type.value || undefined, default_domain: domain.value || undefined };
    onStart({ text: area.value, settings });
  }

  async function refresh() {
    try {
      const [types, domains] = await Promise.all([page.catalogue.types(), page.catalogue.domains()]);
      fillSelect(type, [['', words.auto], ...types], type.value);
      fillSelect(domain, [['', words.auto], ...domains], domain.value);
    } catch {
      // Without them types and domains are found automatically.
    }
  }

  node.addEventListener('submit', (event) => event.preventDefault());
  area.addEventListener('input', changed);
  acceptFiles(node, read);
  return {
    node, tell, refresh, show, fill,
    get text() {
      return area.value;
    },
    clear: () => fill(''),
  };
}
