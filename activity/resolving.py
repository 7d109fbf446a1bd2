"""What people and programs name: activities by `#a1b2c3` or a whole id, and conversations by what they are called."""

from __future__ import annotations

from database.activities.reading import Activity, find_activity
from database.conversations.titles import NamedRoom, conversations_called, newest_names
from database.engine.database import Database
from database.engine.errors import AmbiguousReferenceError, RoomNotFoundError
from search.language import nearest_names

_NEAREST = 3
_MOST_NAMED = 10
_LONGEST_NAME = 200


def resolve_activity(
    user_email: str, reference: str, conversation_id: str | None = None, *, database: Database
) -> Activity:
    """The live activity of `user_email` that `reference` means: a uuid or a short id, with or without `#`, in any case.

    A short id means an activity of this conversation, else one of its threads, else any of the person's.
    Raises ActivityNotFoundError (also for another person's), AmbiguousReferenceError with the candidates.
    """
    with database.reading() as connection:
        return find_activity(connection, user_email=user_email, reference=reference, conversation_id=conversation_id)


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
        raise RoomNotFoundError(name[:_LONGEST_NAME], nearest=_nearest(called, names), newest=newest)
    if len(found) > 1:
        ids = ", ".join(_reference(each) for each in found[:_MOST_NAMED])
        more = f" … ({len(found):,} in all, the newest first)" if len(found) > _MOST_NAMED else ""
        raise AmbiguousReferenceError(
            f"Several conversations are called “{name[:_LONGEST_NAME]}”. Name one by its id: {ids}{more}.",
            candidates=[each.conversation_id for each in found],
        )
    return found[0].conversation_id


def _nearest(called: str, names: list[NamedRoom]) -> list[str]:
    by_name: dict[str, NamedRoom] = {}
    for each in names:
        for own in (each.title, each.friendly_id):
            if own:
                by_name.setdefault(own.lower(), each)
    close = nearest_names(called[:_LONGEST_NAME], by_name, most=_NEAREST)
    return [_told(each) for each in dict.fromkeys(by_name[name] for name in close)]


def _told(room: NamedRoom) -> str:
    return f"“{room.title}” ({_reference(room)})"


def _reference(room: NamedRoom) -> str:
    return room.friendly_id or room.conversation_id
