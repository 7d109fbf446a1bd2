import { strings } from '../lib/strings.js';
import { element, setHidden } from './dom.js';

/**
 * What a message has beside its words: thinking stands folded above them, notices and parts of other kinds stand below.
 * Texts of parts are shown as they are, never as Markdown.
 */
export function createParts() {
  const thought = element('p', { class: 'message-thought' });
  const before = element('details', { class: 'message-thinking', hidden: true }, element('summary', { text: strings.parts.thinking }), thought);
  const after = element('p', { class: 'message-notice', hidden: true });

  function update(parts) {
    const thinking = parts.filter(({ kind }) => kind === 'thinking').map(({ text }) => text).join('\n\n');
    setHidden(before, !thinking);
    if (thought.textContent !== thinking) thought.textContent = thinking;
    const others = parts.filter(({ kind }) => kind !== 'thinking').map(lineOf).join('\n');
    setHidden(after, !others);
    after.textContent = others;
  }

  return { before, after, update };
}

function lineOf({ kind, name, text }) {
  return kind === 'notice' ? strings.parts.notice(text) : strings.parts.other(kind, name ?? '');
}
