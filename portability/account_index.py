"""The page of an archive that leads to all of its files: no scripts, no requests, read from the disk."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from urllib.parse import quote

from activity.export_document import PageWords
from activity.recipes.formatting import one_line
from database.conversations.overview import KeptConversation

_STYLE = """
:root { color-scheme: light dark; --text: #1f2328; --muted: #59636e; --line: #d1d9e0; --link: #0a58ca; }
@media (prefers-color-scheme: dark) {
  :root { --text: #e6e9ee; --muted: #9aa4b2; --line: #3a424d; --link: #79b8ff; }
  body { background: #14181d; }
}
body { max-width: 56rem; margin: 2rem auto; padding: 0 1rem; color: var(--text); }
body { font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
a { color: var(--link); text-underline-offset: .15em; }
h1 { font-size: 1.5rem; line-height: 1.3; }
h2 { font-size: 1.2rem; margin-top: 2rem; }
p { color: var(--muted); }
ul { padding-inline-start: 1.25rem; }
li { margin-block: .25rem; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: .35rem .6rem; border-bottom: 1px solid var(--line); text-align: start; vertical-align: top; }
th { color: var(--muted); font-size: .875rem; font-weight: 600; white-space: nowrap; }
:is(th, td):first-child { padding-inline-start: 0; }
th:not(:first-child) { width: 1%; }
td:not(:first-child) { color: var(--muted); white-space: nowrap; font-variant-numeric: tabular-nums; }
:is(th, td):nth-child(2) { text-align: end; }
@media (max-width: 40rem) {
  thead { display: none; }
  tr { display: flex; flex-wrap: wrap; gap: 0 .75rem; padding-block: .5rem; border-bottom: 1px solid var(--line); }
  td { padding: 0; border: 0; font-size: .875rem; }
  td:first-child { flex: 1 0 100%; font-size: 1rem; }
  td:nth-child(2)::before { content: %s ": "; }
}
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexedConversation:
    """A conversation of the archive. stem: the path of its files without their extensions."""

    conversation: KeptConversation
    stem: str


def render_index(
    name: str,
    conversations: Sequence[IndexedConversation],
    *,
    documents: Sequence[str],
    attachments: Sequence[tuple[str, str]],
    activities: Sequence[str] = (),
    words: PageWords,
) -> Iterator[str]:
    """The page, piece by piece: the conversations newest first, a section for each folder, then all else.

    name: whose archive it is. documents: their paths in the archive's folder of documents. attachments: the paths of
    the files of messages in the archive, each with its true name. activities: the files of what happened beside the
    conversations.
    """
    title = escape(words("Anaphora: everything of %(name)s", name=name))
    counts = {"conversations": len(conversations), "documents": len(documents), "files": len(attachments)}
    told = words(
        "Conversations: %(conversations)s. Documents: %(documents)s. Files of messages: %(files)s. "
        "Unpack the ZIP first; Anaphora imports it again as it is.",
        **counts,
    )
    style = _STYLE.replace("%s", json.dumps(words("Messages"), ensure_ascii=False))
    style_hash = b64encode(sha256(style.encode()).digest()).decode()
    yield (
        f'<!doctype html>\n<html lang="{words.language}">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'sha256-{style_hash}'; base-uri 'none'; form-action 'none'\">\n"
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{style}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        f"<p>{told}</p>\n"
    )
    yield from _conversations(conversations, words)
    yield (
        f'<h2>{words("Memories")}</h2>\n<ul><li><a href="memories/memories.md">{words("All memories")}</a> '
        '(<a href="memories/memories.json">JSON</a>)</li></ul>\n'
    )
    yield from _list(words("Documents"), ((f"documents/{path}", path) for path in documents))
    as_text = words("Pages, SVG and XML have .txt behind their names: they open as text, and nothing in them runs.")
    note = as_text if any(path.endswith(".txt") and not own.endswith(".txt") for path, own in attachments) else ""
    yield from _list(words("Files of messages"), attachments, note=note)
    settings = words("Settings, agents, presets, prompts, folders")
    beside = "".join(f'<li><a href="{path}">{path}</a></li>' for path in activities)
    yield (
        f'<h2>{words("Everything else")}</h2>\n<ul><li><a href="settings.json">{settings}</a></li>{beside}'
        "</ul>\n</body>\n</html>\n"
    )


def _list(heading: str, files: Iterable[tuple[str, str]], *, note: str = "") -> Iterator[str]:
    """Links to files, by their paths and names, below a heading and a note; nothing where there are none."""
    heading = f"<h2>{heading}</h2>\n{f'<p>{note}</p>' if note else ''}<ul>\n"
    for path, name in files:
        called = path.rpartition("/")[2]
        also = "" if path.endswith(f"/{name}") else f" ({escape(called)})"
        yield f'{heading}<li><a href="{_address(path)}">{escape(name)}</a>{also}</li>\n'
        heading = ""
    if not heading:
        yield "</ul>\n"


def _conversations(conversations: Sequence[IndexedConversation], words: PageWords) -> Iterator[str]:
    folders: dict[str, list[IndexedConversation]] = {}
    for each in sorted(conversations, key=lambda each: each.conversation.updated_at, reverse=True):
        folders.setdefault(each.conversation.workspace or "", []).append(each)
    for folder, members in sorted(folders.items()):
        yield f"<h2>{escape(one_line(folder)) or words('Conversations')}</h2>\n"
        heads = (words("Title"), words("Messages"), words("Last updated"), words("Other forms"))
        yield f"<table>\n<thead><tr><th>{'<th>'.join(heads)}</tr></thead>\n<tbody>\n"
        for each in members:
            yield _row(each, untitled=words("(untitled)"))
        yield "</tbody>\n</table>\n"


def _row(each: IndexedConversation, *, untitled: str) -> str:
    conversation, stem = each.conversation, _address(each.stem)
    title = escape(one_line(conversation.title) or untitled)
    return (
        f'<tr><td><a href="{stem}.html">{title}</a><td>{conversation.message_count}'
        f"<td>{escape(conversation.updated_at[:10])}"
        f'<td><a href="{stem}.md">Markdown</a> <a href="{stem}.json">JSON</a></tr>\n'
    )


def _address(path: str) -> str:
    return escape(quote(path))
