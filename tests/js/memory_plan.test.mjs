import assert from 'node:assert/strict';
import { test } from 'node:test';

import { IngestionPlan } from '../../interface/static/page/memories/proposals/plan_model.js';

const PLAN = {
  plan_id: 'p1', expires_at: '2030-01-01T00:00:00Z', warnings: [],
  proposals: [
    { index: 0, action: 'add', statement: 'I like tea', claim_type: 'preference', context_domain: 'personal', tags: [] },
    { index: 1, action: 'skip', statement: 'I run', claim_type: 'habit', context_domain: 'health', tags: [] },
    { index: 2, action: 'conflict', statement: 'I hate tea', claim_type: 'preference', context_domain: 'personal', tags: [] },
  ],
};

test('what is new is approved at first, what is known or contradicts is asked about', () => {
  const plan = new IngestionPlan(PLAN);
  assert.deepEqual([0, 1, 2].map((index) => plan.isApproved(index)), [true, false, false]);
  assert.deepEqual(plan.approvals(), [{ index: 0 }]);
});

test('only what was changed is sent with an approval', () => {
  const plan = new IngestionPlan(PLAN);
  plan.change(0, 'statement', 'I like green tea');
  plan.change(0, 'claim_type', 'fact');
  plan.change(0, 'claim_type', 'preference');
  assert.deepEqual(plan.approvals(), [{ index: 0, statement: 'I like green tea' }]);
  assert.equal(plan.valueOf(0, 'statement'), 'I like green tea');
  assert.throws(() => plan.change(0, 'index', 3), RangeError);
});

test('who approves what is known already wants it added', () => {
  const plan = new IngestionPlan(PLAN);
  plan.approveAll(true);
  assert.equal(plan.approvedCount, 3);
  assert.deepEqual(plan.approvals()[1], { index: 1, action: 'add' });
  assert.deepEqual(plan.approvals()[2], { index: 2 });
  plan.approveAll(false);
  assert.deepEqual(plan.approvals(), []);
});

test('a plan can be left and come back to with what was decided', () => {
  const plan = new IngestionPlan(PLAN);
  plan.approve(1, true);
  plan.change(2, 'statement', 'I hate cold tea');
  const again = IngestionPlan.fromJSON(JSON.parse(JSON.stringify(plan)));
  assert.equal(again.planId, 'p1');
  assert.equal(again.isApproved(1), true);
  assert.equal(again.valueOf(2, 'statement'), 'I hate cold tea');
  assert.equal(IngestionPlan.fromJSON(null), null);
});

test('a plan expires', () => {
  const plan = new IngestionPlan(PLAN);
  assert.equal(plan.isExpired(new Date('2029-12-31')), false);
  assert.equal(plan.isExpired(new Date('2030-01-02')), true);
  assert.equal(new IngestionPlan({ ...PLAN, expires_at: null }).isExpired(), false);
});
