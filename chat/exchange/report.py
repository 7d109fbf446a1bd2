"""The reference report: what became of each reference of a message.

Shown first, stored with the message, never silent.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from chat.prompting.items import PkbItem
from sentences import Sentence, said

PREVIEW_CHARS = 200
GIVEN = frozenset({"resolved", "truncated"})
"""The statuses of what goes with a message."""
_EMPTY_LINES = re.compile(r"\n{3,}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportEntry:
    """The fate of one reference.

    notes: sent and stored as English sentences, and with what they say in any language.

    ref: as typed, with its "@" or "#". kind: message, message_range, conversation, activity, claim, context, entity,
    tag, domain, document, agent.
    status: resolved, truncated, not_found, out_of_range, malformed, ambiguous, empty, deleted, streaming, unavailable.
    muted: nothing was found, but it may well not have been meant as a reference (a decorator, a handle).
    count: how many things it brought; chars: how long they are together, before any cut.
    """

    ref: str
    kind: str
    status: str
    notes: tuple[Sentence, ...] = ()
    title: str = ""
    preview: str = ""
    count: int = 0
    chars: int = 0
    muted: bool = False
    target: Mapping[str, Any] = field(default_factory=dict)
    candidates: tuple[Mapping[str, Any], ...] = ()

    def with_note(self, note: Sentence) -> ReportEntry:
        """The same, with one note more."""
        return replace(self, notes=(*self.notes, note))

    def marked(self, status: str, note: Sentence) -> ReportEntry:
        """The same with another status, and a note that says why."""
        return replace(self, status=status, notes=(*self.notes, note))

    def as_dict(self) -> dict[str, Any]:
        """As sent and stored."""
        return {
            "ref": self.ref,
            "kind": self.kind,
            "status": self.status,
            "notes": [str(note) for note in self.notes],
            "said": [said(note) for note in self.notes],
            "title": self.title,
            "preview": self.preview,
            "count": self.count,
            "chars": self.chars,
            "muted": self.muted,
            "target": dict(self.target),
            "candidates": [dict(candidate) for candidate in self.candidates],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """One reference, resolved: its report entry and the items it brought (none, if it failed).

    passes_on: nothing of this kind has the name, but something of another kind may.
    """

    entry: ReportEntry
    items: tuple[PkbItem, ...] = ()
    passes_on: bool = False


def preview(text: str) -> str:
    """The beginning of `text`, at most 200 characters: its lines, which Markdown needs, without room around them."""
    lines = (line.rstrip() for line in text[: PREVIEW_CHARS * 4].splitlines())
    shown = _EMPTY_LINES.sub("\n\n", "\n".join(lines)).strip()
    return shown if len(shown) <= PREVIEW_CHARS else shown[: PREVIEW_CHARS - 1] + "…"
