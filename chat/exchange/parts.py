"""The parts of an answer that is being written; `activity.parts` says what kinds there are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

from activity.parts import Part

from . import events
from .events import Event


@dataclass(slots=True)
class _Open:
    """A part of an answer that is being written. texts: its text so far, in pieces; None for a part without text."""

    fields: dict[str, Any]
    texts: list[str] | None = None


@dataclass(slots=True)
class AnswerParts:
    """The parts of one answer as they come. Each change returns the event that tells watchers of it."""

    _parts: list[_Open] = field(default_factory=list)
    _thinking: _Open | None = None

    @classmethod
    def of(cls, parts: Iterable[Part]) -> Self:
        """The parts of an answer that goes on, numbered from 1 on."""
        return cls([_Open({**part, "id": number}) for number, part in enumerate(parts, 1)])

    def told(self) -> Iterator[Event]:
        """The events that tell a watcher of all parts so far."""
        return (events.part(part) for part in self.stored())

    def add(self, kind: str, *, at: int, **fields: Any) -> Event:
        """A part that is complete."""
        self._thinking = None
        return events.part(self._opened(kind, at=at, **fields).fields)

    def replace(self, part_id: int, **fields: Any) -> Event:
        """Change fields of a part: a tool call gets its result."""
        changed = self._parts[part_id - 1].fields
        changed.update(fields)
        return events.part(changed)

    def think(self, text: str, *, at: int) -> Event:
        """More thinking; it goes on with the thinking before unless something else came between."""
        if self._thinking is None or self._thinking.texts is None or self._thinking.fields["at"] != at:
            self._thinking = self._opened("thinking", at=at)
            self._thinking.texts = [text]
            return events.part({**self._thinking.fields, "text": text})
        self._thinking.texts.append(text)
        return events.part_text(self._thinking.fields["id"], text)

    def stored(self) -> list[dict[str, Any]]:
        """The parts as `database.turns.turns.finish_turn` takes them."""
        return [
            part.fields if part.texts is None else {**part.fields, "text": "".join(part.texts)} for part in self._parts
        ]

    def _opened(self, kind: str, *, at: int, **fields: Any) -> _Open:
        opened = _Open({"id": len(self._parts) + 1, "kind": kind, "at": at, **fields})
        self._parts.append(opened)
        return opened
