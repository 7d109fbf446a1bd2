import assert from 'node:assert/strict';
import { test } from 'node:test';

import { shortcutStrings } from '../../interface/static/page/strings/en/shortcuts.js';
import { listensToCharacters } from '../../interface/static/page/core/browser_storage/storage.js';
import { ACTIONS, SHORTCUTS, allKeys, shortcutOf } from '../../interface/static/page/app/shortcuts/shortcuts_model.js';

const body = { closest: () => null };
const field = { closest: () => field };
const press = (key, more = {}) => ({ key, code: '', target: body, ctrlKey: false, metaKey: false, altKey: false, shiftKey: false, ...more });

test('a shortcut is known by its keys, on either kind of keyboard', () => {
  assert.equal(shortcutOf(press('k', { ctrlKey: true })), 'palette');
  assert.equal(shortcutOf(press('k', { metaKey: true })), 'palette');
  assert.equal(shortcutOf(press('F', { ctrlKey: true, shiftKey: true })), 'search');
  assert.equal(shortcutOf(press('O', { ctrlKey: true, shiftKey: true })), 'newConversation');
  assert.equal(shortcutOf(press('ArrowDown', { code: 'ArrowDown', altKey: true })), 'next');
  assert.equal(shortcutOf(press('<', { code: 'Comma', ctrlKey: true, shiftKey: true })), 'settings');
  assert.equal(shortcutOf(press(':', { code: 'Period', metaKey: true, shiftKey: true })), 'copyReference');
});

test('other keys held beside make it another key', () => {
  assert.equal(shortcutOf(press('k')), null);
  assert.equal(shortcutOf(press('k', { ctrlKey: true, shiftKey: true })), null);
  assert.equal(shortcutOf(press('k', { ctrlKey: true, altKey: true })), null);
  assert.equal(shortcutOf(press('o', { ctrlKey: true })), null);
  assert.equal(shortcutOf(press('/', { ctrlKey: true })), null);
  assert.equal(shortcutOf(press('ArrowDown', { code: 'ArrowDown' })), null);
});

test('a character is a shortcut only where nobody writes, however the keyboard gives it', () => {
  assert.equal(shortcutOf(press('?', { shiftKey: true })), 'help');
  assert.equal(shortcutOf(press('/', { shiftKey: true })), 'compose');
  assert.equal(shortcutOf(press('?', { target: field })), null);
  assert.equal(shortcutOf(press('/', { target: field })), null);
  assert.equal(shortcutOf(press('b', { ctrlKey: true, target: field })), 'sidebar');
});

test('characters that are switched off are no shortcuts, keys with others held still are', () => {
  listensToCharacters.set(false);
  try {
    assert.equal(shortcutOf(press('?', { shiftKey: true })), null);
    assert.equal(shortcutOf(press('/')), null);
    assert.equal(shortcutOf(press('k', { ctrlKey: true })), 'palette');
  } finally {
    listensToCharacters.set(true);
  }
});

test('what somebody else has dealt with, or an input method is composing, is none', () => {
  assert.equal(shortcutOf(press('k', { ctrlKey: true, defaultPrevented: true })), null);
  assert.equal(shortcutOf(press('k', { ctrlKey: true, isComposing: true })), null);
});

test('every key has its words, and no two shortcuts the same keys', () => {
  for (const sendsOnEnter of [true, false]) {
    for (const { name } of allKeys({ sendsOnEnter })) assert.ok(shortcutStrings.of[name], name);
  }
  for (const { name } of ACTIONS) assert.ok(shortcutStrings.of[name], name);
  assert.equal(new Set(SHORTCUTS.map(({ keys }) => keys.join('+'))).size, SHORTCUTS.length);
});

test('the list says which key sends', () => {
  const send = (sendsOnEnter) => allKeys({ sendsOnEnter }).find(({ name }) => name === 'send').keys;
  assert.deepEqual(send(true), ['Enter']);
  assert.deepEqual(send(false), ['Mod', 'Enter']);
});
