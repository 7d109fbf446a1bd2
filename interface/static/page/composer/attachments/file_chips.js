/** Files that go with a message: reading them, showing them as chips, writing them into its text. Loaded with the first one. */

import { bring } from '../../core/api.js';
import { newId } from '../../core/ids.js';
import { createDocumentsApi } from '../../documents/api.js';
import { isDocument } from '../../documents/importing_model.js';
import { documentStrings } from '../../strings/en/documents.js';
import { attempt } from '../../ui/notices/attempts.js';
import { composerStrings } from '../../strings/en/composer.js';
import { icon } from '../../ui/icons.js';
import { cleanName, inPlace, isForServer, LONG_PASTE, MOST_FILES, readTextFile, RefusedFileError, withFiles, withPlace } from './attachments_model.js';
import { openDialog } from '../../ui/controls/dialog.js';
import { element, inRow, replaceChildrenKeepingFocus, setHidden, whenReleased } from '../../ui/dom.js';
import { showToast } from '../../ui/notices/toast.js';
import { bringToServer, keep } from './uploads.js';

const words = composerStrings.files;
const LONGEST_PREVIEW = 20_000;

export { bringToServer, inPlace, withFiles, withPlace };

function showContents({ name, text }) {
  const close = element('button', { type: 'submit', class: 'btn btn-primary', text: composerStrings.close });
  const contents = element('pre', {
    class: 'file-contents', tabindex: '0', role: 'region', 'aria-label': words.previewTitle(name), text: text.slice(0, LONGEST_PREVIEW),
  });
  const size = element('p', { class: 'composer-popup-note', text: words.size(text.length) });
  const dialog = openDialog({ title: name, content: [size, contents], buttons: [close], className: 'file-dialog', onSubmit: () => dialog.close() });
  close.focus();
}

/** Shows a file that the server has stored. */
async function showStored(stored, page) {
  try {
    const { openViewer } = await bring(() => import('./viewer.js'));
    openViewer(stored, page.api);
  } catch (error) {
    showToast(error.message);
  }
}

/** A picture is told from the others by what is on it. */
function signOf({ stored }) {
  if (stored?.kind !== 'image') return icon('file-text');
  const picture = element('img', { class: 'file-chip-picture', src: `/attachments/${encodeURIComponent(stored.attachment_id)}?form=picture`, alt: '', draggable: 'false' });
  picture.addEventListener('error', () => picture.replaceWith(icon('eye')));
  return picture;
}

function chipFor(file, { page, onRemove }) {
  const open = () => (file.stored ? showStored(file.stored, page) : showContents(file));
  const name = element('button', { type: 'button', class: 'claim-chip-name', title: words.preview(file.name), text: file.name, onclick: open });
  const note = file.stored ? words.about(file.stored) : words.size(file.text.length);
  return removable(element('li', { class: 'composer-chip claim-chip file-chip' }, signOf(file), name,
    element('span', { class: 'claim-chip-statement', text: note })), file.name, onRemove);
}

/** A file that is on its way to the server, or did not get there. */
function uploadChip(upload, { onCancel, onRetry }) {
  const bar = element('progress', { max: '1', 'aria-label': words.uploading(upload.name) });
  bar.value = upload.share;
  const again = element('button', { type: 'button', class: 'btn btn-sm btn-quiet', text: words.retry, ...inRow(words.retry, upload.name), onclick: () => onRetry(upload) });
  const chip = element('li', { class: 'composer-chip claim-chip file-chip', 'data-state': upload.problem ? 'failed' : 'uploading' }, icon('file-text'),
    element('span', { class: 'claim-chip-statement', text: upload.name }), upload.problem ? (upload.isRefused ? null : again) : bar);
  return removable(chip, upload.name, () => onCancel(upload));
}

function removable(chip, name, onRemove) {
  const label = words.remove(name);
  chip.append(element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: onRemove }, icon('x-lg')));
  chip.addEventListener('keydown', (event) => {
    if (event.key !== 'Delete' && event.key !== 'Backspace') return;
    event.preventDefault();
    onRemove();
  });
  return chip;
}

/**
 * @param {{place: HTMLElement, input: HTMLElement, page: object, onRemove: (position: number) => void, onCancel: (upload: object) => void,
 *   onRetry: (upload: object) => void}} options
 * @returns {{show: (files: object[], uploads: object[]) => Promise<void>, progressed: (upload: object) => void, removed: (name: string, position: number) => void}}
 */
export function createFileList({ place, input, page, onRemove, onCancel, onRetry }) {
  /** The chips of files on their way, each with the problem that it tells. */
  let chips = new Map();
  const chipOf = (upload) => ({ problem: upload.problem, chip: uploadChip(upload, { onCancel, onRetry }) });
  const list = element('ul', { class: 'claim-chips', 'aria-label': words.list, hidden: true });
  place.append(list);
  return {
    async show(files, uploads) {
      // What is pressed moves only when it is let go of: a click elsewhere than the press is none.
      if (list.matches(':active')) await whenReleased();
      setHidden(list, files.length + uploads.length === 0);
      // A chip that says the same stays: it may be pressed just now, and its bar goes on.
      const isSame = (upload) => chips.get(upload)?.problem === upload.problem;
      chips = new Map(uploads.map((upload) => [upload, isSame(upload) ? chips.get(upload) : chipOf(upload)]));
      const stored = files.map((file, position) => chipFor(file, { page, onRemove: () => onRemove(position) }));
      replaceChildrenKeepingFocus(list, ...stored, ...[...chips.values()].map(({ chip }) => chip));
    },
    progressed(upload) {
      const bar = chips.get(upload)?.chip.querySelector('progress');
      if (bar) bar.value = upload.share;
    },
    keep(uploads, message) {
      for (const upload of uploads) keep(upload, message);
    },
    added(files) {
      page.announce(words.added(files.map(({ name }) => name)));
      input.focus();
    },
    removed(name, position) {
      page.announce(words.removed(name));
      const next = list.children[Math.min(position, list.children.length - 1)];
      (next?.querySelector('.icon-button') ?? input).focus();
    },
  };
}

function sentenceFor(error, most) {
  if (!(error instanceof RefusedFileError)) return error.message;
  return words[error.reason](error.file, most);
}

/**
 * @param {File[]} wanted
 * @param {{most: number, held: number}} options `most` characters in a message, `held` files already
 * @returns {Promise<{added: Array<{name: string, text: string}>, others: object[], problems: string[]}>} `others`: what is no text, or
 *   too long for the message, to be stored by the server; `problems`: sentences for those that can't go along
 */
export async function readFiles(wanted, { most, held }) {
  const room = Math.max(0, MOST_FILES - held);
  const taken = wanted.slice(0, room);
  const read = await Promise.allSettled(taken.map((file) => readTextFile(file, { most })));
  const others = taken.filter((_, place) => isForServer(read[place].reason)).map((file) => ({ id: newId(), name: cleanName(file.name), file, share: 0, problem: '', isNew: true }));
  const problems = read.filter(({ reason }) => reason && !isForServer(reason)).map(({ reason }) => sentenceFor(reason, most));
  if (wanted.length > room) problems.push(words.tooMany(MOST_FILES));
  return { added: read.filter(({ status }) => status === 'fulfilled').map(({ value }) => value), others, problems };
}

/**
 * Offers to make a long pasted text a file: the text stays where it is until the person wants that.
 *
 * @param {string} text
 * @param {(file: {name: string, text: string}) => void} onAttach
 * @returns {() => void} withdraws the offer
 */
export function offerPasted(text, onAttach) {
  if (text.length < LONG_PASTE) return () => {};
  return showToast(words.pasted(text.length), {
    actionLabel: words.attachPasted, onAction: () => onAttach({ name: words.pastedName, text }),
  });
}

/**
 * Offers to keep text files that were attached as documents, which the message then links: they stay for other conversations.
 *
 * @param {Array<{name: string, text: string}>} files
 * @param {{api: object, onKept: (documents: Array<{name: string, path: string}>) => void}} options
 * @returns {(() => void)|null} withdraws the offer; null where nothing is offered
 */
export function offerAsDocuments(files, { api, onKept }) {
  const wanted = files.filter(({ name }) => isDocument(name));
  if (wanted.length === 0) return null;
  const keep = () => attempt(async () => {
    const sent = wanted.map(({ name, text }) => ({ name, file: new File([text], name) }));
    const { imported, unchanged, refused } = await createDocumentsApi(api).importFiles(sent, {});
    const paths = new Set([...imported, ...unchanged]);
    onKept(wanted.filter(({ name }) => paths.has(name)).map(({ name }) => ({ name, path: name })));
    for (const { path, code, reason } of refused) showToast(words.notADocument(path, documentStrings.imports.because[code] ?? reason), { kind: 'error' });
  }, { failed: words.notKeptAsDocument });
  return showToast(words.alone(wanted.map(({ name }) => name)), { actionLabel: words.keepAsDocument(wanted.length), onAction: keep });
}

/**
 * Links documents in the text where the files of their names were attached.
 *
 * @param {Array<{name: string, path: string}>} documents
 * @param {{input: HTMLTextAreaElement, files: Array<{name: string}>}} message
 * @returns {Array<{name: string}>} the files that stay
 */
export function linkInstead(documents, { input, files }) {
  const names = new Set(documents.map(({ name }) => name));
  input.value = `${[input.value.trimEnd(), ...documents.map(({ path }) => `[[${path}]]`)].filter(Boolean).join(' ')} `;
  input.dispatchEvent(new Event('input'));
  input.focus();
  return files.filter(({ name }) => !names.has(name));
}

/** What there is to say where the browser has no room for a draft's files, or a message and they are too long. */
export const sentences = { notKept: words.notKept, tooLong: words.tooLong, leftBehind: words.leftBehind };

/** @param {object[]} uploads @param {string[]} others @returns {string} why some of `uploads` did not get there, or are not kept, and `others` */
export function problemsOf(uploads, others) {
  const failed = uploads.filter(({ problem }) => problem).map(({ name, problem }) => words.notUploaded(name, problem));
  const unkept = uploads.some(({ isUnkept }) => isUnkept) ? [words.notKept] : [];
  return [...new Set([...failed, ...unkept, ...others])].join(' ');
}
