"""Notes: longer text that is kept beside the claims."""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

from ..errors import NoteNotFoundError
from ..models import NOTE_COLUMNS, Note
from ..schema.tables import notes
from ..utils import now_iso
from .base import OwnedRows, counted, json_object, known_fields, optional_text, owned, paged, required_text
from .claim_fields import category_name

_LONGEST_TITLE = 500
_LONGEST_BODY = 200_000
_LIST = paged(owned(notes, NOTE_COLUMNS).order_by(notes.c.updated_at.desc(), notes.c.note_rowid.desc()))
_NUMBER = counted(notes)


class NoteCRUD(OwnedRows[Note]):
    """The notes of one user."""

    noun, table, key, columns, model = "note", notes, "note_id", NOTE_COLUMNS, Note
    not_found = NoteNotFoundError
    checks: ClassVar[Mapping[str, Callable[[Any], Any]]] = {
        "title": lambda value: optional_text(value, "title", longest=_LONGEST_TITLE),
        "body": lambda value: required_text(value, "note", longest=_LONGEST_BODY),
        "context_domain": lambda value: category_name(value, "domain") if value else None,
        "meta_json": lambda value: json_object(value, "further data"),
    }

    def add(self, note: Note) -> Note:
        """Store a new note; returns it. Raises InvalidKnowledgeError."""
        given = note.to_dict()
        row = (
            given | {"user_email": self.user_email} | {name: check(given[name]) for name, check in self.checks.items()}
        )
        added = Note(**row)
        with self._recording("add", added.note_id, _title(added)) as changes:
            changes.insert("notes", row)
        return added

    def edit(self, note_id: str, changes: Mapping[str, Any]) -> Note | None:
        """Change fields of a note; None where there is no such note. Raises InvalidKnowledgeError."""
        known_fields(changes, self.checks)
        checked = {name: self.checks[name](value) for name, value in changes.items()}
        with self.db.transaction():
            before = self.get(note_id)
            if before is None:
                return None
            fields = {name: value for name, value in checked.items() if getattr(before, name) != value}
            if fields:
                with self._recording("edit", note_id, _title(before), fields=fields) as recorded:
                    recorded.update("notes", {"note_id": note_id}, {**fields, "updated_at": now_iso()})
            return self.get(note_id)

    def delete(self, note_id: str) -> bool:
        """Delete a note for good; False where there is no such note."""
        with self.db.transaction():
            note = self.get(note_id)
            if note is None:
                return False
            with self._recording("delete", note_id, _title(note)) as changes:
                changes.delete("notes", {"note_id": note_id})
        return True

    def list(self, limit: int = 100, offset: int = 0) -> builtins.list[Note]:
        """Notes, newest change first."""
        return self._found(_LIST, limit=limit, offset=offset)

    def count(self) -> int:
        """How many notes there are."""
        return self._number(_NUMBER)


def _title(note: Note) -> str:
    return note.title or " ".join(note.body[:200].split())
