"""References to activities: `#a1b2c3`, or a whole id."""

from __future__ import annotations

from database.activities.reading import Activity, find_activity
from database.engine.database import Database


def resolve_activity(
    user_email: str, reference: str, conversation_id: str | None = None, *, database: Database
) -> Activity:
    """The live activity of `user_email` that `reference` means: a uuid or a short id, with or without `#`, in any case.

    A short id means an activity of this conversation, else one of its threads, else any of the person's.
    Raises ActivityNotFoundError (also for another person's), AmbiguousReferenceError with the candidates.
    """
    with database.reading() as connection:
        return find_activity(connection, user_email=user_email, reference=reference, conversation_id=conversation_id)
