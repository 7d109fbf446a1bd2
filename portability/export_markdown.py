"""A conversation as Markdown: a head, then each message as a block quote below a line that names its author."""

from __future__ import annotations

import re
from collections.abc import Iterator

from chat.turns.parts import ExportedPart
from database.conversations.conversation import ConversationRow
from database.messages.message import MessageRow
from database.messages.reading import MessagePage
from portability.export_text import facts_of, literal, moment, notes_of, pieces_of, reply_of, speaker_of, title_of

_LINE_END = re.compile(r"\r\n|\r|\n")


def render(conversation: ConversationRow, pages: Iterator[MessagePage]) -> Iterator[str]:
    """The file, piece by piece."""
    yield f"# Conversation: {literal(title_of(conversation))}\n\n"
    count = 0
    facts = "".join(f"{name}: {literal(value)}  \n" for name, value in facts_of(conversation))
    yield facts
    for page in pages:
        count += len(page.messages)
        yield "".join(_entry(message, page) for message in page.messages)
    yield f"\n---\n\nMessages: {count}\n"


def _entry(message: MessageRow, page: MessagePage) -> str:
    head = f"**[#{message.short_id}] {literal(speaker_of(message))}** ({moment(message.created_at)})"
    reply = reply_of(message, page)
    marks = [f"reply to {reply}"] if reply else []
    said = "".join(f" *{mark}*" for mark in [*marks, *notes_of(message)])
    pieces = "\n\n".join(_piece(piece) for piece in pieces_of(message))
    return f"\n{head}{said}\n\n{pieces or '>'}\n"


def _piece(piece: str | ExportedPart) -> str:
    if isinstance(piece, str):
        return _quoted(piece)
    title = f"*{literal(piece.title)}*"
    return f"{title}\n\n{_quoted(piece.body)}" if piece.body else title


def _quoted(text: str) -> str:
    """Quote each line, so that nothing in the text, such as an unclosed fence, affects what follows."""
    return "\n".join(f"> {line}" if line else ">" for line in _LINE_END.split(text))
