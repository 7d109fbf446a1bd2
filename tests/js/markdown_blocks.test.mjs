import assert from 'node:assert/strict';
import test from 'node:test';

import { createMarkdown } from '../../interface/static/page/markdown/lexer.js';
import { BlockStream } from '../../interface/static/page/markdown/block_stream_model.js';

const markdown = createMarkdown();

const DOCUMENT = [
  '# Title', '', 'A paragraph with <b>tags</b>, `code` and', 'a second line.', '', '- one', '- two', '', '  still two', '',
  '```js', 'const a = 1;', '``` not the end', '  ```nor this', 'b```', '', '```', 'After the fence.', '', '$$', 'x^2', '$$', '',
  '~~~', '~~~', '', '| a | b |', '|---|---|', '| 1 | 2 |', '', '1. first', '2. second', '', '3. third', '',
  'Setext', '===', '', '> quoted', 'lazily', '', '    indented', '', '    code', '', '***', '', '[link][target] and \\(y\\)', '',
  '[target]: https://example.org', '', '```py', 'print(1)', '```', 'The end.',
].join('\n');

/** What a view would hold after the text came in pieces of this length, an update after each. */
function shownAfter(text, length) {
  const stream = new BlockStream(markdown.lex);
  let shown = [];
  for (let at = 0; at < text.length; at += length) {
    stream.append(text.slice(at, at + length));
    const { start, blocks } = stream.update();
    shown = [...shown.slice(0, start), ...blocks.map(({ type, raw, code }) => ({ type, raw, code }))];
  }
  return { stream, shown };
}

test('however the text is cut, the blocks are those of the whole', () => {
  for (let length = 1; length <= 40; length += 1) {
    const { stream, shown } = shownAfter(DOCUMENT, length);
    const whole = stream.finish().blocks;
    assert.deepEqual(shown.map(({ type, raw }) => [type, raw]), whole.map(({ type, raw }) => [type, raw]), `pieces of ${length}`);
  }
});

test('blocks that are over are not handed out again', () => {
  const stream = new BlockStream(markdown.lex);
  stream.append('First.\n\nSecond.\n\nThi');
  stream.update();
  stream.append('rd.\nMore of it.');
  stream.update();
  stream.append(' And more.');
  const { start, blocks } = stream.update();
  assert.equal(start, 2);
  assert.deepEqual(blocks.map(({ raw }) => raw), ['Third.\nMore of it. And more.']);
});

test('an open fence is one object that grows by what is new', () => {
  const stream = new BlockStream(markdown.lex);
  stream.append('```python\nprint(1)\n');
  const [first] = stream.update().blocks;
  assert.deepEqual([first.open, first.language, first.code], [true, 'python', 'print(1)']);
  stream.append('print(2)\nprint(');
  const [second] = stream.update().blocks;
  assert.equal(second, first);
  assert.equal(second.fresh, '\nprint(2)\nprint(');
  assert.equal(second.code, 'print(1)\nprint(2)\nprint(');
});

test('what may close a fence waits until it is clear', () => {
  const stream = new BlockStream(markdown.lex);
  stream.append('```\ncode\n``');
  assert.equal(stream.update().blocks[0].code, 'code');
  stream.append('x\n');
  assert.equal(stream.update().blocks[0].code, 'code\n``x');
  stream.append('```');
  assert.equal(stream.update().blocks[0].open, true);
  stream.append('\nText');
  const { blocks } = stream.update();
  assert.deepEqual(blocks.map(({ type, open, code }) => [type, open, code]), [
    ['code', false, 'code\n``x'], ['paragraph', undefined, undefined],
  ]);
});

test('the code of a fence is what the lexer takes for it', () => {
  for (const code of ['a', 'a\n\nb', '  a\n\tb ', '`x`\n``', '~~~\n~~~', '# no title\n- no list']) {
    const { stream } = shownAfter(`Before.\n\n\`\`\`txt\n${code}\n\`\`\`\nAfter.`, 3);
    assert.equal(stream.finish().blocks[1].token.text, code);
    const { shown } = shownAfter(`Before.\n\n\`\`\`txt\n${code}\n\`\`\`\nAfter.`, 1);
    if (shown[1].code !== undefined) assert.equal(shown[1].code, code);
  }
});

test('line ends of every kind are the same, also cut in two', () => {
  for (const length of [1, 2, 3, 100]) {
    const { stream } = shownAfter('One\r\n\r\nTwo\rlines\r\n', length);
    assert.deepEqual(stream.finish().blocks.map(({ raw }) => raw), ['One', 'Two\nlines']);
  }
});

test('a link definition that comes late is known in the end', () => {
  const { stream } = shownAfter('See [it][x].\n\nMore.\n\n[x]: https://example.org\n', 4);
  const [first] = stream.finish().blocks;
  assert.match(markdown.html(first.token), /href="https:\/\/example.org"/);
});

test('the work of an update does not grow with what is over', () => {
  let lexed = 0;
  const stream = new BlockStream((text, links) => {
    lexed += text.length;
    return markdown.lex(text, links);
  });
  for (let i = 0; i < 400; i += 1) {
    stream.append(`Paragraph ${i} with some words.\n\n`);
    stream.update();
  }
  assert.ok(lexed < 400 * 200, `${lexed} characters lexed`);
});

test('an open fence costs no lexing at all', () => {
  let calls = 0;
  const stream = new BlockStream((text, links) => {
    calls += 1;
    return markdown.lex(text, links);
  });
  stream.append('```\n');
  for (let i = 0; i < 200; i += 1) {
    stream.append(`line ${i}\n`);
    stream.update();
  }
  assert.equal(calls, 1);
});
