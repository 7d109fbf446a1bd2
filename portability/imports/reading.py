"""What an import has read of its file: the open file, a batch of items, and what is counted of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from database.engine.clock import iso
from database.imports.arriving import ArrivingConversation
from database.imports.repository import State
from portability.importers.reading.import_file import ImportFile
from portability.importers.reading.imported import (
    FailedItem,
    ImportedConversation,
    ImportedExport,
    ImportedItem,
    ImportedOther,
)

MOST_TITLES = 1_000
_BATCH_MESSAGES = 80
_BATCH_ITEMS = 40
_LARGE = 2
"""So many times as many where nobody else waits for the store: what a batch takes besides its messages is shared."""
_BATCH_CHARACTERS = 2**18
"""Of the messages: long ones are held, and stored and indexed, in as small batches as many short ones."""
_BATCH_BYTES = 8 * 2**20
"""Of files that stand in the messages of a batch, whole or as their texts: they are in memory until it is stored."""


@dataclass(slots=True)
class Reading:
    """An import's file that is open. state: what it is read for. position: how many items were read.

    has_others: whether any of them stands beside conversations.
    """

    items: Iterator[ImportedItem]
    file: ImportFile
    files: ExitStack
    state: State
    position: int = 0
    has_others: bool = False


@dataclass(slots=True)
class ReadItems:
    """What was read and is to be stored together. is_large: as much as while nobody else waits for the store."""

    is_large: bool = False
    conversations: list[ArrivingConversation] = field(default_factory=list)
    others: list[ImportedOther] = field(default_factory=list)
    failures: list[FailedItem] = field(default_factory=list)
    items: int = 0
    messages: int = 0
    characters: int = 0
    file_bytes: int = 0
    left_out: int = 0
    is_last: bool = False
    broken: str = ""
    """Why the file can't be read any further."""

    def put_whole(self, whole: ArrivingConversation) -> None:
        """Put a conversation in the place of its beginning."""
        counted = replace(whole, continues=False)
        self.conversations = [counted if each.source_id == whole.source_id else each for each in self.conversations]

    @property
    def is_full(self) -> bool:
        """Whether it is stored before more is read."""
        times = _LARGE if self.is_large else 1
        has_many = self.messages >= times * _BATCH_MESSAGES or self.items >= times * _BATCH_ITEMS
        is_long = self.characters >= _BATCH_CHARACTERS or self.file_bytes >= _BATCH_BYTES
        return has_many or is_long or bool(self.others)


def is_conversation(item: ImportedItem) -> bool:
    """Whether it is a conversation, of another program or of ours; not a document, memories or settings."""
    return isinstance(item, ImportedConversation | ImportedExport)


def id_in_file(item: ImportedItem) -> str:
    """By which a person chooses a conversation of the file; "" for what is none."""
    if isinstance(item, ImportedConversation):
        return item.source_id
    return item.item if isinstance(item, ImportedExport) else ""


def is_more(item: ImportedItem) -> bool:
    """Whether it is a conversation that was counted when its beginning was read."""
    return isinstance(item, ImportedConversation) and item.continues > 0


def messages_of(item: ImportedItem) -> int:
    """How many messages are read with it."""
    if isinstance(item, ImportedConversation):
        return len(item.messages) - item.continues
    return item.messages if isinstance(item, ImportedExport) else 0


def characters_of(conversation: ImportedConversation) -> int:
    """How long its messages are together, with their thoughts and what tools answered."""
    results = (len(call.result or "") for message in conversation.messages for call in message.tool_calls)
    return sum(len(message.text) + len(message.thoughts) for message in conversation.messages) + sum(results)


def file_bytes_of(conversation: ImportedConversation) -> int:
    """How much room the files take that its messages hold themselves."""
    files = (each for message in conversation.messages for each in message.attachments)
    return sum(len(each.content or "") + len(each.text or "") for each in files)


def add_title(titles: list[dict[str, Any]], item: ImportedItem, count: int) -> None:
    """Add a conversation with `count` messages to the first titles of a file."""
    if isinstance(item, ImportedExport):
        if len(titles) < MOST_TITLES:
            titles.append({"id": id_in_file(item), "title": (item.title or item.item)[:200], "messages": count})
    elif not isinstance(item, ImportedConversation):
        return
    elif item.continues:
        for each in titles:
            each["messages"] += count if each["id"] == item.source_id else 0
    elif len(titles) < MOST_TITLES:
        created_at = iso(item.created_at) if item.created_at else None
        titles.append({"id": item.source_id, "title": item.title[:200], "messages": count, "created_at": created_at})
