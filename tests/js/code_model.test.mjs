import assert from 'node:assert/strict';
import test from 'node:test';

import { usageOf } from '../../interface/static/page/conversation/message_model.js';
import { csvOf, fileNameOf, isPreviewed } from '../../interface/static/page/markdown/code_model.js';

test('cells of a table are quoted where CSV asks for it, and never run in a spreadsheet', () => {
  assert.equal(csvOf([['a', 'b, c'], ['say "hi"', 'two\nlines']]), 'a,"b, c"\r\n"say ""hi""","two\nlines"');
  assert.equal(csvOf([['=1+1', '-5', '-x', '@a', '+1']]), "'=1+1,-5,'-x,'@a,'+1");
});

test('code is saved under a name that tells its language', () => {
  assert.deepEqual(['Python', 'dockerfile', 'brainfuck', '', 'constructor'].map(fileNameOf), ['code.py', 'Dockerfile', 'code.txt', 'code.txt', 'code.txt']);
  assert.deepEqual(['HTML', 'svg', 'js'].map(isPreviewed), [true, true, false]);
});

test('what an answer took is told where somebody counted', () => {
  assert.equal(usageOf({ config: {} }), null);
  assert.deepEqual(usageOf({ config: { usage: { prompt_tokens: 7, completion_tokens: 10, seconds: 2 } } }), { asked: 7, answered: 10, perSecond: 5, cost: null, currency: null });
  assert.equal(usageOf({ usage: { completion_tokens: 10 } }).perSecond, null);
  assert.equal(usageOf({ usage: { completion_tokens: 10, cost: 0.5, currency: 'USD' } }).cost, 0.5);
});
