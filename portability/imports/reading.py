"""What an import has read of its file: the open file, a batch of items, and what is counted of them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

from database.imports.arriving import ArrivingConversation
from database.imports.repository import State
from portability.importers.import_file import ImportFile
from portability.importers.imported import FailedItem, ImportedConversation, ImportedItem, ImportedOther

MOST_TITLES = 1_000
_BATCH_MESSAGES = 80
_BATCH_ITEMS = 40


@dataclass(slots=True)
class Reading:
    """An import's file that is open. state: what it is read for. position: how many items were read."""

    items: Iterator[ImportedItem]
    file: ImportFile
    files: ExitStack
    state: State
    position: int = 0


@dataclass(slots=True)
class ReadItems:
    """What was read and is to be stored together."""

    conversations: list[ArrivingConversation] = field(default_factory=list)
    others: list[ImportedOther] = field(default_factory=list)
    failures: list[FailedItem] = field(default_factory=list)
    items: int = 0
    messages: int = 0
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
        return self.messages >= _BATCH_MESSAGES or self.items >= _BATCH_ITEMS or bool(self.others)


def is_more(item: ImportedItem) -> bool:
    """Whether it is a conversation that was counted when its beginning was read."""
    return isinstance(item, ImportedConversation) and item.continues > 0


def messages_of(item: ImportedItem, *, otherwise: int) -> int:
    """How many messages are read with it; otherwise: where it is something that has none."""
    if isinstance(item, ImportedConversation):
        return len(item.messages) - item.continues
    return int(getattr(item, "messages", otherwise))


def add_title(titles: list[dict[str, Any]], item: ImportedItem, count: int) -> None:
    """Add a conversation with `count` messages to the first titles of a file."""
    if not isinstance(item, ImportedConversation):
        return
    if item.continues:
        for each in titles:
            each["messages"] += count if each["id"] == item.source_id else 0
    elif len(titles) < MOST_TITLES:
        titles.append({"id": item.source_id, "title": item.title[:200], "messages": count})
