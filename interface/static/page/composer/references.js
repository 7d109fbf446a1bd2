import { parseMemoryReferences } from '../references/grammar.js';
import { createAutocomplete } from './suggestions/autocomplete.js';
import { createPreview } from './preview.js';

/**
 * What the composer knows of references: completes them, shows them, reads them. Loaded with the first one that is typed.
 *
 * @param {{form: HTMLFormElement, input: HTMLTextAreaElement, page: object, onComplete: () => void}} options `onComplete` is
 *   called when a choice changed the text
 */
export function mountReferences({ form, input, page, onComplete }) {
  return { ...createAutocomplete(input, page, { onComplete }), ...createPreview(form, input, page, { onCorrect: onComplete }), parse: parseMemoryReferences };
}
