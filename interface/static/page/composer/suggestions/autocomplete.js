import { bring } from '../../core/api.js';
import { createLatest } from '../../core/latest.js';
import { composerStrings } from '../../strings/en/composer.js';
import { strings } from '../../strings/en/conversation.js';
import { argumentAt } from '../commands/commands_model.js';
import { isComplete, isOneWord, isSameMention, meansConversation, mentionAt, withoutMessagePart } from './mention_model.js';
import { createSuggestions } from './suggestions.js';
import { OFFERS, replacementFor } from './sources.js';
import { whenReleased } from '../../ui/dom.js';
import { attempt } from '../../ui/notices/attempts.js';

const words = composerStrings.suggestions;
/** What is chosen of these is followed by something to choose. */
const LEADS_ON = new Set(['conversation', 'command']);

const mentioned = (text, caret) => argumentAt(text, caret) ?? mentionAt(text, caret);

/**
 * Completes references in a text field: `@` and words offer what has such a name, a chosen conversation its messages, `#` activities; `/`
 * offers commands, and what they take.
 *
 * @param {HTMLTextAreaElement} input
 * @param {{api: object, events: object, kept: object, conversationId?: () => string|null}} page
 * @param {{onComplete: () => void}} options called when the text was changed by a choice
 */
export function createAutocomplete(input, { api, events, kept, conversationId = () => null }, { onComplete }) {
  const suggestions = createSuggestions(input, { label: words.label, onChoose: choose, onAction: useNow, onOlderUsed: () => latest.cancel() });
  let mention = null;
  let dismissed = -1;
  /** The mention that was answered last: another answer to it has more in it. */
  let answered = null;
  /** Whether what it says lacks nothing. */
  let isWhole = false;
  /** The friendly id of the conversation whose messages were found last. */
  let foundId = null;
  /** Where the caret is behind the space that a choice brought; -1 where something was done since. */
  let spacedAt = -1;

  const latest = createLatest((asked, { signal, onMore }) => OFFERS[asked.kind].ask(asked, { api, conversationId: conversationId(), signal, onMore }), {
    delay: 150,
    ready: whenReleased,
    onAnswer(answer, asked) {
      if (asked.kind === 'message') foundId = asked.friendlyId;
      show(answer, asked);
    },
    onError(error, asked) {
      if (asked.friendlyId === foundId) foundId = null;
      if (error.status === 404) show([], asked);
      else suggestions.tell(words.searchFailed);
    },
  });

  function show(answer, asked) {
    const offer = OFFERS[asked.kind];
    const isFuller = asked === answered;
    answered = asked;
    isWhole = offer.isWhole?.(answer) ?? false;
    const groups = offer.groups(answer).filter(({ options }) => options.length > 0);
    const failed = offer.failed?.(answer) ?? [];
    if (groups.length > 0) suggestions.show(groups, { keys: givesUp(asked) ? words.keysWhole : offer.keys(), more: failed.join(' '), preselects: isOneWord(asked) && !isWhole, isFuller });
    else if (isSearch(asked) && offer.none) suggestions.tell([...failed, offer.none, givesUp(asked) ? words.escWhole : ''].filter(Boolean).join(' '));
    else suggestions.close();
  }

  /** Somebody who writes "@home" and a sentence after it is not searching. */
  const isSearch = (asked) => isOneWord(asked) && !isComplete(asked);

  function close() {
    latest.cancel();
    suggestions.close();
    mention = null;
  }

  function follow() {
    const found = input.selectionStart === input.selectionEnd ? mentioned(input.value, input.selectionStart) : null;
    if (!found || found.start === dismissed) {
      if (!found) dismissed = -1;
      close();
      return;
    }
    const isShown = suggestions.isOpen() && isSameMention(mention, found);
    mention = found;
    if (isShown) return;
    const { known } = OFFERS[found.kind];
    if (known) {
      latest.cancel();
      showKnown(found);
      return;
    }
    // A hash sign is often no beginning of an id: of that, nothing is said.
    if (!suggestions.isOpen() && !isComplete(found) && OFFERS[found.kind].none) suggestions.tell(words.searching);
    suggestions.expire();
    latest.request(found);
  }

  function showKnown(found) {
    async function onMore() {
      await whenReleased();
      if (mention === found) showKnown(found);
    }
    show(OFFERS[found.kind].known(found, { api, events, onMore }), found);
  }

  /** Its fields are filled in first; whoever thinks better of it has the text as it was. */
  async function usePrompt(prompt, place) {
    const { promptText } = await bring(() => import('../prompts/use.js'));
    const text = await promptText(prompt, kept);
    if (text === null) return;
    mention = place;
    complete(text);
  }

  /** As if it were typed, so that it can be undone. */
  function complete(replacement) {
    const { start, end } = mention;
    close();
    input.focus();
    input.setSelectionRange(start, end);
    dismissed = start;
    const isDone = replacement ? document.execCommand('insertText', false, replacement) : document.execCommand('delete');
    if (!isDone) input.setRangeText(replacement, start, end, 'end');
    dismissed = -1;
    spacedAt = replacement.endsWith(' ') ? input.selectionEnd : -1;
    onComplete();
  }

  /** Who goes on with a space, as one does behind a word, means the one that is there. */
  function spareSpace(event) {
    const isSpared = event.data === ' ' && !event.isComposing && input.selectionStart === spacedAt && input.selectionEnd === spacedAt;
    spacedAt = -1;
    if (isSpared) event.preventDefault();
  }

  function choose(chosen) {
    if (!mention) return;
    if (chosen.kind === 'prompt') {
      const place = mention;
      close();
      attempt(() => usePrompt(chosen.hit, place), { failed: strings.answerSettings.failed });
      return;
    }
    complete(replacementFor(chosen, mention));
    if (LEADS_ON.has(chosen.kind)) follow();
  }

  /** The memory goes with the message, and not into its text. */
  function useNow({ hit }) {
    if (!mention) return;
    complete('');
    const { claim_id, friendly_id, statement } = hit;
    events.emit('claim:use-now', { claim_id, friendly_id, statement });
  }

  /** Whether Escape gives up the half name of a message, which would lead nowhere, of a conversation that there is. */
  const givesUp = (found) => found?.kind === 'message' && found.friendlyId === foundId && meansConversation(found, input.value.slice(found.end));

  function giveUpMessage() {
    const { start, end } = mention;
    const typed = input.value.slice(start, end);
    complete(`${withoutMessagePart(typed)}${/^\s/.test(input.value.slice(end)) ? '' : ' '}`);
  }

  function handleKey(event) {
    if (event.key === 'Escape' && suggestions.isOpen()) {
      if (givesUp(mention)) giveUpMessage();
      else {
        dismissed = mention?.start ?? -1;
        close();
      }
      event.preventDefault();
      return true;
    }
    return suggestions.handleKey(event);
  }

  input.addEventListener('beforeinput', spareSpace);
  input.addEventListener('blur', () => setTimeout(() => document.activeElement !== input && close(), 150));
  input.addEventListener('click', follow);
  input.addEventListener('keyup', (event) => ['ArrowLeft', 'ArrowRight', 'Home', 'End'].includes(event.key) && follow());

  /** What is written next is another text. */
  function end() {
    dismissed = -1;
    close();
  }

  return { follow, close: end, handleKey };
}
