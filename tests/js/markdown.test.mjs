import assert from 'node:assert/strict';
import test from 'node:test';

import { createMarkdown } from '../../interface/static/page/markdown/lexer.js';

const markdown = createMarkdown();
const typed = createMarkdown({ breaks: true });
const html = (text, { lex, html: render } = markdown) => lex(text, {}).map(render).join('');

test('HTML is shown as it was typed', () => {
  for (const source of ['<script>alert(1)</script>', '<img src=x onerror=alert(1)>', 'a <b>b</b>', '<div>\nblock\n</div>', '<!-- c -->', '</pkb_item>']) {
    const rendered = html(source);
    assert.doesNotMatch(rendered, /<(?!\/?p>)/);
    assert.match(rendered, /&lt;/);
  }
});

test('mathematics becomes a place for it, its source escaped', () => {
  assert.equal(html('a $x<y$ b'), '<p>a <span class="math math-inline">x&lt;y</span> b</p>\n');
  assert.equal(html('\\(a_1\\)'), '<p><span class="math math-inline">a_1</span></p>\n');
  assert.equal(html('$$\nx^2\n$$'), '<div class="math math-display">x^2</div>\n');
  assert.equal(html('\\[\nx\n\\]'), '<div class="math math-display">x</div>\n');
  assert.equal(html('in $$x$$ line'), '<p>in <span class="math math-display">x</span> line</p>\n');
  assert.match(html('$"onmouseover=x$'), /&quot;onmouseover/);
});

test('display mathematics interrupts a paragraph', () => {
  assert.equal(html('Hence\n$$\nx\n$$\nDone.'), '<p>Hence</p>\n<div class="math math-display">x</div>\n<p>Done.</p>\n');
});

test('prices, shell variables and code stay what they are', () => {
  for (const source of ['$5 and $6', 'from $5 to $10', 'a $ b $ c', '5$ or 6$', '`$x$`', '\\$x\\$']) {
    assert.doesNotMatch(html(source), /class="math/);
  }
  assert.doesNotMatch(html('```\n$x$ $$y$$\n```'), /class="math/);
});

test('line ends count in what a person typed', () => {
  assert.equal(html('a\nb', typed), '<p>a<br>b</p>\n');
  assert.equal(html('a\nb'), '<p>a\nb</p>\n');
});

test('a hundred thousand dollar signs are read in linear time', () => {
  for (const piece of ['$', '$a ', '$$', '\\(', '\\[', '$\\']) {
    const source = piece.repeat(20000);
    assert.ok(html(source).length > 0);
  }
});
