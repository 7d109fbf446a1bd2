import assert from 'node:assert/strict';
import test from 'node:test';

import { createActs } from '../../interface/static/page/settings/administration/acts_model.js';
import { accountText, actText } from '../../interface/static/page/settings/administration/audit_model.js';

const said = (act, details, subject = 'linus@example.org') => actText({ act, subject, details });
const ID = '1b4e28ba-2fa1-41d2-883f-0016d3cca427';

/** Each act with what it notes: see `record_act` in the server. */
const ACTS = [
  ['account_made', { is_admin: true, because: 'invitation' }, 'as administrator · by an invitation'],
  ['account_made', { is_admin: false, because: 'provider' }, 'as member · by logging in at the provider'],
  ['role_changed', { role: 'member', because: 'groups' }, 'as member · by groups at the provider'],
  ['token_made', { name: 'Backup', read_only: true }, '“Backup” · may only read'],
  ['token_made', { name: 'Script', read_only: false }, '“Script” · may read and change'],
  ['invitation_made', { role: 'member', uses: 1, days: 7 }, 'as member · can be used once · valid for 7 days'],
  ['identity_connected', { issuer: 'https://id.example.org' }, 'provider https://id.example.org'],
  ['quota_changed', { messages_a_day: [null, 1500] }, 'Messages a day: as for everybody → 1,500'],
  ['job_retried', { kind: 'purge_bin' }, 'Empty the bin'],
  ['memories_forgotten', { days: 30, memories: 1, changes: 2 }, 'older than 30 days · 1 memory · 2 changes can’t be undone any more'],
];

test('each act says in words what changed', () => {
  for (const [act, details, words] of ACTS) assert.equal(said(act, details).note, `linus@example.org · ${words}`, act);
  assert.equal(said('role_changed', { role: 'member' }).name, 'Role changed');
  assert.equal(said('store_compacted', { bytes: [12e6, 8e6] }, '').note, '12 MB → 8 MB');
  assert.equal(said('store_moved', { rows: 1234 }, 'sqlite').note, 'sqlite · 1,234 rows');
  assert.match(said('store_restored', { made: '2026-11-22T10:00:00Z' }, 'backup.zip').note, /^backup\.zip · as of (22 Nov|Nov 22)/);
  assert.equal(said('model_fetched', {}, 'qwen').note, 'qwen');
});

test('who has no address any more, and whom an invitation is for, is said without an id', () => {
  assert.deepEqual(said('account_deleted', {}, ID), { name: 'Account deleted', note: 'an account that was erased (1b4e28ba)' });
  assert.equal(accountText(ID), 'an account that was erased (1b4e28ba)');
  assert.deepEqual(said('invitation_withdrawn', {}, ID).note, 'for anybody');
  assert.equal(said('invitation_withdrawn', { addressed: true }, ID).note, 'an account that was erased (1b4e28ba)');
  assert.equal(said('invitation_withdrawn', { addressed: true }).note, 'linus@example.org');
  assert.deepEqual(['', 'ada@example.org'].map(accountText), ['', 'ada@example.org']);
});

test('what a newer server notes is shown as it is', () => {
  assert.deepEqual(said('moon_landed', { crew: ['a', 'b'], fuel: null }), { name: 'moon_landed', note: 'linus@example.org · crew: a → b · fuel: null' });
  assert.match(said('role_changed', { role: 'owner' }).note, /role: owner$/);
  assert.match(said('job_retried', { kind: 'new_kind' }).note, /kind: new_kind$/);
});

/** A list of acts whose answers come when `answer` is called, oldest request first. */
function askedActs() {
  const asked = [];
  const list = createActs((wanted) => new Promise((resolve, reject) => asked.push({ wanted, resolve, reject })));
  const acts = (...ids) => ids.map((id) => ({ audit_id: id }));
  return { list, asked, wanted: () => asked.map(({ wanted }) => [wanted.act, wanted.before]), page: (ids, next) => ({ acts: acts(...ids), next }), ids: () => list.acts().map(({ audit_id: id }) => id) };
}

test('what follows is of the kind that was asked for, each once', async () => {
  const { list, asked, wanted, page, ids } = askedActs();
  assert.equal(await list.newer(), false);
  const form = { act: 'role_changed', subject: '' };
  const first = list.begin(form);
  form.act = 'token_made';
  asked[0].resolve(page([9, 8], 8));
  assert.equal(await first, true);
  const more = [list.newer(), list.earlier(), list.earlier()];
  asked[1].resolve(page([10, 9], 9));
  asked[2].resolve(page([7], null));
  asked[3].resolve(page([7], null));
  await Promise.all(more);
  assert.deepEqual([wanted(), ids(), list.hasEarlier()], [
    [['role_changed', null], ['role_changed', null], ['role_changed', 8], ['role_changed', 8]], [10, 9, 8, 7], false,
  ]);
  assert.equal(await list.earlier(), false);
});

test('an answer to what was asked for before is dropped, and so is its failure', async () => {
  const { list, asked, page, ids } = askedActs();
  const one = list.begin({ act: 'role_changed', subject: '' });
  const two = list.begin({ act: 'token_made', subject: '' });
  asked[1].resolve(page([5], null));
  asked[0].resolve(page([4], null));
  assert.deepEqual([await one, await two, ids()], [false, true, [5]]);
  const newer = list.newer();
  const three = list.begin({ act: '', subject: '' });
  asked[2].reject(new Error('late'));
  asked[3].reject(new Error('lost'));
  assert.equal(await newer, false);
  await assert.rejects(three, /lost/);
});
