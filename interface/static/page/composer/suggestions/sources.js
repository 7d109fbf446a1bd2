import { composerStrings } from '../../strings/en/composer.js';
import { createMemoriesApi } from '../../memories/api.js';
import { spoken } from '../../memories/memory_model.js';
import { icon } from '../../ui/icons.js';
import { createSearchApi } from '../../search/api.js';
import { messageDocumentStrings } from '../../strings/en/message_documents.js';
import { strings } from '../../strings/en/conversation.js';
import { shownTitle } from '../../core/words/conversation_title.js';
import { shortTime } from '../../core/words/times.js';
import { askTogether } from '../../core/ask_together.js';
import { commandNamed, commandsLike, usageOf, valuesLike } from '../commands/commands_model.js';
import { promptsOf } from '../prompts/known.js';
import { promptsLike } from '../prompts/prompts_model.js';
import { activityChosen, conversationChosen, documentChosen, fileChosen, foundChosen, isComplete, joinedChosen, memoryChosen, messageChosen } from './mention_model.js';
import { excerpt } from '../../core/words/excerpt.js';
import { badgeText, senderName } from '../../conversation/message_model.js';
import { plainExcerpt, plainPreview } from '../../markdown/plain_text_model.js';
import { aboutChoice, choicesCalled } from '../models/choices_model.js';
import { bareReference, iconOf, isGiven, isKnownKind } from '../../references/report_model.js';
import { aboutSuggestion, agentsOf, askedElsewhere, byKind, conversationsFound, groupsAmong, memoriesFound, othersOf, saysMeaning, sourcesFor, suggestionGroups } from './suggestions_model.js';
import { element } from '../../ui/dom.js';

const words = composerStrings.suggestions;
const commandWords = composerStrings.commands;
const TITLE_LENGTH = 140;
const MOST_OF_A_KIND = 5;
const MOST_ACTIVITIES = 8;
const USE_NOW = { label: words.useNow, title: words.useNowTitle };

function row(symbol, title, about) {
  return [
    icon(symbol),
    element('span', { class: 'option-title', text: title }),
    element('span', { class: 'option-about', text: about }),
  ];
}

function conversationOption(hit) {
  const { friendly_id: friendlyId, title, last_updated: lastUpdated } = hit;
  // The server says UTC without saying so.
  const when = shortTime(`${(lastUpdated ?? '').replace(' ', 'T')}Z`) || shortTime(lastUpdated);
  return {
    value: { kind: 'conversation', hit }, key: `conversation ${friendlyId}`,
    content: row('chat', shownTitle(title), [friendlyId, when].filter(Boolean).join(' · ')),
  };
}

function messageOption(hit) {
  const badge = badgeText({ message_index: hit.index, message_short_hash: hit.message_short_hash });
  return {
    value: { kind: 'message', hit },
    content: row('chat-square-text', plainPreview(hit.preview, TITLE_LENGTH), `${senderName(hit, strings.sender)} · ${badge}`),
  };
}

/** The files of a message that is offered, each to be referred to by itself. */
function fileOptions(hit) {
  const badge = badgeText({ message_index: hit.index, message_short_hash: hit.message_short_hash });
  return hit.files.map((file) => ({ value: { kind: 'file', hit: { ...hit, number: file.number } }, content: row('paperclip', file.name, badge) }));
}

/** A message that was found by its words, in whichever conversation. */
function foundOption(hit) {
  const about = [shownTitle(hit.title), senderName(hit, strings.sender), badgeText(hit)];
  return { value: { kind: 'found', hit }, key: hit.reference, content: row('chat-square-text', plainExcerpt(hit.snippet, TITLE_LENGTH), about.join(' · ')) };
}

function memoryOption(kind, hit) {
  const name = kind === 'domain' ? spoken(hit.name) : hit.name;
  const title = kind === 'claim' ? excerpt(hit.statement ?? '', TITLE_LENGTH) : name;
  return {
    value: { kind, hit }, key: `${kind} ${hit.friendly_id}`,
    content: row(iconOf({ kind }), title, aboutSuggestion(kind, hit, words.memories)),
    action: kind === 'claim' ? USE_NOW : null,
  };
}

/** A thing of a kind that was added on the server, by its title and its reference. */
function otherOption(value, hit) {
  return { value: { kind: value, hit }, key: `${hit.kind} ${hit.reference}`, content: row(iconOf(hit), plainExcerpt(hit.title, TITLE_LENGTH), hit.reference) };
}

const labelOfKind = (kind) => words.groups[kind] ?? spoken(kind);

function optionOf(kind, hit) {
  if (kind === 'conversation') return conversationOption(hit);
  if (kind !== 'found' && !isKnownKind(kind)) return otherOption(kind, hit);
  return kind === 'found' ? foundOption(hit) : memoryOption(kind, hit);
}

function commandOption(command) {
  const { name, takes } = command;
  return { value: { kind: 'command', hit: { name, takes } }, key: `command ${name}`, content: row('slash-square', usageOf(command, commandWords.takes), commandWords.about[name]) };
}

/** Conversations alone, each leading on to its messages. */
const conversations = {
  ask: ({ query }, { api, signal }) => api.autocompleteConversations(query, {}, { signal }),
  groups: (hits) => [{ options: hits.map(conversationOption) }],
  none: words.noConversations,
  keys: () => words.keysConversation,
};

/** Whether what is typed names a message, so that Enter has nothing to complete. */
async function isWhole(mention, { api, signal }) {
  if (!isComplete(mention)) return false;
  const reference = bareReference(`${conversationChosen(mention.friendlyId)}${mention.query}`);
  return api.resolveReference(reference, { signal, quiet: true }).then(isGiven, () => false);
}

const messages = {
  async ask(mention, { api, signal }) {
    const found = api.findMessages(mention.friendlyId, mention.query, {}, { signal });
    const [hits, whole] = await Promise.all([found, isWhole(mention, { api, signal })]);
    return { hits, whole };
  },
  isWhole: ({ whole }) => whole,
  groups: ({ hits = [] }) => [{ options: hits.flatMap((hit) => [messageOption(hit), ...fileOptions(hit)]) }],
  none: words.noMessages,
  keys: () => words.keysMessage,
};

/** What a search finds for words that nothing of this kind is called by. Where it fails, the search of messages does, too, and says so. */
async function meant(kind, query, { api, signal }) {
  if (!saysMeaning(query)) return [];
  const asked = createSearchApi(api).search(query, { kind, mode: 'meaning', limit: MOST_OF_A_KIND }, { signal });
  return asked.then(({ results }) => results, () => []);
}

async function conversationsLike(query, { api, signal }) {
  const called = await api.autocompleteConversations(query, { limit: MOST_OF_A_KIND }, { signal });
  return called.length > 0 ? called : conversationsFound(await meant('conversation', query, { api, signal }));
}

async function memoriesLike(query, { api, signal }) {
  const called = await createMemoriesApi(api).pkbAutocomplete(query, MOST_OF_A_KIND, { signal });
  return called.memories?.length > 0 ? called : { ...called, memories: memoriesFound(await meant('memory', query, { api, signal })) };
}

/** Everything that has a name, in groups, or of several words what they mean; where one source fails, what the other knows. */
const anything = {
  async ask({ query }, { api, signal, onMore }) {
    const suggesting = api.suggestReferences(query, { limit: MOST_OF_A_KIND, without: askedElsewhere(query) }, { signal });
    const sources = {
      agents: async () => agentsOf(await suggesting),
      conversations: () => conversationsLike(query, { api, signal }),
      memories: () => memoriesLike(query, { api, signal }),
      messages: () => createSearchApi(api).search(query, { kind: 'message', limit: MOST_OF_A_KIND }, { signal }),
    };
    const asked = Object.fromEntries(sourcesFor(query).map((name) => [name, sources[name]]));
    asked.others = async () => othersOf(await suggesting);
    return { query, ...(await askTogether(asked, { onLate: (found) => onMore({ query, ...found }) })) };
  },
  groups: ({ query, answers }) => suggestionGroups(answers, query).map(({ kind, hits }) => ({
    label: labelOfKind(kind),
    options: hits.map((hit) => optionOf(kind, hit)),
  })),
  none: words.nothing,
  keys: () => words.keysUseNow,
  // Most servers have no other kinds of things: of those, nothing is said.
  failed: ({ failed }) => failed.filter((name) => name !== 'others').map((name) => words.sourceFailed[name]),
};

/** What holds memories, to be joined to other such groups. */
const joinable = {
  ask: async ({ query }, { api, signal }) => ({
    query, answers: { memories: groupsAmong(await createMemoriesApi(api).pkbAutocomplete(query, MOST_OF_A_KIND, { signal })) }, failed: [],
  }),
  groups: anything.groups,
  none: words.nothing,
  keys: () => words.keysMessage,
};

/** Documents of the vault, by their names. */
const documents = {
  ask: ({ query }, { api, signal }) => api.suggestReferences(`[[${query}`, {}, { signal }),
  groups: (hits) => [{ options: hits.map((hit) => ({
    value: { kind: 'document', hit }, content: row(iconOf(hit), hit.reference.slice(2, -2), hit.title),
  })) }],
  none: messageDocumentStrings.none,
  keys: () => words.keysMessage,
};

function activityOption(hit) {
  return { value: { kind: 'activity', hit }, content: row('circle', plainExcerpt(hit.title, TITLE_LENGTH), hit.reference) };
}

/** Activities by their short ids, those of this conversation first, and what else has names that begin with a "#". */
const activities = {
  ask: ({ query }, { api, conversationId, signal }) =>
    api.suggestReferences(`#${query}`, { limit: MOST_ACTIVITIES, conversationId, without: askedElsewhere(query) }, { signal }),
  groups: (hits) => byKind(hits).map(({ kind, hits: some }) => ({
    label: labelOfKind(kind), options: some.map((hit) => (kind === 'activity' ? activityOption(hit) : otherOption('activity', hit))),
  })),
  none: '',
  keys: () => words.keysMessage,
};

function promptOption(prompt) {
  return { value: { kind: 'prompt', hit: prompt }, key: `prompt ${prompt.name}`, content: row('quote', `/${prompt.name}`, excerpt(prompt.text, TITLE_LENGTH)) };
}

/** Commands, and the person's own prompts, which come a moment later the first time. */
const commands = {
  known: ({ query }, { onMore, ...page }) => ({ found: commandsLike(query), prompts: promptsLike(promptsOf(page).now(onMore), query) }),
  groups: ({ found, prompts }) => [{ options: found.map(commandOption) }, { label: words.prompts, options: prompts.map(promptOption) }],
  none: '',
  keys: () => words.keysMessage,
};

/** What a command can take, where that is a closed list. */
const values = {
  known: (mention) => valuesLike(mention).map((value) => ({ value, command: mention.command })),
  groups: (found) => [{ options: found.map(({ value, command }) => ({
    value: { kind: 'value', hit: { value } }, content: row('slash-square', value, commandWords.values[value] ?? `/${command} ${value}`),
  })) }],
  none: '',
  keys: () => words.keysMessage,
};

const models = {
  async ask({ query }, { api, signal }) {
    const known = await api.models({ signal });
    return choicesCalled(known, query).filter(({ id }) => id.toLowerCase() !== query);
  },
  groups: (found) => [{ options: found.map((choice) => ({
    value: { kind: 'value', hit: { value: choice.id } }, content: row('slash-square', choice.name, aboutChoice(choice, composerStrings.models)),
  })) }],
  none: words.nothing,
  keys: () => words.keysMessage,
};

/**
 * What there is to offer for each kind of mention: `ask(mention, {api, conversationId, signal, onMore})` gives the answer that `groups`, `keys` and
 * `failed` read, and calls `onMore` with a fuller one where a source answers late, `known(mention, {api, events, onMore})` does so where nobody has to be asked; `none` is said where nothing matches, '' to say nothing;
 * where `isWhole(answer)`, what is typed lacks nothing, and Enter takes no row by itself.
 */
export const OFFERS = { any: anything, group: joinable, activity: activities, document: documents, conversation: conversations, message: messages, command: commands, value: values, model: models };

/**
 * @param {{kind: string, hit: object}} chosen
 * @param {object} mention in whose place it goes
 * @returns {string} what is inserted
 */
export function replacementFor({ kind, hit }, mention) {
  if (kind === 'conversation') return conversationChosen(hit.friendly_id);
  if (kind === 'message') return messageChosen(mention.friendlyId, hit);
  if (kind === 'file') return fileChosen(mention.friendlyId, hit);
  if (kind === 'activity') return activityChosen(hit);
  if (kind === 'document') return documentChosen(hit);
  if (kind === 'found') return foundChosen(hit);
  if (kind === 'command') return commandNamed(hit.name).takes ? `/${hit.name} ` : `/${hit.name}`;
  if (kind === 'value') return hit.value;
  return mention.kind === 'group' ? joinedChosen(hit) : memoryChosen(hit);
}
