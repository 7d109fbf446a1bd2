"""An export as one self-contained web page: no scripts, no pictures, no requests."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from html import escape
from typing import Any

import orjson
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock, table
from markdown_it.token import Token

from .export_document import (
    UNTITLED,
    Entry,
    Heading,
    PageWords,
    facts_of,
    link_to,
    moment,
    reply_of,
    text_of,
    title_of,
    totals_line,
)
from .parts import ExportedPart

_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --muted: #59636e; --line: #d1d9e0; --own: #eef4fb; --code: #f2f4f7;
  --link: #0a58ca; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ee; --muted: #9aa4b2; --line: #3a424d; --own: #1c2733; --code: #20262e;
    --link: #79b8ff; }
  body { background: #14181d; }
}
body { max-width: 48rem; margin: 2rem auto; padding: 0 1rem; color: var(--text); }
body { font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); }
h1 { font-size: 1.5rem; }
h2 { font-size: 1.2rem; }
dl { display: grid; grid-template-columns: auto 1fr; gap: .2rem 1rem; color: var(--muted); font-size: .875rem; }
dd { margin: 0; }
article { margin: 1rem 0; padding: .75rem 1rem; border: 1px solid var(--line); border-radius: .5rem; }
article.user { background: var(--own); }
article.hidden { border-style: dashed; }
.replies { margin-left: 1rem; }
.replies .replies .replies .replies .replies .replies { margin-left: 0; }
header { color: var(--muted); font-size: .875rem; }
header b { color: var(--text); }
.part { color: var(--muted); font-size: .875rem; }
pre, code { font-family: ui-monospace, monospace; font-size: .9em; background: var(--code); border-radius: .25rem; }
pre { padding: .75rem; overflow-x: auto; }
table { display: block; overflow-x: auto; border-collapse: collapse; }
th, td { padding: .25rem .6rem; border: 1px solid var(--line); }
blockquote { margin-inline: 0; padding-left: 1rem; border-left: 3px solid var(--line); }
"""
_STYLE_HASH = b64encode(sha256(_STYLE.encode()).digest()).decode()
_TOKENS_OF_CELL = 3  # its beginning, its text, its end
_ADDRESS = re.compile(r"(?i)(https?://|mailto:|#)")


def _table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """The library's rule for tables. The empty cells at the end of a row become one.

    Short rows are filled up with such cells: a small text would become a page hundreds of times as long.
    """
    before = len(state.tokens)
    is_table = table(state, start, end, silent)
    state.tokens[before:] = _with_joined_cells(state.tokens[before:])
    return is_table


def _with_joined_cells(tokens: Sequence[Token]) -> list[Token]:
    kept: list[Token] = []
    for token in tokens:
        if token.type == "tr_close":
            _join_last_cells(kept)
        kept.append(token)
    return kept


def _join_last_cells(row: list[Token]) -> None:
    """Make the empty cells at the end of `row` one cell that is as wide."""
    begin = len(row)
    while row[begin - 1].type == "td_close" and not row[begin - 2].content:
        begin -= _TOKENS_OF_CELL
    if (width := (len(row) - begin) // _TOKENS_OF_CELL) > 1:
        row[begin].attrSet("colspan", str(width))
        del row[begin + _TOKENS_OF_CELL :]


class _Renderer(MarkdownIt):
    """Markdown without raw HTML, and without pictures, which would be requested when the page is opened."""

    def __init__(self, *, breaks: bool) -> None:
        super().__init__("commonmark", {"html": False, "breaks": breaks})
        self.enable(["table", "strikethrough"]).disable("image")
        self.block.ruler.at("table", _table, {"alt": ["paragraph", "reference"]})
        # The first question makes a ruler's lists, and another thread would find them half made.
        for ruler in (self.core.ruler, self.block.ruler, self.inline.ruler, self.inline.ruler2):
            ruler.getRules("")

    def validateLink(self, url: str) -> bool:  # noqa: N802 - the library's name
        """Allow links to the web, to mailboxes, and within this page only."""
        return _ADDRESS.match(url) is not None


@cache
def _renderer(*, typed: bool) -> _Renderer:
    # Line breaks that a person typed are kept.
    return _Renderer(breaks=typed)


def render(heading: Heading, entries: Iterator[Entry]) -> Iterator[str]:
    """The page, piece by piece."""
    words = heading.words
    title = escape(words("(untitled)") if heading.title == UNTITLED else heading.title)
    conversation = heading.conversation if heading.recipe is None else None
    facts = [] if conversation is None else facts_of(conversation, words)
    shown = "".join(f"<dt>{escape(name)}</dt><dd>{escape(value)}</dd>" for name, value in facts)
    thread = f"<h2>{escape(heading.thread_title)}</h2>\n" if conversation and heading.thread else ""
    yield (
        f'<!doctype html>\n<html lang="{words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{title}</h1>\n<dl>{shown}</dl>\n{thread}<main>\n"
    )
    opened = messages = others = 0
    for entry in entries:
        depth = min(entry.depth, opened + 1) if messages or others else 0
        messages, others = messages + entry.is_message, others + (not entry.is_message)
        section = "" if entry.section is None else f"<h2>{escape(entry.section)}</h2>\n"
        yield _nesting(opened, depth) + section + _article(entry, heading)
        opened = depth
    total = totals_line(words, messages=messages, others=others)
    yield f"{_nesting(opened, 0)}</main>\n<footer>{total}</footer>\n</body>\n</html>\n"


def _nesting(opened: int, depth: int) -> str:
    """What opens or closes lists of replies."""
    return '<div class="replies">\n' * (depth - opened) + "</div>\n" * (opened - depth)


def _article(entry: Entry, heading: Heading) -> str:
    words, activity = heading.words, entry.activity
    text = text_of(entry, words)
    typed = activity.actor_type == "user"
    kinds = f"{'user' if typed else 'assistant'}{' hidden' if activity.is_hidden else ''}"
    elsewhere = heading.elsewhere(activity)
    notes = [words("by %(name)s", name=text.by)] if text.by else []
    notes += [words("in %(title)s", title=elsewhere)] if elsewhere else []
    told = "".join(f" <i>{escape(note)}</i>" for note in [*notes, *text.notes])
    body = "".join(_piece(piece, heading, typed=typed) for piece in text.pieces) + _data(text.data)
    return (
        f'<article class="{kinds}" id="{_anchor(activity.activity_id)}">\n'
        f"<header>#{escape(activity.short_id)} <b>{escape(text.label)}</b> "
        f'<time datetime="{escape(activity.created_at)}">{moment(activity.created_at)}</time>'
        f"{_reply(entry, words)}{told}</header>\n{body}</article>\n"
    )


def _piece(piece: str | ExportedPart, heading: Heading, *, typed: bool) -> str:
    if isinstance(piece, str):
        return str(_renderer(typed=typed).render(piece))
    title = escape(title_of(piece, heading.words))
    if not piece.body:
        link = link_to(piece, heading)
        linked = f'<a href="{escape(link)}">{title}</a>' if link else title
        return f'<p class="part">{linked}</p>\n'
    body = _renderer(typed=False).render(piece.body)
    return f'<details class="part"><summary>{title}</summary>\n{body}</details>\n'


def _data(data: Mapping[str, Any] | None) -> str:
    if data is None:
        return ""
    shown = orjson.dumps(data, option=orjson.OPT_INDENT_2 | orjson.OPT_NON_STR_KEYS).decode()
    return f"<pre>{escape(shown)}</pre>\n"


def _reply(entry: Entry, words: PageWords) -> str:
    reply, parent = reply_of(entry.activity, words), entry.activity.reply_to_id
    if reply is None:
        return ""
    is_here = entry.has_parent and parent is not None
    target = f'<a href="#{_anchor(parent or "")}">{escape(reply)}</a>' if is_here else escape(reply)
    return f" <i>{words('reply to %(activity)s', activity=target)}</i>"


def _anchor(activity_id: str) -> str:
    # Short ids are unique in one conversation only, and a thread may span several.
    return f"a-{escape(activity_id)}"
