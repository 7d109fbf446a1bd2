"""What an exported file names outside of itself: activities that are answered from another conversation, and threads.

An archive has each conversation in a file of its own, in any order. What a file answers that is not here yet is noted
until the import ends.
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, delete, select, update

from database.activities.renaming import id_of_copy
from database.engine.database import Database
from database.schema import activities, conversations, imported_changes, threads

from .changes import LINK, Notes

_a, _t, _c = activities.c, threads.c, imported_changes.c
# A statement holds at most 32,766 parameters.
_AT_ONCE = 5_000


@dataclass(frozen=True, slots=True)
class Outside:
    """What a file names outside of itself, all by its ids there.

    answered: what activities answer, by theirs. begun: the threads whose first activity is not in the file.
    """

    answered: Mapping[str, str] = field(default_factory=dict)
    begun: Collection[str] = ()

    def renamed(self, new_ids: Mapping[str, str]) -> Outside:
        """By the ids that activities and threads of the file get here; what they answer stays."""
        answered = {new_ids.get(each, each): other for each, other in self.answered.items()}
        return Outside(answered, {new_ids.get(each, each) for each in self.begun})


NOTHING = Outside()


def threads_to_store(
    connection: Connection, rows: Sequence[dict[str, Any]], outside: Outside, *, user_email: str
) -> list[dict[str, Any]]:
    """The threads of a file that are not here yet. One that is here begins where the file with its first activity says.

    outside: by the ids of here.
    """
    here = set[str]()
    names = [row["thread_id"] for row in rows]
    for start in range(0, len(names), _AT_ONCE):
        own = _t.user_email == user_email, _t.thread_id.in_(names[start : start + _AT_ONCE])
        here.update(connection.execute(select(_t.thread_id).where(*own)).scalars())
    for row in rows:
        if row["thread_id"] in here and row["thread_id"] not in outside.begun:
            begins = update(threads).where(_t.thread_id == row["thread_id"])
            connection.execute(begins.values(root_activity_id=row["root_activity_id"]))
    return [row for row in rows if row["thread_id"] not in here]


def link_or_note(notes: Notes, outside: Outside, rooms: Mapping[str, str | None]) -> int:
    """Let activities answer what they answered where the file is from; how many lead nowhere.

    outside: by the ids of here. rooms: the conversations of the activities that are new; None beside those. What is not
    here yet is noted for `link_noted`, where an import is noted at all.
    """
    answered = {each: other for each, other in outside.answered.items() if each in rooms}
    missing = _linked(notes.connection, answered, user_email=notes.user_email)
    if notes.import_id is None:
        return len(missing)
    for activity_id, other in missing.items():
        room = dataclasses.replace(notes, conversation_id=rooms[activity_id])
        room.added(LINK, [activity_id], became={"reply_to_id": other})
    return 0


def link_noted(*, database: Database, import_id: str, user_email: str) -> Mapping[str, int]:
    """Link what an import noted, now that all of it is here: how many lead nowhere, by the title of a conversation."""
    noted = (_c.import_id == import_id) & (_c.kind == LINK)
    title = conversations.c.title
    query = select(_c.thing_id, _c.became, title).outerjoin(
        conversations, conversations.c.conversation_id == _c.conversation_id
    )

    def job(connection: Connection) -> Mapping[str, int]:
        rows = connection.execute(query.where(noted)).all()
        answered = {row.thing_id: row.became["reply_to_id"] for row in rows}
        missing = _linked(connection, answered, user_email=user_email)
        connection.execute(delete(imported_changes).where(noted))
        return Counter(row.title or "" for row in rows if row.thing_id in missing)

    with database.reading() as connection:
        if connection.execute(query.where(noted).limit(1)).first() is None:
            return {}
    return database.write(job)


def _linked(connection: Connection, answered: Mapping[str, str], *, user_email: str) -> dict[str, str]:
    """Link activities to what they answer, if the person has it; the others."""
    own = set[str]()
    names = list({name for each in answered.values() for name in (each, id_of_copy(each, user_email))})
    for start in range(0, len(names), _AT_ONCE):
        here = _a.user_email == user_email, _a.activity_id.in_(names[start : start + _AT_ONCE])
        own.update(connection.execute(select(_a.activity_id).where(*here)).scalars())
    missing = {}
    for activity_id, other in answered.items():
        found = next((name for name in (other, id_of_copy(other, user_email)) if name in own), None)
        if found is None:
            missing[activity_id] = other
        else:
            connection.execute(update(activities).where(_a.activity_id == activity_id).values(reply_to_id=found))
    return missing
