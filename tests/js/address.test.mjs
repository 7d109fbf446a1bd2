import assert from 'node:assert/strict';
import { test } from 'node:test';

/** A window with a history of its own, for the module that writes it. */
function openWindow(first) {
  const entries = [first];
  let at = 0;
  let onPop;
  const show = () => Object.assign(globalThis.location, new URL(entries[at], 'http://host'), {
    pathname: new URL(entries[at], 'http://host').pathname, search: new URL(entries[at], 'http://host').search,
  });
  globalThis.location = {};
  globalThis.history = {
    pushState: (_state, _title, address) => { entries.splice(at += 1, Infinity, address); show(); },
    replaceState: (_state, _title, address) => { entries[at] = address; show(); },
  };
  globalThis.addEventListener = (_name, listener) => { onPop = listener; };
  show();
  return { entries, go(by) { at += by; show(); onPop(); } };
}

test('one history tells panels from conversations, and a panel that was closed is not gone back to', async () => {
  const page = openWindow('/interface/a');
  const { followAddress, leavePanel, panelInAddress, writeAddress, writePanel } = await import('../../interface/static/page/core/address.js');
  const steps = [];
  followAddress((step) => steps.push(step));
  writePanel('?panel=search');
  writePanel('?panel=search&q=tea', { replace: true });
  assert.equal(panelInAddress(), 'search');
  page.go(-1);
  page.go(1);
  leavePanel();
  writeAddress('push', 'b', 'm');
  page.go(-1);
  assert.deepEqual(page.entries, ['/interface/a', '/interface/a', '/interface/b?message=m']);
  assert.deepEqual(steps, [
    { isPanelAlone: true, isBesideAlone: false, closesPanel: true }, { isPanelAlone: true, isBesideAlone: false, closesPanel: false },
    { isPanelAlone: false, isBesideAlone: false, closesPanel: false },
  ]);
});

test('the address names two conversations, whatever panel comes and goes, and they can change places', async () => {
  const page = openWindow('/interface/a');
  const { besideInAddress, followAddress, leavePanel, swapAddress, writeAddress, writeBeside, writePanel } = await import('../../interface/static/page/core/address.js?two');
  writeBeside('push', 'b/1');
  assert.equal(besideInAddress(), 'b/1');
  writePanel('?panel=search&q=tea');
  leavePanel();
  writeAddress('push', 'c', 'm');
  assert.deepEqual(page.entries, ['/interface/a', '/interface/a?beside=b%2F1', '/interface/a?beside=b%2F1', '/interface/c?message=m&beside=b%2F1']);
  const steps = [];
  followAddress((step) => steps.push(step));
  page.go(-1);
  page.go(-2);
  assert.deepEqual(steps.map(({ isBesideAlone }) => isBesideAlone), [false, true]);
  page.go(2);
  swapAddress();
  assert.equal(page.entries.at(-1), '/interface/b%2F1?beside=a');
  writeBeside('replace', null);
  assert.equal(page.entries.at(-1), '/interface/b%2F1');
});
