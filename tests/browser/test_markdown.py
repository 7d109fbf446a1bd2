"""Markdown in a real browser: the same whether it comes a letter at a time or at once, and right in between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.browser.history import hold_talk
from tests.browser.transcript import body, card, copied
from tests.fakes import RecordingModel, saying
from tests.http_client import Client

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.browser
OpenPage = Callable[..., "Page"]
# Draws `text` once a letter at a time, each letter drawn at once, and once whole; what both come to when all is loaded.
RENDER = """async (text) => {
  const { MarkdownView } = await import('/static/apart/page/markdown/view.js');
  const places = [0, 1].map(() => document.querySelector('main').appendChild(document.createElement('div')));
  const [streamed, whole] = places.map((place) => new MarkdownView(place));
  const later = globalThis.setTimeout;
  const failures = [];
  let due = [];
  globalThis.setTimeout = (job) => due.push(job);
  for (const letter of text) {
    streamed.append(letter);
    due.splice(0).forEach((job) => job());
    failures.push(...places[0].querySelectorAll('.katex-error, .math-failed, .diagram-failed, .diagram'));
  }
  globalThis.setTimeout = later;
  streamed.finish();
  whole.setText(text);
  const atOnce = places.map((place) => place.innerHTML);
  const isDrawn = (code) => code.closest('.code-block')?.matches('.has-diagram, :has(.diagram-failed)');
  const pending = () => places.some((place) => place.querySelector('.math:not(:has(.katex)):not(.math-failed)')
    || [...place.querySelectorAll('.language-mermaid')].some((code) => !isDrawn(code)));
  while (pending()) await new Promise((done) => requestAnimationFrame(done));
  const said = places.map((place) => place.textContent);
  const found = (selector) => [...places[0].querySelectorAll(selector)].map((node) => node.textContent);
  globalThis.found = (selectors) => Object.fromEntries(selectors.map((selector) => [selector, found(selector)]));
  return { atOnce, said, failures: failures.length };
}"""


@dataclass(frozen=True, kw_only=True)
class Text:
    """What a model may write. shows: by selector, what the elements in it say."""

    text: str
    shows: dict[str, list[str]] = field(default_factory=dict)


TEXTS = {
    "inline math": Text(
        text="Euler: $e^{i\\pi} + 1 = 0$, and \\(a < b\\) too.",
        shows={".math-inline annotation": ["e^{i\\pi} + 1 = 0", "a < b"]},
    ),
    "block math": Text(
        text="So\n\n$$\n\\sum_{i=1}^{n} i\n$$\n\nand\n\n\\[\nx^2\n\\]\n\nend.",
        shows={".math-display annotation": ["\\sum_{i=1}^{n} i", "x^2"], "p": ["So", "and", "end."]},
    ),
    "math that is not over": Text(
        text="It begins\n\n$$\nx = \\frac{1", shows={".math": [], "p": ["It begins", "$$\nx = \\frac{1"]}
    ),
    "prices and code with dollars": Text(
        text="It costs $5, or $7 for two; set `$HOME` to `a$b`, not $9 `c$`.",
        shows={".math": [], "code": ["$HOME", "a$b", "c$"]},
    ),
    "math in a list and a table": Text(
        text="- first $x_1$\n- second\n\n| a | b |\n|---|---|\n| $y$ | 2 |\n",
        shows={".math-inline annotation": ["x_1", "y"], "th": ["a", "b"]},
    ),
    "code": Text(
        text="```js\nconst a = `${b}`;\n```\n", shows={"pre code": ["const a = `${b}`;"], ".code-language": ["js"]}
    ),
    "code with empty lines at its end and tabs": Text(
        text="```\n\tone\n\n\ttwo\n\n\n```\nafter", shows={"pre code": ["\tone\n\n\ttwo\n\n"], "p": ["after"]}
    ),
    "code in a longer fence": Text(
        text="````md\n```py\nprint(1)\n```\n````\n\nDone.", shows={"pre code": ["```py\nprint(1)\n```"], "p": ["Done."]}
    ),
    "code that is not over": Text(
        text="Look:\n\n```python\ndef f():\n    return '$x$'",
        shows={"pre code": ["def f():\n    return '$x$'"], ".math": []},
    ),
    "code of no known language": Text(
        text="~~~klingon tlh\nHab SoSlI' <Quch>!\n~~~",
        shows={"pre code": ["Hab SoSlI' <Quch>!"], ".code-language": ["klingon"]},
    ),
    "code in a list": Text(
        text="1. First:\n\n   ```sh\n   make\n   ```\n\n2. Second.",
        shows={"ol > li pre code": ["make"], "ol > li:last-child > p": ["Second."]},
    ),
    "a table that grows": Text(
        text="| way | ms |\n|:--|--:|\n| plain | 120 |\n| memo",
        shows={"th": ["way", "ms"], "td": ["plain", "120", "memo", ""]},
    ),
    "lists in lists": Text(
        text="- a\n  - b\n    1. c\n    2. d\n  - e\n- [x] f\n\nEnd.",
        shows={"ul ul ol li": ["c", "d"], "ul ul > li:last-child": ["e"], "p": ["End."]},
    ),
    "quotes, headings, rules": Text(
        text="# One\n\nTwo\n===\n\n> three\nlazily\n>\n> > four\n\n---\n\nfive",
        shows={"h1": ["One", "Two"], "blockquote blockquote p": ["four"]},
    ),
    "links that are defined later": Text(
        text="See [the manual][m] and [none][n].\n\n[m]: https://example.org/manual\n", shows={"a": ["the manual"]}
    ),
    "markup": Text(
        text="<b>bold</b> & <script>alert(1)</script>\n\n<div>\n\n*yes*", shows={"b, script": [], "em": ["yes"]}
    ),
    "a diagram": Text(text="```mermaid\ngraph TD;\n  A-->B;\n```\n\nSee?", shows={"pre code": ["graph TD;\n  A-->B;"]}),
    "a diagram that is none": Text(
        text="```mermaid\ngraph TD; A--\n```\n", shows={".diagram-failed": ["This diagram could not be drawn."]}
    ),
    "line ends of other systems": Text(
        text="one\r\n\r\n```\r\na\r\nb\r\n```\r\n", shows={"p": ["one"], "pre code": ["a\nb"]}
    ),
}


def test_what_comes_a_letter_at_a_time_is_what_comes_at_once(person: Client, open_page: OpenPage) -> None:
    page = open_page(person)
    expect(page.locator("#composer-input")).to_be_visible()
    for name, each in TEXTS.items():
        drawn = page.evaluate(RENDER, each.text)
        assert drawn["atOnce"][0] == drawn["atOnce"][1], name
        assert drawn["said"][0] == drawn["said"][1], name
        assert drawn["failures"] == 0, f"{name}: something was drawn before it was over"
        assert page.evaluate("(selectors) => found(selectors)", list(each.shows)) == each.shows, name


def test_code_and_the_source_of_a_diagram_are_copied_as_they_were_written(
    person: Client, open_page: OpenPage, shared_model: RecordingModel
) -> None:
    codes = ['\tif x:\n\t\treturn `$HOME` + "${y}"\n\n', "graph TD;\n  A-->B;"]
    shared_model.scripts["main"] = saying(f"````py\n{codes[0]}\n````\n\n```mermaid\n{codes[1]}\n```\n")
    page = open_page(person, hold_talk(person, "Code", "Show me").path)
    expect(card(page, 2).get_by_role("img", name="Diagram")).to_be_visible()
    for number, code in enumerate(codes):
        assert copied(page, card(page, 2).locator(".code-copy").nth(number).click) == code
    page.reload()
    expect(body(page, 2).locator("pre").first).to_contain_text("return `$HOME`")
