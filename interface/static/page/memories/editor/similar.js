/** After adding: what to do about a memory that says the same, or otherwise. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { referenceTo } from '../memory_model.js';
import { element } from '../../ui/dom.js';
import { openDialog } from '../dialog.js';

const words = memoriesStrings.similar;
const MOST_QUESTIONS = 3;

function side(label, claim) {
  return element('div', { class: 'memories-side' },
    element('h3', { class: 'memories-side-title', text: label }),
    element('p', { class: 'memory-statement', text: claim.statement }),
    element('code', { class: 'memories-note', text: referenceTo(claim) }));
}

function ask(claim, { claim: existing, kind }) {
  const choices = [['keep', words.keepBoth, words.keepBothHint], ['supersede', words.supersede, words.supersedeHint], ['conflict', words.conflict, words.conflictHint]];
  const dialog = openDialog({
    title: words.title,
    wide: true,
    content: [
      element('p', { class: 'dialog-text', text: words[kind] }),
      element('div', { class: 'memories-sides' }, side(words.existing, existing), side(words.new, claim)),
      element('div', { class: 'memories-options' }, ...choices.map(([name, label, hint]) => element('button', {
        type: 'button', class: 'memories-option', onclick: () => dialog.close(name),
      }, element('strong', { text: label }), element('span', { class: 'memories-note', text: hint })))),
    ],
  });
  return dialog.closed;
}

/**
 * @param {object} page
 * @param {object} claim the new memory
 * @param {Array<{claim: object, kind: string}>} similar nearest first
 */
export async function askAboutSimilar(page, claim, similar) {
  for (const each of similar.slice(0, MOST_QUESTIONS)) {
    const choice = await ask(claim, each);
    const { claim_id: old } = each.claim;
    const done = {
      supersede: () => page.api.pkbSupersedeClaim(old, claim.claim_id),
      conflict: () => page.api.pkbAddConflict([old, claim.claim_id], ''),
    }[choice];
    if (!done) continue;
    const answer = await page.attempt(done, { creates: choice === 'conflict' });
    if (answer) page.tellDone(choice === 'supersede' ? words.superseded : words.conflicted, answer.audit_id);
    page.changed({ show: false });
  }
}
