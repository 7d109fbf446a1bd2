import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';

import { findReferences, joinedKinds, parseMemoryReferences } from '../../interface/static/page/references/grammar.js';

const cases = JSON.parse(readFileSync(new URL('../data/reference_cases.json', import.meta.url), 'utf8'));

for (const { name, text, cleanText, claimIds, friendlyIds, found } of cases) {
  test(`references: ${name}`, () => {
    assert.deepEqual(parseMemoryReferences(text), { cleanText, claimIds, friendlyIds });
    const written = findReferences(text).map(({ start, end, kind }) => [text.slice(start, end), kind]);
    assert.deepEqual(written, found);
  });
}

test('a file of a message, and some of its pages, are one reference', () => {
  const names = ['conversation_a_b4f2_message_k3x9ab_file_2', 'conv_a_b4f2_msg_5_file_1', 'conversation_a_b4f2_message_5_file_2_pages_3-5'];
  const text = `Compare ${names.map((name) => `@${name}`).join(', ')}.`;
  assert.deepEqual(findReferences(text).map(({ start, end }) => text.slice(start + 1, end)), names);
  assert.deepEqual(parseMemoryReferences(text).friendlyIds, names);
});

test('joined groups tell what kinds they are', () => {
  assert.deepEqual(joinedKinds('@health_domain&a_context&Fitness_TAG'), ['domain', 'context', 'tag']);
  assert.deepEqual(joinedKinds('agent_critic'), ['agent']);
});

test('ten thousand references are all found, each once', () => {
  const names = Array.from({ length: 10_000 }, (_, number) => `name_${number}`);
  const text = names.map((name) => `\`@code\` @${name}`).join(' ');
  assert.deepEqual(parseMemoryReferences(text).friendlyIds, names);
});

test('hostile texts take no more than a moment', { timeout: 10_000 }, () => {
  const size = 200_000;
  const texts = [
    `@${'a'.padEnd(size, '-_')}x`,
    `@mem:${'-'.repeat(size)}`,
    `@a_tag${'&a_tag'.repeat(size / 6)}`,
    `@a_tag&${'a'.repeat(size)}`,
    '`'.repeat(size),
    '` `` '.repeat(size / 5),
    Array.from({ length: 600 }, (_, length) => '`'.repeat(length + 1)).join(' '),
    '\\'.repeat(size),
    '> '.repeat(size / 2),
    '- '.repeat(size / 2),
    '1. '.repeat(size / 3),
    '```\n@a'.repeat(size / 6),
    `@conversation_${'_message_'.repeat(size / 9)}`,
  ];
  for (const text of texts) assert.ok(findReferences(`${text} @last_one`).length <= 2);
});
