import assert from 'node:assert/strict';
import { test } from 'node:test';

import { escapeHtml } from '../../interface/static/page/core/html.js';
import { conversationMenu, newMenu, workspaceMenu } from '../../interface/static/page/sidebar/actions/menu_items.js';

const HOSTILE = `<img src=x onerror="alert('1')">&`;

const workspace = (id, name = id, extra = {}) => ({
  workspace_id: id,
  workspace_name: name,
  workspace_color: 'primary',
  parent_workspace_id: null,
  ...extra,
});

const outline = [
  { workspace: workspace('w1', 'General'), depth: 0 },
  { workspace: workspace('w2', HOSTILE), depth: 9 },
];

/** Actions that note down how they were called. */
function recorder() {
  const calls = [];
  const actions = new Proxy({}, { get: (_target, name) => (...args) => calls.push([name, ...args]) });
  return { calls, actions };
}

function menuOf(conversation, { hasPlaceBeside = true, chosen = [conversation.conversation_id], actions = recorder().actions } = {}) {
  return conversationMenu(conversation, { chosen, home: 'w1', outline, hasPlaceBeside, actions });
}

const NAMED = { conversation_id: 'c1', conversation_friendly_id: 'learn_python_a1b2' };

test('copying the conversation reference comes first, with its icon and apart from the rest', () => {
  const [first] = Object.values(menuOf(NAMED));
  assert.equal(first.label, 'Copy Conversation Reference');
  assert.equal(first.icon, 'fa fa-at');
  assert.equal(first.separator_after, true);
  assert.equal(first._disabled, false);
});

test('the reference that is copied is the bare friendly id, the full one has the prefix', () => {
  const { calls, actions } = recorder();
  const menu = menuOf(NAMED, { actions });
  menu.copyReference.action();
  menu.copyFullReference.action();
  assert.deepEqual(calls, [
    ['copy', 'learn_python_a1b2'],
    ['copy', '@conversation_learn_python_a1b2'],
  ]);
});

test('without a friendly id there is nothing to copy', () => {
  const menu = menuOf({ conversation_id: 'c1', conversation_friendly_id: '' });
  assert.equal(menu.copyReference._disabled, true);
  assert.equal(menu.copyFullReference._disabled, true);
});

test('a workspace name is text in the menu, whatever is in it', () => {
  const { to_1: target } = menuOf(NAMED).moveTo.submenu;
  assert.equal(target.label, '&lt;img src=x onerror=&quot;alert(&#39;1&#39;)&quot;&gt;&amp;');
  assert.equal(target._class, 'menu-depth-6');
});

test('a conversation cannot move to where it is', () => {
  const { to_0: here, to_1: there } = menuOf(NAMED).moveTo.submenu;
  assert.equal(here._disabled, true);
  assert.equal(there._disabled, false);
});

test('what means one conversation is not offered while several are selected, and nothing else is closed', () => {
  const many = menuOf(NAMED, { chosen: ['c1', 'c2'] });
  assert.deepEqual(Object.keys(many), ['pin', 'flag', 'tags', 'moveTo', 'archive', 'delete']);
  const one = menuOf(NAMED);
  for (const name of ['copyReference', 'copyFullReference', 'openWindow', 'openBeside', 'rename', 'tags', 'clone', 'fork', 'stateless', 'share', 'export']) assert.ok(name in one, name);
  assert.equal([...Object.values(one), ...Object.values(many)].some(({ _disabled }) => _disabled), false);
});

test('a menu on one of several selected conversations moves and deletes them all', () => {
  const { calls, actions } = recorder();
  const menu = menuOf(NAMED, { chosen: ['c1', 'c2'], actions });
  assert.equal(menu.moveTo.label, 'Move 2 conversations to…');
  assert.equal(menu.delete.label, 'Delete 2 conversations');
  menu.moveTo.submenu.to_0.action();
  menu.delete.action();
  menu.tags.action();
  assert.deepEqual(calls, [
    ['moveConversations', ['c1', 'c2'], 'w1'],
    ['remove', ['c1', 'c2']],
    ['tagMany', ['c1', 'c2']],
  ]);
});

test('the default workspace can be neither moved nor deleted', () => {
  const { actions } = recorder();
  const menu = workspaceMenu(workspace('w1'), { outline, isDefault: true, mayMoveTo: () => false, actions });
  assert.equal(menu.moveTo._disabled, true);
  assert.equal(menu.delete._disabled, true);
});

test('a workspace moves to the top or below others, not to where it is or may not be', () => {
  const { calls, actions } = recorder();
  const nested = workspace('w3', 'Inner', { parent_workspace_id: 'w1' });
  const mayMoveTo = (target) => target !== 'w2';
  const { submenu } = workspaceMenu(nested, { outline, isDefault: false, mayMoveTo, actions }).moveTo;
  assert.deepEqual(Object.values(submenu).map((item) => Boolean(item._disabled)), [false, true, true]);
  submenu.toTop.action();
  assert.deepEqual(calls, [['moveWorkspace', 'w3', null]]);
});

test('the current colour is marked among the colours', () => {
  const { actions } = recorder();
  const red = workspace('w1', 'Red', { workspace_color: 'danger' });
  const { submenu } = workspaceMenu(red, { outline, isDefault: false, mayMoveTo: () => true, actions }).color;
  assert.match(submenu.danger._class, /menu-current/);
  assert.doesNotMatch(submenu.primary._class, /menu-current/);
});

test('escaping leaves ordinary text alone', () => {
  assert.equal(escapeHtml('Größe 3 · ok'), 'Größe 3 · ok');
});

test('a conversation is pinned, flagged and archived from its menu', () => {
  const { calls, actions } = recorder();
  const menu = menuOf({ ...NAMED, flag: 'blue' }, { actions });
  assert.deepEqual([menu.pin.label, menu.flag.label, menu.archive.label], ['Pin', 'Set Flag', 'Archive']);
  const { submenu } = menu.flag;
  assert.deepEqual(Object.values(submenu).map(({ label }) => label), [
    'No flag', 'Red', 'Orange', 'Yellow', 'Green', 'Blue', 'Purple',
  ]);
  assert.match(submenu.flag_blue._class, /menu-current/);
  assert.doesNotMatch(submenu.flag_red._class, /menu-current/);
  menu.pin.action();
  submenu.flag_red.action();
  menu.archive.action();
  assert.deepEqual(calls, [
    ['pin', ['c1'], true],
    ['flag', ['c1'], 'red'],
    ['archive', ['c1'], true],
  ]);
});

test('a pinned conversation is unpinned, an archived one only taken out again', () => {
  const { calls, actions } = recorder();
  menuOf({ ...NAMED, pinned: true }, { actions }).pin.action();
  const menu = menuOf({ ...NAMED, archived: true }, { actions });
  assert.deepEqual([menu.pin, menu.moveTo], [undefined, undefined]);
  assert.equal(menu.archive.label, 'Take out of the Archive');
  menu.archive.action();
  assert.deepEqual(calls, [
    ['pin', ['c1'], false],
    ['archive', ['c1'], false],
  ]);
});

test('flag, pin and archive speak of all that are chosen', () => {
  const { calls, actions } = recorder();
  const menu = menuOf(NAMED, { chosen: ['c1', 'c2'], actions });
  assert.deepEqual(
    [menu.pin.label, menu.flag.label, menu.archive.label],
    ['Pin 2 conversations', 'Flag 2 conversations', 'Archive 2 conversations'],
  );
  menu.flag.submenu.flag_none.action();
  assert.deepEqual(calls, [['flag', ['c1', 'c2'], 'none']]);
});

test('a temporary conversation begins from the menu beside the button', () => {
  const { calls, actions } = recorder();
  const { temporary } = newMenu(actions);
  assert.equal(temporary.label, 'Temporary conversation');
  temporary.action();
  assert.deepEqual(calls, [['newTemporary']]);
});

test('the items of a conversation stand in their order', () => {
  const labels = Object.values(menuOf(NAMED)).map(({ label }) => label);
  assert.deepEqual(labels, [
    'Copy Conversation Reference', 'Copy Full Reference', 'Open in New Window', 'Open Beside', 'Rename', 'Tags…', 'Clone', 'Fork…',
    'Toggle Stateless', 'Pin', 'Set Flag', 'Move to…', 'Archive', 'Share…', 'Export', 'Delete',
  ]);
});

test('a conversation is forked, shared and exported from its menu', () => {
  const { calls, actions } = recorder();
  const menu = menuOf(NAMED, { actions });
  const formats = Object.values(menu.export.submenu).map(({ label }) => label);
  assert.deepEqual(formats, ['Markdown', 'Web page (HTML)', 'JSON', 'Bundle (ZIP)']);
  menu.fork.action();
  menu.share.action();
  menu.export.submenu.export_json.action();
  assert.deepEqual(calls, [['fork', 'c1'], ['share', 'c1'], ['exportAs', 'c1', 'json']]);
});

test('the menu says whether what is said is kept, and offers the opposite', () => {
  const { calls, actions } = recorder();
  const kept = menuOf(NAMED, { actions }).stateless;
  const unkept = menuOf({ ...NAMED, stateless: true }, { actions }).stateless;
  assert.deepEqual([kept.label, unkept.label], ['Toggle Stateless', 'Toggle Stateless (on)']);
  kept.action();
  unkept.action();
  assert.deepEqual(calls, [['setStateless', 'c1', true], ['setStateless', 'c1', false]]);
});
