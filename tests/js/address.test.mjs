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
    { isPanelAlone: true, closesPanel: true }, { isPanelAlone: true, closesPanel: false }, { isPanelAlone: false, closesPanel: false },
  ]);
});
