import { fileAddress } from './api.js';
import { shareStrings } from '../../strings/en/sharing.js';
import { element } from '../../ui/dom.js';
import { icon } from '../../ui/icons.js';

const words = shareStrings.page;

function picture(address, { name, width, height }) {
  // Its size is known before it comes, so that nothing moves when it does.
  const image = element('img', { class: 'message-picture', src: address, alt: name, loading: 'lazy', width, height });
  image.addEventListener('error', () => image.replaceWith(words.gone(name)));
  return [image];
}

function link(address, { name, size }) {
  const face = [icon('file-text'), element('span', { text: name })];
  // The server says that it is to be saved. Without a file there, the browser shows why.
  const save = element('a', { class: 'message-file-button', href: address, 'aria-label': words.save(name) }, ...face);
  return [save, ' ', element('span', { class: 'share-file-size', text: shareStrings.size(size) })];
}

/**
 * The files that were chosen to be shown with a message.
 *
 * @param {{message_index: number, parts?: object[]}} message
 * @param {string} token
 * @param {string} snapshot
 * @returns {HTMLElement[]}
 */
export function filesOf({ message_index: index, parts = [] }, token, snapshot) {
  return parts.filter(({ kind }) => kind === 'file' || kind === 'image').map((part) => {
    const { kind, name = '', number, size = 0, width, height } = part;
    const show = kind === 'image' ? picture : link;
    return element('div', { class: 'message-file', dir: 'auto' }, ...show(fileAddress(token, snapshot, index, number), { name, size, width, height }));
  });
}
