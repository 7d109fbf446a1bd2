"""Writes of documents as activities: what was written, and out of which answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, select

from database.activities.calls import place_below_question
from database.activities.storing import NewActivity, Place, insert_activities
from database.engine.clock import now_iso
from database.engine.database import Database
from database.schema import conversations, message_variants, messages

Action = Literal["write", "append", "replace_lines", "rename", "delete", "restore"]
_m, _v = messages.c, message_variants.c


class Actor(NamedTuple):
    """Who wrote a document: as `NewActivity` names it."""

    actor_type: str
    actor_id: str
    actor_name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The answer out of which a document is written.

    friendly_id: of its conversation; short_hash: of the answer; None for either that is not there yet, as it is while
    the answer is written. actor: the model or agent that answers.
    """

    conversation_id: str
    message_id: str
    friendly_id: str | None
    short_hash: str | None
    actor: Actor


class Written(NamedTuple):
    """A document that was written.

    version: of what is there now; None where it was deleted. old_path: of a document that was renamed.
    """

    action: Action
    path: str
    version: str | None
    old_path: str | None = None


def find_source(*, database: Database, user_email: str, message_id: str) -> Source | None:
    """The answer of this person with this id; None where there is none."""
    query = (
        select(
            _m.conversation_id,
            _m.message_id,
            conversations.c.conversation_friendly_id,
            _m.message_short_hash,
            _m.config,
            _v.config,
        )
        .join(conversations, conversations.c.conversation_id == _m.conversation_id)
        .outerjoin(message_variants, (_v.message_id == _m.message_id) & (_v.status == "streaming"))
        .where(_m.user_email == user_email, _m.message_id == message_id)
    )
    with database.reading() as connection:
        row = connection.execute(query).first()
    if row is None:
        return None
    conversation_id, found, friendly_id, short_hash, config, config_of_variant = row
    return Source(
        conversation_id=conversation_id,
        message_id=found,
        friendly_id=friendly_id or None,
        short_hash=short_hash,
        actor=_answering(config_of_variant or config),
    )


def _answering(config: Mapping[str, Any]) -> Actor:
    """Who gives an answer that began with `config_of_answer`."""
    if agent := config.get("agent"):
        return Actor("agent", str(agent["id"]), str(agent["title"]))
    model = str(config.get("model") or "")
    return Actor("assistant", model, model)


def record_writes(
    *, database: Database, user_email: str, writes: Sequence[Written], source: Source | None, by_model: bool
) -> None:
    """Store that documents were written, in this order. by_model: the answer's model or agent did, unasked.

    The activities stand in the conversation of `source`, as replies to what was asked there; without one, in a room
    beside the conversations.
    """
    person = Actor("user", user_email, "You")
    actor = source.actor if source is not None and by_model else person
    made = [_activity(each, actor, source) for each in writes]
    room = source.conversation_id if source else f"{user_email}_documents"

    def job(connection: Connection) -> None:
        place = place_below_question(connection, source.message_id) if source else Place()
        placed = [replace(each, place=place) for each in made]
        insert_activities(connection, placed, user_email=user_email, conversation_id=room)

    database.write(job)


def _activity(written: Written, actor: Actor, source: Source | None) -> NewActivity:
    return NewActivity(
        recipe="vault",
        type="document_write",
        **actor._asdict(),
        created_at=now_iso(),
        payload={
            "action": written.action,
            "path": written.path,
            **({"old_path": written.old_path} if written.old_path else {}),
            "version": written.version,
            "message_id": source.message_id if source else None,
        },
    )
