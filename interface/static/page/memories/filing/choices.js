/** What the Memories panel asks a person to choose: a context, a type, a domain, a tag. */

import { memoriesStrings } from '../../strings/en/memories.js';
import { memoriesTabStrings } from '../../strings/en/memories_tabs.js';
import { chooseFrom } from '../dialog.js';

const words = memoriesTabStrings.contexts;
const quoted = (verb) => (text) => `${verb} “${text}”`;

/** @returns {Promise<object|undefined>} a context, there already or made from what was typed */
export async function chooseContext(page, title, { without = () => false } = {}) {
  const tree = await page.attempt(() => page.catalogue.contexts());
  if (!tree) return undefined;
  const rows = tree.outline().filter(({ thing }) => !without(thing));
  return chooseFrom({
    title,
    filterLabel: words.filter,
    none: words.chooseNone,
    options: rows.map(({ thing, depth }) => ({ value: thing, label: thing.name, depth, note: depth ? tree.path(thing.context_id).slice(0, -1).join(' › ') : '' })),
    create: {
      label: quoted(words.create),
      make: async (name) => {
        const { context } = await page.api.pkbAddContext({ name });
        page.changed({ show: false });
        return context;
      },
    },
  });
}

/** @param {'types'|'domains'} kind @returns {Promise<string|undefined>} its name */
export async function chooseKind(page, kind, title) {
  const options = await page.attempt(() => page.catalogue[kind]());
  if (!options) return undefined;
  const { newTypeTitle, newDomainTitle } = memoriesStrings.editor;
  return chooseFrom({
    title,
    filterLabel: title,
    none: memoriesStrings.list.none,
    options: options.map(([value, label]) => ({ value, label })),
    create: { label: quoted(kind === 'types' ? newTypeTitle : newDomainTitle), make: (name) => addKind(page, kind, name) },
  });
}

/** Adds a type or a domain of the person's own. @returns {Promise<string>} its name as the server keeps it */
export async function addKind(page, kind, name) {
  const wanted = name.trim().toLowerCase().replace(/\s+/g, '_');
  const answer = kind === 'types' ? await page.api.pkbAddType(wanted) : await page.api.pkbAddDomain(wanted);
  page.catalogue.forget();
  return answer?.type?.name ?? answer?.domain?.name ?? answer?.name ?? wanted;
}
