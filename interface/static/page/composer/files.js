/** Files that go with a message: reading them, showing them as chips, writing them into its text. Loaded with the first one. */

import { composerStrings } from '../strings/en/composer.js';
import { icon } from '../ui/icons.js';
import { LONG_PASTE, MOST_FILES, readTextFile, RefusedFileError, withFiles } from './attachments_model.js';
import { openDialog } from '../ui/dialog.js';
import { element, setHidden } from '../ui/dom.js';
import { showToast } from '../ui/toast.js';

const words = composerStrings.files;
const LONGEST_PREVIEW = 20_000;

export { withFiles };

function showContents({ name, text }) {
  const close = element('button', { type: 'submit', class: 'btn btn-primary', text: composerStrings.close });
  const contents = element('pre', {
    class: 'file-contents', tabindex: '0', role: 'region', 'aria-label': words.previewTitle(name), text: text.slice(0, LONGEST_PREVIEW),
  });
  const size = element('p', { class: 'composer-popup-note', text: words.size(text.length) });
  const dialog = openDialog({ title: name, content: [size, contents], buttons: [close], className: 'file-dialog', onSubmit: () => dialog.close() });
  close.focus();
}

function chipFor(file, { onRemove }) {
  const name = element('button', {
    type: 'button', class: 'claim-chip-name', title: words.preview(file.name), text: file.name, onclick: () => showContents(file),
  });
  const label = words.remove(file.name);
  const remove = element('button', { type: 'button', class: 'icon-button', 'aria-label': label, title: label, onclick: onRemove }, icon('x-lg'));
  const chip = element('li', { class: 'composer-chip claim-chip file-chip' }, icon('file-text'), name,
    element('span', { class: 'claim-chip-statement', text: words.size(file.text.length) }), remove);
  chip.addEventListener('keydown', (event) => {
    if (event.key !== 'Delete' && event.key !== 'Backspace') return;
    event.preventDefault();
    onRemove();
  });
  return chip;
}

/**
 * @param {{place: HTMLElement, input: HTMLElement, page: object, onRemove: (position: number) => void}} options
 * @returns {{show: (files: object[]) => void, removed: (name: string, position: number) => void}}
 */
export function createFileList({ place, input, page, onRemove }) {
  const list = element('ul', { class: 'claim-chips', 'aria-label': words.list, hidden: true });
  place.append(list);
  return {
    show(files) {
      setHidden(list, files.length === 0);
      list.replaceChildren(...files.map((file, position) => chipFor(file, { onRemove: () => onRemove(position) })));
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
 * @returns {Promise<{added: Array<{name: string, text: string}>, problems: string[]}>} sentences for those that can't go along
 */
export async function readFiles(wanted, { most, held }) {
  const room = Math.max(0, MOST_FILES - held);
  const read = await Promise.allSettled(wanted.slice(0, room).map((file) => readTextFile(file, { most })));
  const problems = read.filter(({ status }) => status === 'rejected').map(({ reason }) => sentenceFor(reason, most));
  if (wanted.length > room) problems.push(words.tooMany(MOST_FILES));
  return { added: read.filter(({ status }) => status === 'fulfilled').map(({ value }) => value), problems };
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

/** What there is to say where the browser has no room for a draft's files, or a message and they are too long. */
export const sentences = { notKept: words.notKept, tooLong: words.tooLong, leftBehind: words.leftBehind };
