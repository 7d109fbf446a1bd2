import assert from 'node:assert/strict';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../interface/', import.meta.url));

const sprite = readFileSync(join(root, 'icons.txt'), 'utf8').split('\n').filter(Boolean);

const sources = ['static/page', 'templates'].flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true })
    .filter((name) => /\.(js|html)$/.test(name))
    .map((name) => readFileSync(join(root, folder, name), 'utf8')),
);

const all = (pattern) => sources.flatMap((text) => [...text.matchAll(pattern)].map(([, name]) => name));

test('every icon that is drawn by name is in the sprite', () => {
  const drawn = [...all(/\bicon\('([a-z0-9-]+)'\)/g), ...all(/\bicon: '([a-z0-9-]+)'/g), ...all(/'fa-[a-z-]+': '([a-z0-9-]+)'/g)];
  assert.ok(drawn.length > 10);
  assert.deepEqual(drawn.filter((name) => !sprite.includes(name)), []);
});

test('the sprite holds no icon that nothing names', () => {
  const named = new Set(all(/'([a-z0-9-]+)'/g));
  assert.deepEqual(sprite.filter((name) => !named.has(name)), []);
});
