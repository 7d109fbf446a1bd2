import { strings } from '../../strings/en/conversation.js';
import { railStrings } from '../../strings/en/rail.js';
import { threadStrings as threadWords } from '../../strings/en/threads.js';
import { messageDocumentStrings as documentWords } from '../../strings/en/message_documents.js';
import { number } from '../../strings/en/count.js';
import { element } from '../../ui/dom.js';
import { backlinkList } from '../../references/backlinks.js';
import { createChip, withLabels } from '../../references/chips.js';
import { composerStrings } from '../../strings/en/composer.js';
import { icon } from '../../ui/icons.js';
import { isBeside, isMuted } from '../../references/report_model.js';
import { documentEntry } from '../../references/wikilinks_model.js';
import { branchList } from '../card/branch_tree.js';
import { openFile } from '../card/content/files.js';
import { branchTree } from '../branch_tree_model.js';
import { loadThreads, openThread, showWantedThread } from '../threads/threads.js';
import { plainExcerpt } from '../../markdown/plain_text_model.js';
import { senderName } from '../message_model.js';

const words = railStrings;
const EXCERPT_LENGTH = 80;

/**
 * What the rail shows beside a conversation.
 *
 * @typedef {object} RailTab
 * @property {string} label
 * @property {boolean} [isLive] whether posted activities may change it
 * @property {boolean} [isOfShown] whether it speaks of the messages that the page shows, and not of the whole conversation
 * @property {string} empty what is said where there is nothing
 * @property {(page: object, options: {isLive: boolean}) => Promise<Node[]>} load what is there now; none for nothing. `isLive`:
 *   activities were posted, and what is shown already stays
 * @property {(detail: object) => void} [open] says what is wanted of it, before it is loaded
 * @property {() => void} [onShown] called when what was loaded is in its place
 */

/** @type {Map<string, RailTab>} in the order in which they stand */
export const railTabs = new Map();

/** @param {string} name @param {RailTab} tab */
export function registerRailTab(name, tab) {
  railTabs.set(name, tab);
}

/** A message of the open conversation by its number and its first words; a click goes there. `references`: the report on the text. */
function messageButton(message, { text, references }, page) {
  const said = withLabels(text, references ?? []);
  const target = { conversation_id: page.conversationId(), message_id: message.message_id };
  return element('button', { type: 'button', class: 'rail-message', onclick: () => page.goTo(target) },
    element('span', { class: 'rail-number', text: `#${message.message_index}` }),
    element('span', { class: 'rail-text', dir: 'auto', text: `${senderName(message, strings.sender)}: ${plainExcerpt(said, EXCERPT_LENGTH)}` }));
}

function referencesOf(message, page) {
  const entries = (message.references ?? []).filter((entry) => !isMuted(entry) && !isBeside(entry));
  if (entries.length === 0) return null;
  const chips = entries.map((entry) => element('li', {}, createChip(entry.ref, entry, page).node));
  return element('section', { class: 'rail-item' }, messageButton(message, message, page), element('ul', { class: 'rail-chips' }, ...chips));
}

registerRailTab('references', {
  label: words.references,
  isOfShown: true,
  empty: words.noReferences,
  load: async (page) => page.transcript().messages.map((message) => referencesOf(message, page)).filter(Boolean),
});

registerRailTab('backlinks', {
  label: words.backlinks,
  empty: words.noBacklinks,
  async load(page) {
    const links = await page.api.listBacklinksOfConversation(page.conversationId());
    return links.length === 0 ? [] : [backlinkList(links, page.goTo)];
  },
});

registerRailTab('pins', {
  label: words.pins,
  empty: words.noPins,
  async load(page) {
    const pinned = await page.api.listPinnedMessages(page.conversationId());
    const said = ({ message_id: id, preview }) => ({ text: preview, references: page.find(id)?.references });
    return pinned.map((message) => element('div', { class: 'rail-item' }, messageButton(message, said(message), page)));
  },
});

registerRailTab('branches', {
  label: words.branches,
  empty: words.noBranches,
  async load(page) {
    const tree = branchTree(await page.api.listBranches(page.conversationId()));
    return tree.length === 0 ? [] : [branchList(tree, (node) => page.onAction('chooseBranch', { message_id: node.forkId }, node.number), page)];
  },
});

registerRailTab('threads', { label: threadWords.label, empty: threadWords.none, isLive: true, load: loadThreads, open: openThread, onShown: showWantedThread });

/** The name of a number, and the number. */
const fact = (name, value) => element('div', { class: 'rail-fact' }, element('dt', { text: name }), element('dd', { text: value }));

registerRailTab('usage', {
  label: words.usage,
  empty: words.noUsage,
  async load(page) {
    const usage = await page.api.conversationUsage(page.conversationId());
    if (usage.answers === 0) return [];
    const costs = Object.entries(usage.cost);
    const facts = [[words.answers, number(usage.answers)], [words.read, number(usage.prompt_tokens)], [words.written, number(usage.completion_tokens)],
      ...(costs.length > 0 ? [[words.cost, words.costs(costs)]] : [])];
    return [element('dl', { class: 'rail-facts' }, ...facts.map(([name, value]) => fact(name, value))), element('p', { class: 'rail-empty', text: words.allBranches })];
  },
});

/** A document of the conversation, and the messages that it goes with. */
function documentItem({ messages, ...document }, page) {
  const about = [document.title === null && document.relative_path ? documentWords.deleted : document.summary, document.used ? '' : documentWords.onlyFound];
  return element('section', { class: 'rail-item rail-document' },
    createChip(document.wikilink, documentEntry(document), page).node,
    element('p', { class: 'rail-text', dir: 'auto', text: about.filter(Boolean).join(' · ') }),
    element('span', { class: 'rail-numbers' }, ...messages.map(({ message_id: id, message_index: index }) => element('button', {
      type: 'button', class: 'rail-number', text: `#${index}`, 'aria-label': documentWords.goTo(index),
      onclick: () => page.goTo({ conversation_id: page.conversationId(), message_id: id }),
    }))));
}

function suggestedDocuments(suggestions, page) {
  if (suggestions.length === 0) return [];
  const open = (path) => page.events.emit('documents:open', { path, anchor: null });
  const buttons = suggestions.map(({ path, title }) => element('li', {}, element('button', { type: 'button', class: 'rail-message', text: title, title: path, onclick: () => open(path) })));
  return [element('section', { class: 'rail-item' }, element('h3', { class: 'rail-text', text: documentWords.related }), element('ul', { class: 'rail-chips' }, ...buttons))];
}

registerRailTab('documents', {
  label: documentWords.label,
  empty: documentWords.noneHere,
  async load(page) {
    const { documents, suggestions } = await page.api.conversationDocuments(page.conversationId());
    return [...documents.map((document) => documentItem(document, page)), ...suggestedDocuments(suggestions, page)];
  },
});

/** A file of the conversation: a click shows it; its number leads to the message that has it. */
function fileItem(file, page) {
  const { name, attachment_id: id, message_id: messageId, message_index: index, message_short_hash: hash } = file;
  const place = index || hash || '';
  const about = [composerStrings.files.about(file), composerStrings.files.problem(file.problem)].filter(Boolean).join(' · ');
  return element('section', { class: 'rail-item rail-file' },
    element('button', { type: 'button', class: 'rail-message', title: name, 'aria-label': strings.parts.openFile(name), disabled: !id, onclick: () => openFile(file, page.api) },
      icon('file-text'),
      element('span', { class: 'rail-text', dir: 'auto' }, element('span', { class: 'rail-file-name', text: name }), element('span', { class: 'rail-file-about', text: about }))),
    element('button', {
      type: 'button', class: 'rail-number', text: `#${place}`, 'aria-label': documentWords.goTo(place),
      onclick: () => page.goTo({ conversation_id: page.conversationId(), message_id: messageId }),
    }));
}

registerRailTab('files', {
  label: words.files,
  empty: words.noFiles,
  load: async (page) => (await page.api.filesOfConversation(page.conversationId())).map((file) => fileItem(file, page)),
});
