"""A batch of an import: what was read is stored in one transaction together with how far the import came.

Long conversations of it are stored before, slice by slice (`filling`), and appear with the batch.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.exc import IntegrityError

from database.engine.database import Database, Urgency
from database.engine.errors import ConflictError
from sentences import say

from .arriving import ArrivingConversation
from .changes import Notes
from .filling import Filled, long_ones_filled, reveal
from .repository import MOST_FAILURES, Import, advance
from .storing import Stored, Target, known_conversations, store_conversations
from .workspaces import workspace_or_default, workspaces_named

_TOLD_CONVERSATIONS = 20
"""So many new conversations of an import are told to open pages one by one; of the others they hear when it ends."""
_CONTRADICTION = say("import_contradiction")
_NOTHING = say("import_nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What was read since the last batch.

    items, messages: how many were read. before: what is stored of it already. failures: `{item, reason}` each.
    is_last: the file ends with it. broken: why the file can't be read any further, "" where it can.
    """

    conversations: Sequence[ArrivingConversation]
    items: int
    messages: int
    before: Stored
    failures: Sequence[Mapping[str, str]]
    is_last: bool
    broken: str
    worked_ms: int


def store_batch(*, database: Database, which: Import, owner: str, batch: Batch, told: bool) -> Import:
    """Store a batch and how far the import came; the import as it is then. told: tell open pages.

    Raises StoppedError where `owner` may not go on, ConflictError where a conversation contradicts itself: nothing is
    stored then, and `store_alone` tells which one it is.
    """

    def job(connection: Connection) -> Import:
        room = max(_TOLD_CONVERSATIONS - which.imported, 0)
        done = _store(connection, which, batch.conversations, filled, told=room)
        return advance(connection, which, owner=owner, told=told, **_progress(which, batch, done))

    with _long_ones_filled(batch.conversations, database=database, which=which, owner=owner) as filled:
        return database.write(job, urgency=Urgency.INDEX)


def store_alone(*, database: Database, which: Import, owner: str, conversation: ArrivingConversation) -> Stored:
    """Store one conversation, and nothing of how far the import came. Raises StoppedError, ConflictError."""

    def job(connection: Connection) -> Stored:
        return _store(connection, which, [conversation], filled)

    with _long_ones_filled([conversation], database=database, which=which, owner=owner) as filled:
        return database.write(job, urgency=Urgency.INDEX)


@contextmanager
def _long_ones_filled(
    arriving: Sequence[ArrivingConversation], *, database: Database, which: Import, owner: str
) -> Iterator[Mapping[str, Filled]]:
    """See `filling`. Raises ConflictError where a conversation contradicts itself, here or within."""
    target_of = partial(_target, which=which, arriving=arriving)
    own: dict[str, Any] = {"database": database, "which": which, "owner": owner}
    try:
        with long_ones_filled(arriving, **own, target_of=target_of) as filled:
            yield filled
    except IntegrityError as error:
        raise ConflictError(_CONTRADICTION) from error


def _store(
    connection: Connection,
    which: Import,
    arriving: Sequence[ArrivingConversation],
    filled: Mapping[str, Filled],
    *,
    told: int = 0,
) -> Stored:
    """Store conversations, and let those appear that are filled already. told: see `store_conversations`."""
    target = _target(connection, which=which, arriving=arriving)
    done = store_conversations(
        connection, [each for each in arriving if each.source_id not in filled], target=target, told=told
    )
    for each in filled.values():
        reveal(connection, each, target=target, recorded=done.imported < told)
        done.imported += 1
    return done


def store_progress(*, database: Database, which: Import, owner: str, told: bool = False, **values: Any) -> Import:
    """Store how far an import came; values: columns. Raises StoppedError where `owner` may not go on."""
    return database.write(
        lambda connection: advance(connection, which, owner=owner, told=told, **values), urgency=Urgency.INDEX
    )


def _target(connection: Connection, *, which: Import, arriving: Sequence[ArrivingConversation]) -> Target:
    domain = which.choice.get("domain") or "assistant"
    target = Target(
        import_id=which.import_id,
        source=which.source,
        user_email=which.user_email,
        domain=domain,
        workspace_id=workspace_or_default(
            connection, which.choice.get("workspace_id"), user_email=which.user_email, domain=domain
        ),
        workspaces={},
    )
    places = {each.source_id: each.workspace for each in arriving if each.workspace}
    if not places:
        return target
    # Those that are here already stay where they are.
    known = known_conversations(connection, places, target)
    names = {name for source_id, name in places.items() if source_id not in known}
    notes = Notes(connection, which.user_email, which.import_id)
    return replace(target, workspaces=workspaces_named(notes, names, domain=domain))


def _progress(which: Import, batch: Batch, done: Stored) -> dict[str, Any]:
    failures = [*map(dict, batch.failures), *batch.before.failures, *done.failures]
    values: dict[str, Any] = {
        "position": which.position + batch.items,
        "done": which.done + batch.messages,
        "imported": which.imported + batch.before.imported + done.imported,
        "updated": which.updated + batch.before.updated + done.updated,
        "skipped": which.skipped + batch.before.skipped + done.skipped,
        "failed": which.failed + len(failures),
        "failures": [*which.failures, *failures][:MOST_FAILURES],
        "worked_ms": which.worked_ms + batch.worked_ms,
    }
    if batch.broken:
        return {**values, "state": "failed", "error": batch.broken}
    if not batch.is_last:
        return values
    # An import that came to nothing is no success.
    came = values["imported"] + values["updated"] + values["skipped"]
    return {**values, "state": "done"} if came else {**values, "state": "failed", "error": _NOTHING}
