import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../../interface/', import.meta.url));
const staticRoot = join(root, 'static');

const STATIC_IMPORT = /^\s*(?:import|export)\s(?:[^'";]*?\sfrom\s+)?'(\.[^']+)'/gm;

/** Every module that `entry` imports at once, itself included, as paths below `static`. */
function importedBy(entry) {
  const found = new Set();
  const visit = (file) => {
    const path = relative(staticRoot, file);
    if (found.has(path) || path.startsWith('vendor')) return;
    assert.ok(existsSync(file), `${path} is imported and does not exist`);
    found.add(path);
    for (const [, target] of readFileSync(file, 'utf8').matchAll(STATIC_IMPORT)) visit(join(dirname(file), target));
  };
  visit(join(staticRoot, entry));
  return found;
}

test('a page without messages preloads exactly the modules that it imports at once', () => {
  const template = readFileSync(join(root, 'templates/_modules.html'), 'utf8');
  const preloaded = [...template.matchAll(/'(page\/[^']+)'/g)].map(([, path]) => path);
  const imported = importedBy('page/app/main.js');
  imported.delete('page/app/main.js');
  assert.deepEqual(preloaded, [...imported].sort());
});
