import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { posix } from 'node:path';
import test from 'node:test';

/** What the page asks for once it has messages to show. */
const BROUGHT = ['page/conversation/card/card.js', 'page/conversation/transcript/actions.js', 'page/conversation/transcript/selection.js'];
const INTERFACE = new URL('../../interface/', import.meta.url);
const IMPORT = /^(?:import|export)\s(?:[^;]*?\sfrom\s+)?'([^']+)';/gm;

const read = (path) => readFileSync(new URL(path, INTERFACE), 'utf8');

/** A module and all that it imports at once, as paths below `static`; what is third-party is not looked into. */
function importsOf(path, found = new Set()) {
  if (found.has(path)) return found;
  found.add(path);
  if (path.startsWith('vendor/')) return found;
  for (const [, target] of read(`static/${path}`).matchAll(IMPORT)) importsOf(posix.join(posix.dirname(path), target), found);
  return found;
}

test('a page opened at a conversation also preloads exactly what shows messages', () => {
  const preloaded = [...read('templates/_message_modules.html').matchAll(/'([^']+\.m?js)'/g)].map(([, path]) => path);
  const already = importsOf('page/app/main.js');
  const brought = new Set(BROUGHT.flatMap((path) => [...importsOf(path)]));
  assert.deepEqual(preloaded, [...brought].filter((path) => !already.has(path)).sort());
});
