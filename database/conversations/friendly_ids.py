"""Assigning friendly ids to conversations, and hashes to old messages; UNIQUE indexes settle conflicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import count, islice
from typing import Any, NamedTuple

from sqlalchemy import BindParameter, Connection, Row, and_, bindparam, exists, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from conversation_reference_utils import generate_conversation_friendly_id, unique_message_short_hash
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.engine.statements import Prepared, attempt
from database.schema import conversation_aliases, conversations, messages

_SALTED_ATTEMPTS = 5
_LONG_HASH = 6
_CONVERSATIONS_AT_ONCE = 1_000
# What the writer does in about 20 ms, and how many such slices a request waits for.
_MESSAGES_AT_ONCE = 400
_SLICES_WAITED_FOR = 5

_Value = str | BindParameter[str]
_OWN = and_(
    conversations.c.user_email == bindparam("owner"), conversations.c.conversation_id == bindparam("conversation")
)
_FRIENDLY_ID = Prepared(select(conversations.c.conversation_friendly_id).where(_OWN))
_TAKE = Prepared(
    update(conversations)
    .where(_OWN)
    .values(conversation_friendly_id=bindparam("candidate"), version=conversations.c.version + 1)
)


class Nameless(NamedTuple):
    """A conversation without a friendly id, and what one is made from."""

    user_email: str
    conversation_id: str
    title: str
    created_at: str


def friendly_id_candidates(title: str, created_at: str, conversation_id: str) -> Iterator[str]:
    """An endless sequence of friendly ids to try: the plain one, five salted ones, then ones with a longer hash."""
    yield generate_conversation_friendly_id(title, created_at)
    for number in count(1):
        salt = f"{conversation_id}{number}"
        if number <= _SALTED_ATTEMPTS:
            yield generate_conversation_friendly_id(title, created_at, salt=salt)
        else:
            yield generate_conversation_friendly_id(title, created_at, salt=salt, hash_length=_LONG_HASH)


def assign_friendly_id(
    connection: Connection, *, user_email: str, conversation_id: str, title: str, created_at: str
) -> str:
    """Give a conversation its friendly id inside the caller's transaction, or return the one that it has.

    Safe under concurrency: the database refuses a candidate that is taken, and the next one is tried. Raises
    ConversationNotFoundError (this user has no such conversation).
    """
    own = {"owner": user_email, "conversation": conversation_id}
    row = _FRIENDLY_ID.row(connection, **own)
    if row is None:
        raise ConversationNotFoundError
    if row[0] is not None:
        return str(row[0])
    candidates = friendly_id_candidates(title, created_at, conversation_id)
    return next(candidate for candidate in candidates if _take(connection, own, candidate))


def assign_friendly_ids(connection: Connection, nameless: Sequence[Nameless]) -> dict[str, str]:
    """`assign_friendly_id` for conversations that have none, by few statements for all; the ids by conversation."""
    given = first_free(
        connection,
        {
            each.conversation_id: (
                each.user_email,
                friendly_id_candidates(each.title, each.created_at, each.conversation_id),
            )
            for each in nameless
        },
    )
    _TAKE.run_each(
        connection,
        [
            {"owner": each.user_email, "conversation": each.conversation_id, "candidate": given[each.conversation_id]}
            for each in nameless
        ],
    )
    return given


def first_free(connection: Connection, wanted: Mapping[str, tuple[str, Iterator[str]]]) -> dict[str, str]:
    """For each the first of its candidates that no conversation of its owner has, and no other one here.

    wanted: owner and candidates. Usually one query for all; where titles and times are the same, one more or two.
    """
    owner, friendly_id = conversations.c.user_email, conversations.c.conversation_friendly_id
    owners = {email for email, _ in wanted.values()}
    given, taken, waiting = dict[str, str](), set[tuple[str, str]](), dict(wanted)
    while waiting:
        tried = {key: (email, next(candidates)) for key, (email, candidates) in waiting.items()}
        names = {name for _, name in tried.values()}
        query = select(owner, friendly_id).where(owner.in_(owners), friendly_id.in_(names))
        taken |= {(row[0], row[1]) for row in connection.execute(query)}
        for key, pair in tried.items():
            if pair not in taken:
                taken.add(pair)
                given[key] = pair[1]
                del waiting[key]
    return given


def ensure_friendly_id(*, database: Database, user_email: str, conversation_id: str) -> str:
    """The friendly id of a live conversation, made from its title now if it has none.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin).
    """

    def job(connection: Connection) -> str:
        query = select(conversations.c.title, conversations.c.created_at).where(
            conversations.c.user_email == user_email,
            conversations.c.conversation_id == conversation_id,
            conversations.c.deleted_at.is_(None),
        )
        row = connection.execute(query).first()
        if row is None:
            raise ConversationNotFoundError
        return assign_friendly_id(
            connection,
            user_email=user_email,
            conversation_id=conversation_id,
            title=row.title,
            created_at=row.created_at,
        )

    return database.write(job)


def backfill_friendly_ids(*, database: Database, user_email: str, domain: str, all_messages: bool = False) -> int:
    """Give the user's old conversations of `domain` friendly ids, and their old messages hashes; how many got an id.

    Only conversations with a finished turn, never empty or running ones. A thousand conversations are one transaction;
    hashes follow in slices of their own, 2,000 messages a call unless `all_messages` are asked for. Where nothing is
    missing, one indexed query says so and nothing is written.
    """
    with database.reading() as connection:
        work_to_do = connection.execute(_WORK_TO_DO, {"user_email": user_email, "domain": domain}).scalar_one()
    if not work_to_do:
        return 0
    named = sum(_until_zero(lambda: database.write(lambda connection: _name_some(connection, user_email, domain))))
    slices = _until_zero(lambda: database.write(lambda connection: _hash_some(connection, user_email, domain)))
    sum(slices if all_messages else islice(slices, _SLICES_WAITED_FOR))
    return named


def _take(connection: Connection, own: Mapping[str, str], candidate: str) -> bool:
    try:
        with attempt(connection):
            _TAKE.run(connection, **own, candidate=candidate)
    except IntegrityError:
        return False
    return True


def _until_zero(step: Callable[[], int]) -> Iterator[int]:
    return iter(step, 0)


def _nameless(user_email: _Value, domain: _Value) -> Any:
    finished_turn = exists().where(
        messages.c.conversation_id == conversations.c.conversation_id,
        messages.c.sender != "user",
        messages.c.status != "streaming",
    )
    return select(conversations.c.conversation_id, conversations.c.title, conversations.c.created_at).where(
        conversations.c.user_email == user_email,
        conversations.c.conversation_friendly_id.is_(None),
        conversations.c.domain == domain,
        conversations.c.deleted_at.is_(None),
        conversations.c.running_message_id.is_(None),
        conversations.c.message_count > 0,
        finished_turn,
    )


def _unhashed(user_email: _Value, domain: _Value) -> Any:
    # The owner is compared in `messages` alone: `idx_messages_unhashed` must come first. With the owner compared in
    # both tables, SQLite without statistics scans all conversations of the user instead.
    return (
        select(messages.c.seq, messages.c.conversation_id, messages.c.text, conversations.c.conversation_friendly_id)
        .join_from(messages, conversations, messages.c.conversation_id == conversations.c.conversation_id)
        .where(
            messages.c.user_email == user_email,
            messages.c.message_short_hash.is_(None),
            messages.c.status != "streaming",
            conversations.c.conversation_friendly_id.is_not(None),
            conversations.c.domain == domain,
            conversations.c.deleted_at.is_(None),
            conversations.c.running_message_id.is_(None),
        )
    )


# Executed for each request of the list.
_WORK_TO_DO = select(
    or_(
        exists(_nameless(bindparam("user_email"), bindparam("domain"))),
        exists(_unhashed(bindparam("user_email"), bindparam("domain"))),
    )
)


def _name_some(connection: Connection, user_email: str, domain: str) -> int:
    query = _nameless(user_email, domain).order_by(conversations.c.created_at).limit(_CONVERSATIONS_AT_ONCE)
    found = connection.execute(query).all()
    if not found:
        return 0
    return len(assign_friendly_ids(connection, [Nameless(user_email, *row) for row in found]))


def _hash_some(connection: Connection, user_email: str, domain: str) -> int:
    query = _unhashed(user_email, domain).order_by(messages.c.conversation_id, messages.c.ordinal)
    found = connection.execute(query.limit(_MESSAGES_AT_ONCE)).all()
    if not found:
        return 0
    touched = {row.conversation_id for row in found}
    changes = _new_hashes(found, _taken_hashes(connection, touched))
    connection.execute(
        update(messages).where(messages.c.seq == bindparam("number")).values(message_short_hash=bindparam("hash")),
        changes,
    )
    connection.execute(
        update(conversations)
        .where(conversations.c.conversation_id.in_(touched))
        .values(version=conversations.c.version + 1)
    )
    return len(changes)


def _taken_hashes(connection: Connection, conversation_ids: Collection[str]) -> dict[str, set[str]]:
    taken: dict[str, set[str]] = {conversation_id: set() for conversation_id in conversation_ids}
    query = select(messages.c.conversation_id, messages.c.message_short_hash).where(
        messages.c.conversation_id.in_(conversation_ids), messages.c.message_short_hash.is_not(None)
    )
    for conversation_id, short_hash in connection.execute(query):
        taken[conversation_id].add(short_hash)
    return taken


def _new_hashes(found: Sequence[Row[Any]], taken: dict[str, set[str]]) -> list[dict[str, Any]]:
    changes = []
    for row in found:
        hashes = taken[row.conversation_id]
        short_hash = unique_message_short_hash(row.conversation_friendly_id, row.text, hashes)
        hashes.add(short_hash)
        changes.append({"number": row.seq, "hash": short_hash})
    return changes


def aliases_of(
    *, database: Database, user_email: str, conversation_id: str | None = None
) -> dict[str, tuple[str, ...]]:
    """The names that conversations had elsewhere, by the ids of these; conversation_id: of this one alone."""
    c = conversation_aliases.c
    found: defaultdict[str, list[str]] = defaultdict(list)
    query = select(c.conversation_id, c.alias).where(c.user_email == user_email).order_by(c.alias)
    if conversation_id is not None:
        query = query.where(c.conversation_id == conversation_id)
    with database.reading() as connection:
        for row in connection.execute(query):
            found[row.conversation_id].append(row.alias)
    return {each: tuple(names) for each, names in found.items()}


def add_alias(connection: Connection, alias: str, conversation_id: str, *, user_email: str) -> None:
    """Let a name that a conversation had elsewhere lead to it, unless the name leads to another one already."""
    c = conversation_aliases.c
    taken = select(c.alias).where(c.user_email == user_email, c.alias == alias)
    if connection.execute(taken).first() is None:
        row = {"user_email": user_email, "alias": alias, "conversation_id": conversation_id}
        connection.execute(insert(conversation_aliases).values(row))
