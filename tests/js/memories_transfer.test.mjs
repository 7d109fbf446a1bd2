import assert from 'node:assert/strict';
import { test } from 'node:test';

import { portionsOf, rowCount } from '../../interface/static/page/memories/tabs/transfer_model.js';

const PAYLOAD = {
  pkb_export_version: 1,
  data: {
    claims: Array.from({ length: 40 }, (_each, n) => ({ claim_id: `c${n}`, statement: `Statement ${n} ${'long '.repeat(20)}` })),
    tags: [{ tag_id: 't1', name: 'tea' }, { tag_id: 't2', name: 'unused' }],
    entities: [], contexts: [{ context_id: 'x1', name: 'Health' }], notes: [{ note_id: 'n1', body: 'A note' }],
    claim_tags: [{ claim_id: 'c3', tag_id: 't1' }, { claim_id: 'c39', tag_id: 't1' }],
    context_claims: [{ context_id: 'x1', claim_id: 'c39' }],
    claim_links: [{ link_id: 'l1', from_claim_id: 'c0', to_claim_id: 'c39' }],
    conflict_sets: [{ conflict_set_id: 's1' }],
    aliases: [{ kind: 'tag', alias: 'herbs', thing_id: 't2' }, { kind: 'claim', alias: 'memory_x', thing_id: 'c39' }],
    conflict_set_members: [{ conflict_set_id: 's1', claim_id: 'c1' }, { conflict_set_id: 's1', claim_id: 'c38' }],
  },
};

test('a small export goes as it is, and what is none of ours too', () => {
  assert.deepEqual(portionsOf(PAYLOAD), [PAYLOAD]);
  assert.deepEqual(portionsOf({ something: 'else' }, 1), [{ something: 'else' }]);
  assert.equal(rowCount(PAYLOAD), 53);
  assert.equal(rowCount({}), 0);
});

test('no portion is larger than the server takes, and nothing is left out', () => {
  const most = 2000;
  const portions = portionsOf(PAYLOAD, most);
  assert.ok(portions.length > 3);
  for (const portion of portions) assert.ok(JSON.stringify(portion.data).length < most * 1.2);
  for (const [table, rows] of Object.entries(PAYLOAD.data)) {
    const sent = new Set(portions.flatMap(({ data }) => data[table] ?? []));
    assert.deepEqual([table, sent.size], [table, rows.length]);
  }
  assert.ok(portions.every((portion) => portion.pkb_export_version === 1));
});

test('what ties two things comes with both of them', () => {
  const ends = {
    claim_tags: { tag_id: 'tags', claim_id: 'claims' }, context_claims: { context_id: 'contexts', claim_id: 'claims' },
    conflict_set_members: { conflict_set_id: 'conflict_sets', claim_id: 'claims' },
  };
  for (const { data } of portionsOf(PAYLOAD, 2000)) {
    for (const [table, keys] of Object.entries(ends)) {
      for (const row of data[table] ?? []) {
        for (const [key, target] of Object.entries(keys)) assert.ok(data[target].some((each) => each[key] === row[key]), `${table}.${key}`);
      }
    }
    for (const { kind, thing_id: id } of data.aliases ?? []) assert.ok(data[`${kind}s`].some((each) => each[`${kind}_id`] === id));
    for (const link of data.claim_links ?? []) {
      for (const id of [link.from_claim_id, link.to_claim_id]) assert.ok(data.claims.some(({ claim_id: claimId }) => claimId === id));
    }
  }
});

test('what others refer to comes before them', () => {
  const portions = portionsOf(PAYLOAD, 2000);
  const first = (table) => portions.findIndex(({ data }) => data[table]);
  assert.equal(first('tags'), 0);
  assert.ok(first('claims') <= first('claim_links'));
  const lastOfClaims = portions.findLastIndex(({ data }) => data.claims && !data.claim_links && !data.conflict_sets);
  assert.ok(first('claim_links') > lastOfClaims);
});
