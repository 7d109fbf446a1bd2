import { excerpt, spoken } from '../memory_model.js';

/**
 * A change in words: "Retracted memory: I like tea".
 *
 * @param {{action: string, object_type: string, title?: string}} entry
 * @param {{words: Object<string, string>, things: Object<string, string>}} said how actions and things are called;
 *   what has no name there is called as the server calls it
 * @returns {string}
 */
export function describeChange({ action, object_type: type, title }, { words, things }) {
  const did = words[`${action}_${type}`] ?? words[action] ?? words[action.split('_')[0]] ?? spoken(action);
  // The title of a change to many says how many.
  const many = action.endsWith('_bulk') || type === 'knowledge_base';
  const what = many ? '' : things[type] ?? String(type ?? '').replaceAll('_', ' ');
  const head = [did, what].filter(Boolean).join(' ');
  return title ? `${head}: ${excerpt(title, 160)}` : head;
}
