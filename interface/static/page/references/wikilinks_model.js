/** Wikilinks of a text, as `vault/content/wikilinks.py` finds them, and the documents that a message refers to. */

import { codeRanges } from '../markdown/code_ranges_model.js';

const LINK = /\[\[([^\][\r\n]+)\]\]/g;
const TARGET = /^[\s]*[^\s#|\\]/;

/**
 * @param {string} text
 * @returns {Array<{start: number, end: number, ref: string}>} where links stand, with their brackets; none inside code
 */
export function findWikilinks(text) {
  if (!text.includes('[[')) return [];
  const found = [];
  const code = codeRanges(text);
  const nowhere = [text.length, text.length];
  let [codeStart, codeEnd] = code.next().value ?? nowhere;
  for (const match of text.matchAll(LINK)) {
    while (codeEnd <= match.index) [codeStart, codeEnd] = code.next().value ?? nowhere;
    if (match.index >= codeStart || !TARGET.test(match[1])) continue;
    found.push({ start: match.index, end: match.index + match[0].length, ref: match[0] });
  }
  return found;
}

/** What a person reads for a link: its alias, else its target and anchor. */
export function linkText(link) {
  const [address, alias] = link.slice(2, -2).split(/\\?\|/, 2);
  return (alias ?? address).trim();
}

/** A document of a message as an entry of a report, which chips and cards show. */
export function documentEntry({ wikilink, relative_path: path, summary, context_snippet: snippet, anchor }) {
  return {
    ref: wikilink,
    kind: 'document',
    status: path ? 'resolved' : 'not_found',
    title: linkText(wikilink),
    preview: summary ?? '',
    notes: [path, anchor && `# ${anchor}`, path && snippet].filter(Boolean),
    target: path ? { path, anchor } : {},
    isFromMessage: true,
  };
}

/**
 * The documents of a message: as they are stored with it, or of a question that was just sent, as its report names them.
 *
 * @param {object} message
 * @returns {object[]} each `{wikilink, relative_path, used, …}`
 */
export function documentsOf({ document_references: stored, references }) {
  if (stored?.length > 0) return stored;
  return (references ?? []).filter(({ kind, ref }) => kind === 'document' && ref.startsWith('[[')).map(({ ref, target, preview }) => ({
    wikilink: ref, relative_path: target?.path ?? null, summary: preview, anchor: target?.anchor ?? null, context_snippet: null, used: true,
  }));
}
