"""Batches of an import: each is stored in one transaction together with how far the import came.

A conversation that is too long for one transaction is stored before, in slices, one transaction each. A new one is
filled while it is hidden, like a clone, and appears with its batch. What a crash left half filled is erased when the
import is resumed, or by a starting server if nobody holds the import's lease; the import then stores it again. A
conversation that exists already grows slice by slice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from sqlalchemy import Connection, delete, func, insert, select, update
from sqlalchemy.exc import IntegrityError

from conversation_reference_utils import unique_message_short_hash
from database.activities.storing import new_activity_id
from database.conversations.conversation import record_listed
from database.conversations.deletion import erase
from database.conversations.friendly_ids import add_alias
from database.conversations.repository import insert_conversation, new_conversation_id, read_live
from database.engine.clock import now_iso
from database.engine.database import Database, Urgency
from database.engine.errors import ConflictError, StoreError
from database.messages.branch_tree import branches_of, on_path
from database.messages.message import live_in
from database.schema import conversations, filled_conversations, imported_conversations, imported_messages, messages
from sentences import say

from .arriving import ArrivingConversation, ArrivingMessage, message_to_store
from .changes import Notes
from .importing import Room, add_messages
from .repository import MOST_FAILURES, Import, advance
from .storing import (
    Stored,
    Target,
    add_to_index,
    columns_of,
    free_friendly_ids,
    identities_of_messages,
    identity_of,
    known_conversations,
    store_conversations,
    waits_for_nothing,
)
from .updating import update_some
from .workspaces import workspace_or_default, workspaces_named

MOST_AT_ONCE = 400
"""Messages in one transaction; each variant of an answer counts as one."""

T = TypeVar("T")
TargetOf = Callable[[Connection], Target]
_TOLD_CONVERSATIONS = 20
"""So many new conversations of an import are told to open pages one by one; of the others they hear when it ends."""
_CONTRADICTION = say("import_contradiction")
_NOTHING = say("import_nothing")


@dataclass(frozen=True, slots=True)
class Filled:
    """A conversation that is still hidden. last_ordinal: how many of its messages are stored."""

    arriving: ArrivingConversation
    conversation_id: str
    friendly_id: str
    last_ordinal: int = 0


@contextmanager
def long_ones_filled(
    arriving: Sequence[ArrivingConversation], *, database: Database, which: Import, owner: str, target_of: TargetOf
) -> Iterator[dict[str, Filled]]:
    """Store the long, new conversations among `arriving`, still hidden; by their ids at the source.

    The caller makes them visible with `reveal`, or erases them if that fails. Long ones that exist already get all new
    messages but the last slice. Raises StoppedError if `owner` has lost the lease, or the import was stopped.
    """
    filled: dict[str, Filled] = {}
    work = _Slices(database, which, owner, target_of)
    try:
        for each in arriving:
            if is_long(each):
                _store_slices(each, work, filled)
        yield filled
    except BaseException:
        with suppress(StoreError):
            erase(database, [each.conversation_id for each in filled.values()])
        raise


def erase_filled(*, database: Database, import_id: str) -> None:
    """Erase the conversations that an import has begun to fill; its caller has the lease, and fills none of them."""
    with database.reading() as connection:
        query = select(filled_conversations.c.conversation_id).where(filled_conversations.c.import_id == import_id)
        found = connection.execute(query).scalars().all()
    if found:
        erase(database, found)


def is_long(arriving: ArrivingConversation) -> bool:
    """Whether it has more messages than one transaction stores."""
    return sum(len(message.versions) for message in arriving.messages) > MOST_AT_ONCE


def reveal(connection: Connection, filled: Filled, *, target: Target, recorded: bool) -> None:
    """Make a filled conversation visible. Raises ConflictError if it was erased meanwhile."""
    each, conversation_id = filled.arriving, filled.conversation_id
    path = branches_of(connection, conversation_id).path()
    here = messages.c.conversation_id == conversation_id
    connection.execute(update(messages).where(here, ~on_path(path)).values(other_branch=1))
    shown = connection.execute(select(func.count()).where(live_in(conversation_id))).scalar_one()
    changed = update(conversations).where(
        conversations.c.conversation_id == conversation_id, conversations.c.incomplete_since.is_not(None)
    )
    seen = {"deleted_at": None, "incomplete_since": None, "branch_id": path[-1].branch_id}
    counts = {"message_count": shown, "last_ordinal": filled.last_ordinal}
    if connection.execute(changed.values(**seen, **counts)).rowcount == 0:
        raise ConflictError(say("import_erased"))
    connection.execute(insert(imported_conversations).values(identity_of(each, conversation_id, target)))
    is_whole = filled_conversations.c.conversation_id == conversation_id
    connection.execute(delete(filled_conversations).where(is_whole))
    if each.friendly_id is not None and each.friendly_id != filled.friendly_id:
        add_alias(connection, each.friendly_id, conversation_id, user_email=target.user_email)
    if recorded:
        row = read_live(connection, user_email=target.user_email, conversation_id=conversation_id)
        record_listed(connection, [row])


@dataclass(frozen=True, slots=True)
class _Slices:
    """Writes slices; each renews the lease of the import, and none is written once the import must stop."""

    database: Database
    which: Import
    owner: str
    target_of: TargetOf

    def write(self, job: Callable[[Connection, Target], T]) -> T:
        def slice_(connection: Connection) -> T:
            advance(connection, self.which, owner=self.owner)
            return job(connection, self.target_of(connection))

        return self.database.write(slice_, urgency=Urgency.INDEX)


def _store_slices(each: ArrivingConversation, work: _Slices, filled: dict[str, Filled]) -> None:
    begun = work.write(lambda connection, target: _begin(connection, each, target))
    if begun is None:
        while work.write(lambda connection, target: _grow(connection, each, target)):
            pass
        return
    filled[each.source_id] = begun
    ids = {message.key: new_activity_id() for message in each.messages}
    made = {message["message_id"]: message for message in _to_store(each, ids, friendly_id=begun.friendly_id)}
    for some in _slices(each.messages):
        said = [made[ids[message.key]] for message in some]
        conversation = filled[each.source_id]
        work.write(lambda connection, target: _add(connection, conversation, said, some, ids, target))  # noqa: B023
        filled[each.source_id] = replace(conversation, last_ordinal=conversation.last_ordinal + len(some))


def _begin(connection: Connection, each: ArrivingConversation, target: Target) -> Filled | None:
    """Store a hidden conversation without its messages; None if it exists already."""
    if known_conversations(connection, [each.source_id], target):
        return None
    friendly_id = free_friendly_ids(connection, [each], target)[each.source_id]
    conversation_id, moment = new_conversation_id(target.user_email), now_iso()
    own = {"user_email": target.user_email, "conversation_id": conversation_id}
    hidden = {"deleted_at": moment, "incomplete_since": moment}
    values = {**own, **columns_of(each, target), **hidden, "conversation_friendly_id": friendly_id}
    insert_conversation(connection, values, workspace_id=target.place_of(each))
    filling = {"conversation_id": conversation_id, "import_id": target.import_id}
    connection.execute(insert(filled_conversations).values(filling))
    return Filled(each, conversation_id, friendly_id)


def _grow(connection: Connection, each: ArrivingConversation, target: Target) -> bool:
    """Store a slice of what is new in an existing conversation; returns whether more than one slice was left."""
    identity = known_conversations(connection, [each.source_id], target).get(each.source_id)
    if identity is None or identity.digest == each.digest or not identity.is_live:
        return False
    own = {"user_email": target.user_email, "import_id": target.import_id}
    return update_some(connection, each, identity, most=MOST_AT_ONCE, **own)


def _to_store(each: ArrivingConversation, ids: dict[str, str], *, friendly_id: str) -> Iterator[dict[str, Any]]:
    """All messages, with what depends on those of other slices: their short hashes, and which question they answer."""
    hashes = {message.short_hash for message in each.messages if message.short_hash}
    questions: dict[str | None, str] = {}
    for message in each.messages:
        made = message_to_store(message, ids)
        short_hash = message.short_hash or unique_message_short_hash(friendly_id, made["text"], hashes)
        hashes.add(short_hash)
        made["message_short_hash"] = short_hash
        if message.sender == "user":
            questions[made["branch_id"]] = made["message_id"]
        else:
            made["in_answer_to"] = questions.get(made["branch_id"])
        yield made


def _slices(arriving: Sequence[ArrivingMessage]) -> Iterator[list[ArrivingMessage]]:
    some, size = list[ArrivingMessage](), 0
    for message in arriving:
        if some and size + len(message.versions) > MOST_AT_ONCE:
            yield some
            some, size = [], 0
        some.append(message)
        size += len(message.versions)
    yield some


def _add(
    connection: Connection,
    conversation: Filled,
    said: Sequence[dict[str, Any]],
    some: Sequence[ArrivingMessage],
    ids: dict[str, str],
    target: Target,
) -> None:
    is_indexed = waits_for_nothing(connection)
    here = conversation.conversation_id, conversation.friendly_id, conversation.last_ordinal
    rows = add_messages(connection, said, Room(target.user_email, *here))
    identities = identities_of_messages(some, ids, conversation.conversation_id, target)
    connection.execute(insert(imported_messages), identities)
    if is_indexed:
        add_to_index(connection, rows)


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
    """See `long_ones_filled`. Raises ConflictError where a conversation contradicts itself, here or within."""
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
