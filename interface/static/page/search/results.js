import { formatAddress } from '../core/address.js';
import { shownTitle } from '../core/words/conversation_title.js';
import { icon } from '../ui/icons.js';
import { searchStrings } from '../strings/en/search.js';
import { strings } from '../strings/en/conversation.js';
import { shortTime } from '../core/words/times.js';
import { badgeText, senderName } from '../conversation/message_model.js';
import { formatDocuments } from '../documents/documents_model.js';
import { spoken } from '../memories/memory_model.js';
import { aboutOther, groupsOf, piecesOf, readablePiecesOf } from './search_model.js';
import { copyAndSay } from '../ui/copy_fallbacks.js';
import { element } from '../ui/dom.js';

const words = searchStrings;

/** What each kind says of itself: the line above the text (null for none), the line below, and where it leads. */
const KINDS = {
  message: (hit) => ({
    title: shownTitle(hit.title),
    about: [senderName(hit, strings.sender), badgeText(hit), shortTime(hit.created_at)],
    href: formatAddress(hit.conversation_id, hit.message_id),
    target: ['conversation:open', { conversationId: hit.conversation_id, messageId: hit.message_id }],
    icon: 'chat-square-text',
  }),
  conversation: (hit) => ({
    title: null,
    // The server says UTC without saying so.
    about: [hit.conversation_friendly_id, shortTime(`${hit.last_updated.replace(' ', 'T')}Z`)],
    href: formatAddress(hit.conversation_id),
    target: ['conversation:open', { conversationId: hit.conversation_id }],
    icon: 'chat',
  }),
  file: (hit) => ({
    title: hit.title,
    about: [hit.page === null ? null : words.page(hit.page), shownTitle(hit.conversation_title), badgeText(hit), shortTime(hit.created_at)],
    href: formatAddress(hit.conversation_id, hit.message_id),
    target: ['conversation:open', { conversationId: hit.conversation_id, messageId: hit.message_id }],
    icon: 'paperclip',
  }),
  document: (hit) => ({
    title: hit.title,
    about: [hit.path, shortTime(hit.modified)],
    href: formatDocuments({ path: hit.path }),
    target: ['documents:open', { path: hit.path, anchor: null }],
    icon: 'file-text',
  }),
  memory: (hit) => ({
    title: null,
    about: [hit.title, `#${hit.claim.claim_number}`, spoken(hit.claim.claim_type)],
    href: `?${new URLSearchParams({ panel: 'memories', claim: hit.claim.claim_id })}`,
    target: ['memories:open', { kind: 'claim', id: hit.claim.claim_id }],
    icon: 'bookmark',
  }),
};

/** Of these the text is Markdown; a document's name, by which it may be found, is none. */
const isMarkdown = (hit) => hit.kind === 'message' || (hit.kind === 'document' && ![hit.title, hit.path].includes(hit.snippet));

function highlighted(hit) {
  const pieces = (isMarkdown(hit) ? readablePiecesOf : piecesOf)(hit.snippet, hit.ranges);
  return pieces.map(({ text, isMatch }) => (isMatch ? element('mark', { text }) : text));
}

function copyButton(hit, title) {
  const label = element('span', { text: words.copy });
  // Of a conversation there may be several messages, of a name several files.
  const what = [title ?? hit.snippet, 'message_index' in hit ? badgeText(hit) : ''].filter(Boolean).join(' · ');
  const button = element('button', { type: 'button', class: 'search-copy btn btn-quiet btn-sm', 'aria-label': words.copyOf(what), title: words.copy }, icon('at'), label);
  button.addEventListener('click', () => copyAndSay(hit.reference, label, words.copied));
  return button;
}

function row(hit, events) {
  const { title, about, href, target, icon: symbol } = (KINDS[hit.kind] ?? aboutOther)(hit);
  const link = element('a', { class: 'search-hit', ...(href ? { href } : { tabindex: '0' }) },
    icon(symbol),
    element('span', { class: 'search-hit-lines' },
      title && element('span', { class: 'search-hit-title', text: title }),
      element('span', { class: 'search-hit-text' }, ...highlighted(hit)),
      element('span', { class: 'search-hit-about', text: about.filter(Boolean).join(' · ') })));
  link.addEventListener('click', (event) => {
    if (!target || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    events.emit(...target);
  });
  return element('li', { class: 'search-row' }, link, hit.reference ? copyButton(hit, title) : null);
}

/**
 * The results of a search, in groups.
 *
 * @param {object} events
 * @param {{onKind: (kind: string) => void}} options called when all of one kind are asked for
 * @returns {{node: HTMLElement, show: (results: object[], kind: string, q: string) => void, add: (results: object[]) => void,
 *            links: () => HTMLElement[]}} `add` continues the messages, or the only group
 */
export function createSearchResults(events, { onKind }) {
  const node = element('div', { class: 'search-results' });

  function group({ kind, results, hasMore }) {
    const more = hasMore && element('button', { type: 'button', class: 'btn btn-quiet btn-sm', text: words.all[kind], onclick: () => onKind(kind) });
    return element('section', { 'aria-labelledby': `search-group-${kind}` },
      element('h2', { class: 'search-group-title', id: `search-group-${kind}`, text: words.kind[kind] ?? spoken(kind) }),
      element('ul', { class: 'search-list' }, ...results.map((hit) => row(hit, events))),
      more || null);
  }

  return {
    node,
    show: (results, kind, q) => node.replaceChildren(...groupsOf(results, kind, q).map(group)),
    add(results) {
      const rows = results.map((hit) => row(hit, events));
      const continued = node.querySelector('[aria-labelledby="search-group-message"]') ?? node.querySelector('section:last-of-type');
      continued.querySelector('.search-list').append(...rows);
      rows[0]?.querySelector('a').focus();
    },
    links: () => [...node.querySelectorAll('.search-hit')],
  };
}
