import assert from 'node:assert/strict';
import test from 'node:test';

import { keepFields } from '../../interface/static/page/ui/controls/kept_fields.js';
import { createMemory, settled } from './fake_kept.mjs';

const FORM = ['form', 'about'];

/** A form in a tab, its fields filled with what is stored. `type` does what a person does. */
async function openForm(memory, ...values) {
  const kept = await memory.openTab();
  const fields = values.map((value) => Object.assign(new EventTarget(), { value }));
  const typed = keepFields(kept, FORM[1], fields);
  typed.restore();
  return {
    fields, typed,
    kept: () => kept.get(...FORM),
    shown: () => fields.map(({ value }) => value),
    type(position, value) {
      fields[position].value = value;
      fields[position].dispatchEvent(new Event('input'));
    },
  };
}

test('what was typed is kept while what is stored is shown, whatever is stored meanwhile', async () => {
  const memory = createMemory();
  const form = await openForm(memory, 'Ada', 'brief');
  form.type(0, 'Ada Lovelace');
  assert.deepEqual(form.typed.follow(['Countess', 'long']), [true, false]);
  form.typed.swap(0);
  form.typed.follow(['Lady', 'long']);
  assert.deepEqual([form.shown(), form.kept(), form.typed.isSwapped(0)], [['Lady', 'long'], ['Ada Lovelace', 'long'], true]);
  form.type(0, 'Lady Ada');
  assert.deepEqual(form.typed.follow(['Augusta', 'long']), [true, false]);
  form.typed.swap(0);
  assert.deepEqual(form.shown(), ['Ada Lovelace', 'long']);
  form.typed.swap(0);
  assert.deepEqual([form.shown(), form.kept()], [['Lady Ada', 'long'], ['Ada Lovelace', 'long']]);
  form.typed.saved(['Lady Ada', 'long']);
  await settled();
  const reloaded = await openForm(memory, 'Lady Ada', 'long');
  assert.deepEqual(reloaded.shown(), ['Ada Lovelace', 'long']);
});

test('what a shown value was changed to outlives a reload, shown or not, and goes when it is saved or what was typed is', async () => {
  const memory = createMemory();
  const form = await openForm(memory, 'Ada', 'brief');
  form.type(0, 'Ada Lovelace');
  form.typed.follow(['Countess', 'brief']);
  form.typed.swap(0);
  form.type(0, 'Countess Ada');
  await settled();
  const shown = await openForm(memory, 'Countess', 'brief');
  assert.deepEqual([shown.shown(), shown.typed.isSwapped(0), shown.typed.hasBeside(1)], [['Countess Ada', 'brief'], true, false]);
  shown.typed.swap(0);
  // As the page does.
  shown.fields[0].dispatchEvent(new Event('input'));
  assert.deepEqual(shown.shown(), ['Ada Lovelace', 'brief']);
  await settled();
  const hidden = await openForm(memory, 'Countess', 'brief');
  assert.deepEqual([hidden.shown(), hidden.typed.isSwapped(0), hidden.typed.hasBeside(0)], [['Ada Lovelace', 'brief'], false, true]);
  hidden.typed.swap(0);
  assert.deepEqual(hidden.shown(), ['Countess Ada', 'brief']);
  hidden.typed.saved(['Countess Ada', 'brief']);
  await settled();
  const saved = await openForm(memory, 'Countess Ada', 'brief');
  assert.deepEqual([saved.shown(), saved.typed.hasBeside(0)], [['Ada Lovelace', 'brief'], false]);
  saved.type(0, 'Countess Ada');
  await settled();
  assert.equal(memory.stored.size, 0);
});

test('what was typed and is stored elsewhere is no other value any more', async () => {
  const form = await openForm(createMemory(), 'Ada');
  form.type(0, 'Lady');
  form.typed.follow(['Countess']);
  form.typed.swap(0);
  assert.deepEqual([form.typed.follow(['Lady']), form.shown(), form.typed.isSwapped(0), form.kept()], [[false], ['Lady'], false, null]);
});

test('a tab in which nothing was typed leaves what another one keeps', async () => {
  const memory = createMemory();
  const [writing, idle] = [await openForm(memory, 'Ada'), await openForm(memory, 'Ada')];
  writing.type(0, 'Ada Lovelace');
  await settled();
  idle.typed.follow(['Countess']);
  await settled();
  assert.deepEqual([idle.shown(), writing.kept()], [['Countess'], ['Ada Lovelace']]);
  writing.type(0, 'Ada');
  writing.typed.saved(['Ada']);
  assert.equal(writing.kept(), null);
});

test('what a shown value was changed to goes when what was typed is saved instead', async () => {
  const memory = createMemory();
  const form = await openForm(memory, 'Ada');
  form.type(0, 'Mine');
  form.typed.follow(['Theirs']);
  form.typed.swap(0);
  form.type(0, 'Theirs+');
  form.typed.swap(0);
  form.typed.saved(['Mine']);
  form.type(0, 'Mine, and more');
  await settled();
  const reloaded = await openForm(memory, 'Mine');
  assert.deepEqual([reloaded.shown(), reloaded.typed.hasBeside(0), form.typed.hasBeside(0)], [['Mine, and more'], false, false]);
});

test('what was typed and what the shown value was changed to are written in one go', async () => {
  const memory = createMemory();
  const kept = await memory.openTab();
  const writes = [];
  const change = kept.change.bind(kept);
  kept.change = (entries) => {
    writes.push(entries.map(([, id]) => id));
    return change(entries);
  };
  const field = Object.assign(new EventTarget(), { value: 'Soup' });
  const typed = keepFields(kept, FORM[1], [field]);
  typed.restore();
  field.value = 'Soup and bread';
  field.dispatchEvent(new Event('input'));
  typed.follow(['Pies']);
  typed.swap(0);
  writes.length = 0;
  field.value = 'Pies and tarts';
  field.dispatchEvent(new Event('input'));
  assert.deepEqual(writes, [[FORM[1], `${FORM[1]}:beside`]]);
});
