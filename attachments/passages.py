"""Making files findable: their texts are cut into passages, and these are stored behind the uploads."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from database.engine.errors import AttachmentNotFoundError
from database.history.attachments import Attachment
from database.search.passages import Content, Passage, add_passages, count_of, finish, next_waiting

from .storage import Attachments

LONGEST = 3_000
_AT_ONCE = 64
_BREAK = re.compile(r"(?<=\n)\s*\n|\n|(?<=[.!?。！？])\s+|\s+")
"""Where a long text may be cut: behind paragraphs, lines, sentences, words; the last place in reach counts."""


def cut(pages: Sequence[str], *, counted: bool) -> Iterator[Passage]:
    """The passages of a text in order; none reaches from one page to the next.

    pages: as `Attachments.pages` gives them. counted: whether they are pages that people count.
    """
    for number, page in enumerate(pages, 1):
        line, begin = 1, 0
        while begin < len(page):
            end = _end(page, begin)
            text = page[begin:end]
            if text.strip():
                before = len(text) - len(text.lstrip())
                first = line + text.count("\n", 0, before)
                yield Passage(number if counted else None, first, first + text.strip().count("\n"), text.strip())
            line, begin = line + text.count("\n"), end


def _end(page: str, begin: int) -> int:
    if len(page) - begin <= LONGEST:
        return len(page)
    cuts = [found.end() for found in _BREAK.finditer(page, begin + LONGEST // 2, begin + LONGEST)]
    lines = [cut for cut in cuts if page[cut - 1] == "\n"]
    return (lines or cuts or [begin + LONGEST])[-1]


def index_pending(files: Attachments) -> int:
    """Store the passages of all files that wait for it, a few at a time; of how many files."""
    done = 0
    while (attachment_id := next_waiting(database=files.database)) is not None:
        try:
            attachment = files.of_anybody(attachment_id)
        except AttachmentNotFoundError:
            continue  # it was taken back meanwhile
        _index(files, attachment)
        done += 1
    return done


def _index(files: Attachments, attachment: Attachment) -> None:
    content = Content(attachment.user_email, attachment.sha256)
    first = count_of(content, database=files.database)
    passages = islice(cut(files.pages(attachment), counted=attachment.pages is not None), first, None)
    while some := list(islice(passages, _AT_ONCE)):
        if not add_passages(content, some, first=first, database=files.database):
            return
        first += len(some)
    finish(content, database=files.database)
