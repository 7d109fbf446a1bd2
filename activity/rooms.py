"""Rooms: conversations by what people call them."""

from __future__ import annotations

from difflib import get_close_matches

from database.conversations.naming import NamedRoom, conversations_called, newest_names
from database.engine.database import Database
from database.errors import AmbiguousReferenceError, RoomNotFoundError

_NEAREST = 3
_SIMILARITY = 0.5


def find_room(name: str, *, database: Database, user_email: str) -> str:
    """The id of the person's conversation of this id, friendly id or exact title, in this order.

    Raises RoomNotFoundError, which names the nearest or the newest ones, and AmbiguousReferenceError, which holds the
    ids of all that have the title.
    """
    called = name.strip()
    own = {"user_email": user_email}
    with database.reading() as connection:
        found = conversations_called(connection, called, **own) if called else []
        found = found or conversations_called(connection, called.removeprefix("@conversation_"), **own)
        names = [] if found else newest_names(connection, **own)
    if not found:
        newest = [_told(each) for each in names[:_NEAREST]]
        raise RoomNotFoundError(name[:200], nearest=_nearest(called, names), newest=newest)
    if len(found) > 1:
        ids = ", ".join(_reference(each) for each in found)
        raise AmbiguousReferenceError(
            f"Several conversations are called “{name[:200]}”. Name one by its id: {ids}.",
            candidates=[each.conversation_id for each in found],
        )
    return found[0].conversation_id


def _nearest(called: str, names: list[NamedRoom]) -> list[str]:
    by_name: dict[str, NamedRoom] = {}
    for each in names:
        for own in (each.title, each.friendly_id):
            if own:
                by_name.setdefault(own.lower(), each)
    close = get_close_matches(called.lower(), list(by_name), n=_NEAREST, cutoff=_SIMILARITY)
    return [_told(each) for each in dict.fromkeys(by_name[name] for name in close)]


def _told(room: NamedRoom) -> str:
    return f"“{room.title}” ({_reference(room)})"


def _reference(room: NamedRoom) -> str:
    return room.friendly_id or room.conversation_id
