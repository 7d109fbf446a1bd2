import assert from 'node:assert/strict';
import { test } from 'node:test';

import { listedTitle } from '../../interface/static/page/core/words/conversation_title.js';
import { firstWords } from '../../interface/static/page/conversation/first_words.js';
import { inOwnWords } from '../../interface/static/page/core/words/workspace_name.js';
import { shellStrings } from '../../interface/static/page/strings/en/shell.js';

import { Store } from '../../interface/static/page/core/store.js';
import { scrolledBy } from '../../interface/static/page/sidebar/dragging.js';
import { PAGE, TreeModel } from '../../interface/static/page/sidebar/tree_model.js';
import { conversationNode, spokenTitle, workspaceText } from '../../interface/static/page/sidebar/tree_nodes_model.js';

const DEFAULT = 'default_ada@example.org_assistant';

const workspace = (id, extra = {}) => ({
  workspace_id: id,
  workspace_name: id,
  workspace_color: 'primary',
  domain: 'assistant',
  expanded: false,
  parent_workspace_id: null,
  ...extra,
});

const conversation = (id, workspaceId = DEFAULT, extra = {}) => ({
  conversation_id: id,
  title: `Title of ${id}`,
  flag: 'none',
  conversation_friendly_id: '',
  workspace_id: workspaceId,
  last_updated: '2026-01-01 00:00:00',
  ...extra,
});

const many = (count, workspaceId, prefix = 'c') =>
  Array.from({ length: count }, (_, position) => conversation(`${prefix}${position}`, workspaceId));

function model({ workspaces = [], conversations = [] } = {}) {
  return new TreeModel({
    workspaces: [workspace(DEFAULT, { workspace_name: 'General' }), ...workspaces],
    conversations,
    defaultWorkspaceId: DEFAULT,
  });
}

const texts = (nodes) => nodes.map((node) => node.text);
const ids = (nodes) => nodes.map((node) => node.id);
const below = (nodes, parent) => ids(nodes.filter((node) => node.parent === parent));

test('a workspace node has the shape that clients know', () => {
  const tree = model({ workspaces: [workspace('w1', { workspace_name: 'Work', workspace_color: 'danger' })] });
  assert.deepEqual(tree.nodesBelow('#')[1], {
    id: 'ws_w1',
    parent: '#',
    text: 'Work',
    type: 'workspace',
    state: { opened: false },
    li_attr: { 'data-workspace-id': 'w1', 'data-color': 'danger' },
    a_attr: { title: 'Work' },
  });
});

test('a conversation node carries its friendly id as an attribute and nowhere in sight', () => {
  const shown = conversation('ada@example.org_1', 'w1', { conversation_friendly_id: 'learn_python_a1b2', flag: 'red' });
  assert.deepEqual(conversationNode(shown, 'ws_w1'), {
    id: 'cv_ada@example.org_1',
    parent: 'ws_w1',
    text: 'Title of ada@example.org_1',
    type: 'conversation',
    li_attr: {
      'data-conversation-id': 'ada@example.org_1',
      'data-flag': 'red',
      'data-conversation-friendly-id': 'learn_python_a1b2',
      class: 'jstree-flag-red',
    },
    a_attr: {
      title: 'Title of ada@example.org_1',
      'data-conversation-id': 'ada@example.org_1',
      href: '/interface/ada%40example.org_1',
      'aria-label': 'Title of ada@example.org_1, red flag',
    },
  });
});

test('a flag is said along with the title, and only where there is one', () => {
  assert.equal(spokenTitle({ title: 'Trip', flag: 'purple' }), 'Trip, purple flag');
  assert.equal(spokenTitle({ title: '', flag: 'green' }), '(untitled), green flag');
  assert.equal(spokenTitle({ title: 'Trip', flag: 'none' }), 'Trip');
  assert.equal(spokenTitle({ title: 'Trip', flag: 'unheard-of' }), 'Trip');
});

test('what is not kept has an icon of its own and says so', () => {
  const node = conversationNode(conversation('c1', DEFAULT, { title: 'Trip', flag: 'red', stateless: true }), '#');
  assert.equal(node.icon, 'fa fa-eye-slash');
  assert.equal(node.a_attr['aria-label'], 'Trip, red flag, not kept');
  assert.equal('icon' in conversationNode(conversation('c1'), '#'), false);
});

test('the newest of all workspaces come newest first, without the pinned ones', () => {
  const at = (day) => ({ last_updated: `2026-01-0${day} 00:00:00` });
  const tree = model({
    workspaces: [workspace('w1')],
    conversations: [
      conversation('fifth', 'w1', at(5)),
      conversation('pinned', 'w1', { ...at(4), pinned: true }),
      conversation('third', DEFAULT, at(3)),
      conversation('second', 'w1', at(2)),
      conversation('first', DEFAULT, { ...at(1), pinned: true }),
    ],
  });
  const named = (conversations) => conversations.map((each) => each.conversation_id);
  assert.deepEqual(named(tree.recent(2)), ['fifth', 'third']);
  assert.deepEqual(named(tree.recent(9)), ['fifth', 'third', 'second']);
  assert.deepEqual(named(tree.pinned()), ['pinned', 'first']);
  tree.removeConversation('fifth');
  assert.deepEqual(named(tree.recent(1)), ['third']);
});

test('a conversation without title and flag is untitled and has no flag class', () => {
  const node = conversationNode(conversation('c1', 'w1', { title: '', flag: null }), 'ws_w1');
  assert.equal(node.text, '(untitled)');
  assert.equal(conversationNode(conversation('c1', 'w1', { title: ' \n ' }), 'ws_w1').text, '(untitled)');
  const padded = conversationNode(conversation('c1', 'w1', { title: '  Trip  ' }), 'ws_w1');
  assert.deepEqual([padded.text, padded.a_attr.title], ['Trip', 'Trip']);
  assert.equal(node.li_attr['data-flag'], 'none');
  assert.equal('class' in node.li_attr, false);
});

test('a workspace says how many conversations it holds, and nothing when it holds none', () => {
  assert.equal(workspaceText('Work', 3), 'Work (3)');
  assert.equal(workspaceText('Work', 0), 'Work');
});

test('the default workspace comes first, the others by name as people count', () => {
  const tree = model({ workspaces: [workspace('Week 10'), workspace('week 2'), workspace('Archive')] });
  assert.deepEqual(texts(tree.nodesBelow('#')), ['General', 'Archive', 'week 2', 'Week 10']);
});

test('below a workspace its workspaces stand before its conversations, newest first as listed', () => {
  const tree = model({
    workspaces: [workspace('w1'), workspace('inner', { parent_workspace_id: 'w1' })],
    conversations: [conversation('new', 'w1'), conversation('old', 'w1')],
  });
  assert.deepEqual(ids(tree.nodesBelow('ws_w1')), ['ws_inner', 'cv_new', 'cv_old']);
});

test('a closed workspace leaves its children to be asked for', () => {
  const tree = model({ conversations: [conversation('c1')] });
  assert.equal(tree.nodesBelow('#')[0].children, true);
});

test('an expanded workspace brings its children along, nested ones included', () => {
  const tree = model({
    workspaces: [
      workspace('outer', { expanded: true }),
      workspace('inner', { expanded: true, parent_workspace_id: 'outer' }),
    ],
    conversations: [conversation('c1', 'inner')],
  });
  const nodes = tree.nodesBelow('#');
  const outer = nodes.find((node) => node.id === 'ws_outer');
  assert.equal(outer.state.opened, true);
  assert.equal('children' in outer, false);
  assert.deepEqual(below(nodes, 'ws_outer'), ['ws_inner']);
  assert.deepEqual(below(nodes, 'ws_inner'), ['cv_c1']);
});

test('what begins on the first screen is opened however much is in it', () => {
  const workspaces = [workspace('w1', { expanded: true }), workspace('w2', { expanded: true })];
  const conversations = [...many(90, 'w1'), ...many(90, 'w2', 'd')];
  const postponed = new Set();
  const nodes = model({ workspaces, conversations }).nodesBelow('#', { rows: 50, postponed });
  assert.deepEqual(nodes.filter((node) => node.state?.opened).map(({ id }) => id), ['ws_w1']);
  assert.deepEqual([...postponed], ['w2']);
});

test('expanded workspaces beyond the first rows are postponed instead of drawn', () => {
  const workspaces = Array.from({ length: 40 }, (_, position) => workspace(`w${position}`, { expanded: true }));
  const conversations = workspaces.flatMap(({ workspace_id: id }) => many(33, id, `${id}_`));
  const postponed = new Set();
  const nodes = model({ workspaces, conversations }).nodesBelow('#', { rows: 300, postponed });
  assert.ok(nodes.length <= 300, `${nodes.length} rows`);
  assert.equal(postponed.size + nodes.filter((node) => node.state?.opened).length, 40);
});

test('a large workspace shows a page, then as many more as were asked for', () => {
  const tree = model({ conversations: many(PAGE + 50, DEFAULT) });
  const first = tree.nodesBelow(`ws_${DEFAULT}`);
  assert.equal(first.length, PAGE + 1);
  assert.equal(first.at(-1).text, 'Show more (50)');
  assert.equal(first.at(-1).id, `more_${DEFAULT}`);
  assert.equal(tree.showMore(DEFAULT), `c${PAGE}`);
  const second = tree.nodesBelow(`ws_${DEFAULT}`);
  assert.equal(second.length, PAGE + 50);
  assert.equal(second.at(-1).type, 'conversation');
});

test('revealing a conversation unrolls its workspace just far enough', () => {
  const tree = model({ conversations: many(3 * PAGE, DEFAULT) });
  assert.equal(tree.reveal(`c${PAGE - 1}`), false);
  assert.equal(tree.reveal(`c${PAGE}`), true);
  assert.equal(tree.nodesBelow(`ws_${DEFAULT}`).length, 2 * PAGE + 1);
});

test('conversations of a workspace that is gone show up in the default one', () => {
  const tree = model({ conversations: [conversation('lost', 'deleted-workspace')] });
  assert.equal(tree.workspaceOf('lost'), DEFAULT);
  assert.deepEqual(ids(tree.nodesBelow(`ws_${DEFAULT}`)), ['cv_lost']);
});

test('workspaces that contain each other are shown all the same', () => {
  const tree = model({
    workspaces: [workspace('a', { parent_workspace_id: 'b' }), workspace('b', { parent_workspace_id: 'a' })],
  });
  assert.deepEqual(
    new Set(tree.outline().map((row) => row.workspace.workspace_id)),
    new Set([DEFAULT, 'a', 'b']),
  );
});

test('a workspace whose parent is unknown stands at the top', () => {
  const tree = model({ workspaces: [workspace('w1', { parent_workspace_id: 'nowhere' })] });
  assert.deepEqual(ids(tree.nodesBelow('#')), [`ws_${DEFAULT}`, 'ws_w1']);
});

test('a workspace moves below any other but itself, its descendants and, for the default one, nothing', () => {
  const tree = model({ workspaces: [workspace('a'), workspace('b', { parent_workspace_id: 'a' }), workspace('c')] });
  assert.equal(tree.mayMoveWorkspace('a', 'b'), false);
  assert.equal(tree.mayMoveWorkspace('a', 'a'), false);
  assert.equal(tree.mayMoveWorkspace('a', 'c'), true);
  assert.equal(tree.mayMoveWorkspace('b', null), true);
  assert.equal(tree.mayMoveWorkspace(DEFAULT, 'c'), false);
});

test('a new conversation is the first of its workspace, and one that is put again moves there', () => {
  const tree = model({ conversations: many(3, DEFAULT) });
  tree.putConversation(conversation('fresh'));
  tree.putConversation({ conversation_id: 'c2', title: 'Renamed' });
  assert.deepEqual(ids(tree.nodesBelow(`ws_${DEFAULT}`)), ['cv_c2', 'cv_fresh', 'cv_c0', 'cv_c1']);
  assert.equal(tree.conversation('c2').title, 'Renamed');
  assert.equal(tree.isNewest('c2'), true);
});

test('a moved conversation keeps its place in time', () => {
  const tree = model({
    workspaces: [workspace('w1')],
    conversations: [
      conversation('newest', 'w1', { last_updated: '2026-03-03 00:00:00' }),
      conversation('middle', DEFAULT, { last_updated: '2026-02-02 00:00:00' }),
      conversation('oldest', 'w1', { last_updated: '2026-01-01 00:00:00' }),
    ],
  });
  tree.moveConversation('middle', 'w1');
  assert.deepEqual(ids(tree.nodesBelow('ws_w1')), ['cv_newest', 'cv_middle', 'cv_oldest']);
  assert.equal(tree.textOf(DEFAULT), 'General');
});

test('a removed conversation is gone from tree and count', () => {
  const tree = model({ conversations: many(2, DEFAULT) });
  tree.removeConversation('c0');
  assert.equal(tree.conversation('c0'), undefined);
  assert.equal(tree.textOf(DEFAULT), 'General (1)');
  assert.equal(tree.conversationCount, 1);
});

test('fresh lists replace the old ones while unrolled workspaces stay unrolled', () => {
  const tree = model({ conversations: many(2 * PAGE, DEFAULT) });
  tree.showMore(DEFAULT);
  tree.replace({ workspaces: [workspace(DEFAULT)], conversations: many(2 * PAGE, DEFAULT, 'n') });
  assert.equal(tree.nodesBelow(`ws_${DEFAULT}`).length, 2 * PAGE);
  assert.equal(tree.conversation('c0'), undefined);
});

test('fresh lists leave open what is open here and take over what was unknown', () => {
  const tree = model({ workspaces: [workspace('a')], conversations: many(1, 'a') });
  tree.setExpanded('a', true);
  const fresh = [workspace('a', { workspace_name: 'Renamed' }), workspace('b', { expanded: true })];
  tree.replace({ workspaces: fresh, conversations: [...many(1, 'a'), ...many(1, 'b', 'd')] });
  const opened = tree.nodesBelow('#').filter((node) => node.state?.opened);
  assert.deepEqual(texts(opened), ['b (1)', 'Renamed (1)']);
});

test('collapsing closes what was open and tells which that was', () => {
  const tree = model({ workspaces: [workspace('a', { expanded: true }), workspace('b')], conversations: many(1, 'a') });
  assert.deepEqual(tree.collapse(), ['a']);
  assert.equal(tree.nodesBelow('#').find((node) => node.id === 'ws_a').state.opened, false);
});

test('workspaces are found by every word of their names, whatever the case', () => {
  const tree = model({ workspaces: [workspace('w1', { workspace_name: 'Tax Returns 2026' }), workspace('w2')] });
  assert.deepEqual(tree.findWorkspaces('RETURNS tax').map((each) => each.workspace_id), ['w1']);
  assert.deepEqual(tree.findWorkspaces('  '), []);
});

test('the way to a workspace leads from the outermost one down', () => {
  const tree = model({
    workspaces: [
      workspace('a'),
      workspace('b', { parent_workspace_id: 'a' }),
      workspace('c', { parent_workspace_id: 'b' }),
    ],
  });
  assert.deepEqual(tree.path('c'), ['a', 'b', 'c']);
});

/** A tree over a store, and what `job` makes of both. */
async function followed(job, { workspaces = [], conversations }) {
  const store = new Store();
  const tree = model();
  let told = { reload: new Set(), redraw: [] };
  store.subscribe((batch) => {
    told = tree.follow(batch, store, ({ archived }) => !archived);
  });
  const lists = { workspaces: [workspace(DEFAULT, { workspace_name: 'General' }), ...workspaces], conversations };
  await store.loadLists(async () => lists);
  store.update(() => job(store));
  const redraw = told.redraw.map(({ conversation_id: id }) => id);
  return { tree, reload: [...told.reload], redraw, inside: (id) => tree.inside(id).map((each) => each.conversation_id) };
}

const at = (day) => ({ last_updated: `2026-01-${day} 00:00:00` });
const THREE = [conversation('c', 'w', at('03')), conversation('b', 'w', at('02')), conversation('a', 'w', at('01'))];
const IN_TWO = { workspaces: [workspace('w'), workspace('v')], conversations: THREE };

test('another name or flag is drawn in its place', async () => {
  const { reload, redraw, tree } = await followed((store) => store.changeConversation('b', { title: 'Bread' }), IN_TWO);
  assert.deepEqual([reload, redraw], [[], ['b']]);
  assert.equal(tree.inside('w')[1].title, 'Bread');
});

test('what was said in last comes first, and only its workspace is drawn anew', async () => {
  const said = await followed((store) => store.changeConversation('a', at('04')), IN_TWO);
  assert.deepEqual([said.reload, said.inside('w')], [['w'], ['a', 'c', 'b']]);
  const again = await followed((store) => store.changeConversation('c', at('05')), IN_TWO);
  assert.deepEqual([again.reload, again.redraw], [[], ['c']], 'the first one stays where it is');
});

test('what moves leaves one workspace and comes to another, in its order', async () => {
  const moved = await followed((store) => {
    store.changeConversation('b', { workspace_id: 'v' });
    store.changeConversation('a', { workspace_id: 'v' });
  }, IN_TWO);
  assert.deepEqual(moved.reload.sort(), ['v', 'w']);
  assert.deepEqual([moved.inside('w'), moved.inside('v')], [['c'], ['b', 'a']]);
});

test('what is archived or gone leaves the tree, what comes back comes to its place', async () => {
  const away = await followed((store) => {
    store.changeConversation('b', { archived: true });
    store.removeConversation('c');
  }, IN_TWO);
  assert.deepEqual([away.reload, away.inside('w'), away.redraw], [['w'], ['a'], []]);
  const back = await followed((store) => {
    store.removeConversation('b');
    store.putConversation(conversation('b', 'w', at('02')));
  }, IN_TWO);
  assert.deepEqual(back.inside('w'), ['c', 'b', 'a']);
});

test('another tree of workspaces is drawn anew; which of them are open is the own matter of each window', async () => {
  const opened = await followed((store) => store.changeWorkspace('w', { expanded: true }), IN_TWO);
  assert.deepEqual([opened.reload, opened.tree.workspace('w').expanded], [[], false]);
  const renamed = await followed((store) => store.changeWorkspace('w', { workspace_name: 'Garden' }), IN_TWO);
  assert.deepEqual([renamed.reload, renamed.tree.textOf('w')], [['#'], 'Garden (3)']);
  const gone = await followed((store) => store.removeWorkspace('w', { movedTo: DEFAULT }), IN_TWO);
  assert.deepEqual([gone.reload.includes('#'), gone.inside(DEFAULT)], [true, ['c', 'b', 'a']]);
});

test('the default workspace has its own words until it is renamed, and others are called as they are', async () => {
  const german = await import('../../interface/static/page/strings/de/shell.js');
  assert.equal(german.shellStrings.defaultWorkspace, 'Allgemein');
  const named = (id, name) => inOwnWords({ workspace_id: id, workspace_name: name }).workspace_name;
  assert.equal(named('default_ann_assistant', 'General'), shellStrings.defaultWorkspace);
  assert.equal(named('default_ann_assistant', 'Garden'), 'Garden');
  assert.equal(named('4f2', 'General'), 'General');
});

test('the list scrolls faster the nearer a dragged row comes to an edge, and not between', () => {
  const view = { top: 100, bottom: 500 };
  assert.deepEqual([148, 300, 452].map((y) => Math.abs(scrolledBy(y, view))), [0, 0, 0]);
  assert.deepEqual([140, 100, 0].map((y) => scrolledBy(y, view)), [-1, -6, -12]);
  assert.deepEqual([460, 500, 900].map((y) => scrolledBy(y, view)), [1, 6, 12]);
});

test('first words are those of the question that a conversation begins with', () => {
  const question = { sender: 'user', text: '  How much\nwater? ', message_index: 1 };
  assert.equal(firstWords([question]), 'How much water?');
  assert.equal(firstWords([{ ...question, message_index: undefined }]), 'How much water?');
  assert.equal(firstWords([{ ...question, message_index: 7 }]), '');
  assert.equal(firstWords([{ ...question, sender: 'model' }]), '');
  assert.equal(firstWords([{ ...question, text: 'See @garden_pots_1234_message_3 and #42: **why** `@x_y` so?' }]), 'See and : why @x_y so?');
  assert.equal(firstWords([{ ...question, text: '@conversation_garden_1234' }]), '');
  assert.equal(firstWords([]), '');
  assert.equal(listedTitle({ title: null, first_words: 'How much water?' }), 'How much water?');
  assert.equal(listedTitle({ title: 'Pots', first_words: 'How much water?' }), 'Pots');
  assert.equal(listedTitle({ title: '' }), '(untitled)');
});
