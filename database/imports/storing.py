"""Storing conversations of another source, each with what identifies it and its messages there."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from database.activities.storing import new_activity_id
from database.conversations.friendly_ids import add_alias, first_free, friendly_id_candidates
from database.conversations.repository import new_conversation_id
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.statements import insert_rows
from database.schema import (
    conversations,
    imported_conversations,
    imported_messages,
)
from database.search import index as fulltext_index
from database.search.vectors import queue_new
from sentences import say

from .arriving import ArrivingConversation, ArrivingMessage, message_to_store
from .importing import NewConversation, import_conversations
from .updating import update_conversation

LONGEST_OF_FAILURE = 500
"""In characters, of what an item that is not here is called, and of the reason."""
_ic = imported_conversations.c


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where an import stores: in whose account, and in which of its workspaces. workspace_id: None for the default one.

    workspaces: by the names that the source has for them.
    """

    import_id: str
    source: str
    user_email: str
    domain: str
    workspace_id: str | None = None
    workspaces: Mapping[str, str]

    def place_of(self, each: ArrivingConversation) -> str | None:
        """The workspace that a conversation goes into."""
        return self.workspaces.get(each.workspace or "", self.workspace_id)


@dataclass(slots=True)
class Stored:
    """What was done with some conversations.

    failures: those that stay in the bin, `{item, reason}` each; they count as skipped, too.
    """

    imported: int = 0
    updated: int = 0
    skipped: int = 0
    failures: list[dict[str, str]] = field(default_factory=list)


def store_conversations(
    connection: Connection, arriving: Sequence[ArrivingConversation], *, target: Target, told: int = 0
) -> Stored:
    """Store conversations of one source: new ones, and what is new in those that are here. Their ids differ.

    told: so many of the new ones are told to open pages, one by one. What is in the bin stays there as it is. Raises
    ConflictError where a conversation makes no sense.
    """
    done = Stored()
    is_indexed = waits_for_nothing(connection)
    known = known_conversations(connection, [each.source_id for each in arriving], target)
    new = [each for each in arriving if each.source_id not in known]
    names = free_friendly_ids(connection, new, target)
    added = _store_new(connection, new, names, target, told=told)
    done.imported += len(new)
    if added and is_indexed:
        add_to_index(connection, added)
    for each in arriving:
        if (identity := known.get(each.source_id)) is None:
            continue
        is_changed = _is_changed(connection, each, identity)
        if is_changed:
            update_conversation(connection, each, identity, user_email=target.user_email, import_id=target.import_id)
        if each.continues:  # it was counted when its beginning came
            done.updated += is_changed and identity.import_id != target.import_id
            continue
        done.updated += is_changed
        done.skipped += not is_changed
        if identity.is_in_bin:
            reason = say("import_in_bin", count=len(each.messages))
            done.failures.append({"item": each.title[:LONGEST_OF_FAILURE], "reason": reason})
    return done


def _is_changed(connection: Connection, each: ArrivingConversation, identity: Any) -> bool:
    """Whether a conversation has anything for the one here, which is not in the bin."""
    if identity.digest == each.digest or not identity.is_live:
        return False
    return not (each.may_continue and identity.title == each.title and _is_here(connection, each, identity))


def _is_here(connection: Connection, each: ArrivingConversation, identity: Any) -> bool:
    """Whether all messages of `each`, which may be the beginning of a conversation, are here as they are there."""
    im = imported_messages.c
    here = select(im.source_id, im.digest).where(im.conversation_id == identity.conversation_id)
    digests = {row.source_id: row.digest for row in connection.execute(here)}
    versions = (version for message in each.messages for version in message.versions)
    return all(digests.get(version.source_id) == version.digest for version in versions)


def known_conversations(connection: Connection, source_ids: Collection[str], target: Target) -> dict[str, Any]:
    """What is known of these conversations of the source, by their ids there.

    is_live: it is whole, and not in the bin. is_in_bin: it was put there.
    """
    is_live = conversations.c.deleted_at.is_(None)
    is_in_bin = ~is_live & conversations.c.incomplete_since.is_(None)
    known = (_ic.source_id, _ic.conversation_id, _ic.title, _ic.digest, _ic.import_id)
    query = select(*known, is_live.label("is_live"), is_in_bin.label("is_in_bin")).where(
        _ic.user_email == target.user_email, _ic.source == target.source, _ic.source_id.in_(source_ids)
    )
    query = query.join(conversations, conversations.c.conversation_id == _ic.conversation_id)
    return {row.source_id: row for row in connection.execute(query)}


def known_source_ids(*, database: Database, user_email: str, source: str, source_ids: Collection[str]) -> set[str]:
    """Those of these conversations of the source that came into this account before."""
    query = select(_ic.source_id).where(
        _ic.user_email == user_email, _ic.source == source, _ic.source_id.in_(source_ids)
    )
    with database.reading() as connection:
        return set(connection.execute(query).scalars())


def free_friendly_ids(connection: Connection, new: Sequence[ArrivingConversation], target: Target) -> dict[str, str]:
    """A free friendly id for each: that of the source, else one made of its title."""
    return first_free(connection, {each.source_id: (target.user_email, _candidates(each)) for each in new})


def _candidates(each: ArrivingConversation) -> Iterator[str]:
    if each.friendly_id:
        yield each.friendly_id
    yield from friendly_id_candidates(each.title, each.created_at, each.source_id)


def _store_new(
    connection: Connection,
    new: Sequence[ArrivingConversation],
    names: Mapping[str, str],
    target: Target,
    *,
    told: int,
) -> list[dict[str, Any]]:
    """Store conversations that are not here yet, with what identifies them; the rows of their messages.

    names: their friendly ids.
    """
    made, identities = list[NewConversation](), list[dict[str, Any]]()
    for each in new:
        ids = {message.key: new_activity_id() for message in each.messages}
        conversation = NewConversation(
            conversation_id=new_conversation_id(target.user_email),
            friendly_id=names[each.source_id],
            messages=[message_to_store(message, ids) for message in each.messages],
            columns=columns_of(each, target),
            workspace_id=target.place_of(each),
        )
        made.append(conversation)
        identities += identities_of_messages(each.messages, ids, conversation.conversation_id, target)
    rows = import_conversations(connection, made, user_email=target.user_email, is_checked=True, recorded=told)
    here = [(each, one.conversation_id) for each, one in zip(new, made, strict=True)]
    insert_rows(connection, imported_conversations, [identity_of(*pair, target) for pair in here])
    insert_rows(connection, imported_messages, identities)
    for each, conversation_id in here:
        if each.friendly_id is not None and each.friendly_id != names[each.source_id]:
            add_alias(connection, each.friendly_id, conversation_id, user_email=target.user_email)
    return rows


def columns_of(each: ArrivingConversation, target: Target) -> dict[str, Any]:
    """The columns of a new conversation."""
    return {
        "domain": target.domain,
        "title": each.title,
        "title_force_set": 1,
        "created_at": each.created_at,
        "updated_at": each.updated_at,
        "archived": int(each.archived),
        "pinned_at": now_iso() if each.pinned else None,
    }


def identity_of(each: ArrivingConversation, conversation_id: str, target: Target) -> dict[str, Any]:
    """The row that says which conversation of the source `conversation_id` is."""
    identity = {"user_email": target.user_email, "source": target.source, "source_id": each.source_id}
    told = {"conversation_id": conversation_id, "import_id": target.import_id, "title": each.title}
    return {**identity, **told, "digest": each.digest}


def identities_of_messages(
    arriving: Sequence[ArrivingMessage], ids: Mapping[str, str], conversation_id: str, target: Target
) -> list[dict[str, Any]]:
    """The rows that say which messages of the source these are. ids: of messages here, by their keys."""
    return [
        {
            "conversation_id": conversation_id,
            "source_id": version.source_id,
            "message_id": ids[message.key],
            "number": number,
            "digest": version.digest,
            "import_id": target.import_id,
        }
        for message in arriving
        for number, version in enumerate(message.versions, 1)
    ]


def waits_for_nothing(connection: Connection) -> bool:
    """Whether the full-text index has all messages, so that those of this transaction can be added at once."""
    return fulltext_index.waiting_behind(connection) is None


def add_to_index(connection: Connection, rows: Sequence[Mapping[str, Any]]) -> None:
    """Add new messages to the full-text index, which has all before them. rows: of `messages`, at least one."""
    texts = [
        fulltext_index.indexed_text(
            seq=row["seq"], user_email=row["user_email"], conversation_id=row["conversation_id"], text=row["text"]
        )
        for row in rows
    ]
    fulltext_index.advance(connection, texts, up_to=texts[-1].seq, queues_vectors=False)
    queue_new(connection, [text.seq for text in texts])
