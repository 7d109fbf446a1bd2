import assert from 'node:assert/strict';
import test from 'node:test';

import { plainExcerpt, spokenText } from '../../interface/static/page/conversation/card/content/spoken_model.js';

test('a message is read without its marks and without its code', () => {
  const text = '# Bread\n\n**Mix** the [flour](https://a.example) with `salt`:\n\n- one\n- *two*\n\n```js\nbake();\n```\n\n> 2 * 3 * 4 stays';
  assert.equal(spokenText(text), 'Bread\n\nMix the flour with salt:\n\none\ntwo\n\n2 * 3 * 4 stays');
});

test('code whose fence is open, and a message of code alone, are silent', () => {
  assert.equal(spokenText('Look:\n~~~\na\n\nb'), 'Look:');
  assert.equal(spokenText('```\nx\n```'), '');
});

test('the beginning of a message has one line and no marks; nothing but code stays as it is', () => {
  assert.equal(plainExcerpt('Twice a week:\n\n1. **Early** in the morning.\n2. At the root.', 40), 'Twice a week: Early in the morning. At …');
  assert.equal(plainExcerpt('```js\n1 + 1\n```', 40), '```js 1 + 1 ```');
});
