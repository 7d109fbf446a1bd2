import assert from 'node:assert/strict';
import test from 'node:test';

import { marksOf, plainExcerpt, plainPreview, plainText, withoutHalves, withoutMarks } from '../../interface/static/page/markdown/plain_text_model.js';

test('a message is read without its marks and without its code', () => {
  const text = '# Bread\n\n**Mix** the [flour](https://a.example) with `salt`:\n\n- one\n- *two*\n\n```js\nbake();\n```\n\n> 2 * 3 * 4 stays';
  assert.equal(plainText(text), 'Bread\n\nMix the flour with salt:\n\none\ntwo\n\n2 * 3 * 4 stays');
});

test('code whose fence is open, and a message of code alone, are silent', () => {
  assert.equal(plainText('Look:\n~~~\na\n\nb'), 'Look:');
  assert.equal(plainText('```\nx\n```'), '');
});

test('the beginning of a message has one line and no marks; nothing but code stays as it is', () => {
  assert.equal(plainExcerpt('Twice a week:\n\n1. **Early** in the morning.\n2. At the root.', 40), 'Twice a week: Early in the morning. At …');
  assert.equal(plainExcerpt('```js\n1 + 1\n```', 40), '```js 1 + 1 ```');
});

const readable = (text) => withoutMarks(text, marksOf(text).flat());

test('marks are taken away also within each other and between letters that are not parted by spaces', () => {
  for (const [text, shown] of [
    ['***Both*** and **one *in* the other**', 'Both and one in the other'],
    ['**`code`** of **[the manual](https://a.example/x_(y)_z "Title")**', 'code of the manual'],
    ['这是**重点**内容', '这是重点内容'],
    ['~~old~~, "**new**" and __both of them__.', 'old, "new" and both of them.'],
    ['First.  ## Beds  ### Roses ![a rose](rose.png)', 'First.  Beds  Roses a rose'],
    ['``a ` b`` and `c`', 'a ` b and c'],
    ['Look: ```js  let a;  ``` **done**', 'Look: js  let a;   done'],
    ['**Look:** ```js  f(**a, **b)', 'Look: js  f(**a, **b)'],
  ]) assert.equal(readable(text), shown);
});

test('where a piece was cut, half a mark goes, too', () => {
  for (const [text, shown] of [
    ['… starter lives for years** and **a lot of care** it …', '… starter lives for years and a lot of care it …'],
    ['Feed it **twice a week, and …', 'Feed it twice a week, and …'],
    ['**Feed** it **twice a week…', 'Feed it twice a week…'],
    ['… once ~~daily~~ weekly~~ or ~~never …', '… once daily weekly or never …'],
    ['See [the manual](https://example.org/a/long …', 'See the manual …'],
    ['See ![a rose](htt…', 'See a rose…'],
    ['See [the manual of …', 'See the manual of …'],
    ['… old manual](https://example.org/x) says', '… old manual says'],
    ['Call `bake with flour …', 'Call bake with flour …'],
    ['… bake()` and `mix()` twice', '… bake() and mix() twice'],
  ]) assert.equal(readable(text), shown);
  for (const text of [
    'f(x, **options, y …', 'steps = {**one, two …', '… 2 ** 3 and 2**4 …', 'the list [1, 2 …', 'a handlers[name](event …', '… it`s', '**not closed', '`not closed', '… a_b and __c …',
  ]) assert.equal(readable(text), text);
  assert.equal(withoutHalves('**Mix** it, then **knead and…'), '**Mix** it, then knead and…');
  assert.equal(withoutHalves('**Mix** it'), '**Mix** it');
});

test('a preview that the server has cut has no half marks', () => {
  assert.equal(plainPreview(`Say **${'word '.repeat(40)}`.slice(0, 200), 160), plainExcerpt(`Say ${'word '.repeat(40)}`, 160));
  assert.equal(plainPreview('Say **word', 160), 'Say **word');
});

test('what may be code or arithmetic stays as it was typed', () => {
  for (const text of [
    'snake_case and _private_name_', '2 * 3 * 4', '2*3*4', '2 *3* 4', '2**3 + 4**5', '__init__ and __main__', 'def f(*args, **kwargs): g(*args, **kwargs)',
    '{**one, **other}', '/*comment*/', 'a ** b ** c', 'SELECT *, count(*) FROM plants', 'char *a, *b;', '*.py and *.js', 'handlers[name](event.target)',
    '[&](auto x) { }', '[&](auto)', 'x = 1  # one', '#define CAT(a, b) a ## b', '… # not at the beginning', 'a > b', 'it`s', '~/notes', '**not closed', '<b>not bold</b>',
    'x**2  ``` **which side is code?**', 'a**b + c**d', 'f(a**b, c**d)', 'p**k mod q**m', '**/*.py and **/*.md',
  ]) assert.equal(readable(text), text);
  assert.equal(readable('`a*b*c` **and** `**kwargs` and `__init__`'), 'a*b*c and **kwargs and __init__');
});

test('bold words may begin with a sign or a picture', () => {
  assert.equal(readable('**✅ Done**, **→ next**: **$5**, **–5**, **#tag**, **@ada**, ~~€3~~ ***both***'), '✅ Done, → next: $5, –5, #tag, @ada, €3 both');
});

test('a long text of marks that are not closed takes no long time', () => {
  const begin = performance.now();
  for (const mark of ['**a ', '*a ', '__a ', '~~a ', '[a](', '[a](b.', '`a', '``` ', '# ', 'a** ', 'a](b.) ', 'a` ', '(**a ']) {
    readable(mark.repeat(20_000));
    readable(`…${mark.repeat(20_000)}…`);
    readable(`…${mark.repeat(200)}…`);
  }
  assert.ok(performance.now() - begin < 4_000);
});
