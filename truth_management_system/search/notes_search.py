"""Finding notes by their words."""

from __future__ import annotations

from ..crud.base import marks
from ..database import PKBDatabase
from ..models import NOTE_COLUMNS, Note
from .fulltext import best_matches
from .searched_table import Searched, SearchedTable

NOTES = SearchedTable(
    name="notes",
    rowid="note_rowid",
    number="note_rowid",
    body="body",
    columns=((("title",), 1.0), (("body",), 0.6)),
)


def search_notes(
    db: PKBDatabase, user_email: str | None, query: str, *, k: int = 20, context_domain: str | None = None
) -> list[tuple[Note, float]]:
    """(note, score) of at most `k` of the user's notes with words of `query`, best first; those with all words lead."""
    searched = Searched(
        db=db,
        table=NOTES,
        user_email=user_email or "",
        conditions=["notes.context_domain = ?"] if context_domain else [],
        parameters=[context_domain] if context_domain else [],
    )
    best = best_matches(searched, query, k)
    rowids = [match.rowid for match in best]
    sql = f"SELECT note_rowid, {', '.join(NOTE_COLUMNS)} FROM notes WHERE note_rowid IN ({marks(rowids)})"
    notes = {row[0]: Note(*row[1:]) for row in db.select(sql, rowids)} if rowids else {}
    return [(notes[match.rowid], match.score) for match in best if match.rowid in notes]
