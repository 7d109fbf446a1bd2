"""Exporting one conversation as a file: Markdown, a web page, JSON, or a bundle."""

from __future__ import annotations

import re
import shutil
import tempfile
import unicodedata
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from database.conversations.conversation import ConversationRow
from database.conversations.repository import get_conversation
from database.engine.database import Database
from database.messages.reading import MessagePage, message_pages

from . import export_html, export_json, export_markdown

_LONGEST = 80
_UNSAFE = re.compile(r'[/\\:*?"<>|]+')
_SPACE = re.compile(r"[\s_]+")
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com\d|lpt\d)(\.|$)")
_OTHERWISE = "conversation"


def file_name(title: str, extension: str) -> str:
    """A file name that is valid on every system, without invisible characters or folders."""
    visible = "".join(" " if _is_invisible(character) else character for character in title)
    stem = _SPACE.sub(" ", _UNSAFE.sub(" ", visible)).strip(" .")[:_LONGEST].strip(" .")
    if _RESERVED.match(stem):
        stem = f"{_OTHERWISE} {stem}"
    return f"{stem or _OTHERWISE}.{extension}"


def _is_invisible(character: str) -> bool:
    # Control, format (text direction among them), surrogate, private-use and unassigned characters.
    return unicodedata.category(character).startswith("C")


BUNDLE = "bundle"
_BYTES_AT_ONCE = 64 * 1024
Writer = Callable[[ConversationRow, Iterator[MessagePage]], Iterator[str]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """A file to send: its name, its media type, and its bytes, produced on demand."""

    name: str
    media: str
    chunks: Iterator[bytes]


_FORMATS: dict[str, tuple[str, str, Writer]] = {
    "markdown": ("md", "text/markdown", export_markdown.render),
    "html": ("html", "text/html", export_html.render),
    "json": ("json", "application/json", export_json.render),
}
MEDIA_TYPES = (*(media for _, media, _ in _FORMATS.values()), "application/zip")
"""The media types of all formats."""


def export_conversation(
    *, database: Database, user_email: str, conversation_id: str, fmt: str, save: Callable[[Path], object]
) -> Export:
    """The conversation as "markdown", "html", "json" or "bundle"; without deleted messages and stateless turns.

    save: writes the conversation's bundle into a folder. Raises ConversationNotFoundError, KeyError (another format).
    """
    who: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
    conversation = get_conversation(**who)
    if fmt == BUNDLE:
        chunks = _zipped(conversation_id, save)
        return Export(name=file_name(conversation.title, "zip"), media="application/zip", chunks=chunks)
    extension, media, render = _FORMATS[fmt]
    texts = render(conversation, message_pages(**who))
    return Export(name=file_name(conversation.title, extension), media=media, chunks=(text.encode() for text in texts))


def _zipped(conversation_id: str, save: Callable[[Path], object]) -> Iterator[bytes]:
    with tempfile.TemporaryFile() as file, tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / conversation_id
        save(folder)
        with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            for path in sorted(folder.iterdir()):
                archive.write(path, f"{conversation_id}/{path.name}")
        shutil.rmtree(folder)
        file.seek(0)
        while chunk := file.read(_BYTES_AT_ONCE):
            yield chunk
