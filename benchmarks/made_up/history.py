"""Fills a store with made-up history for measuring: the same from the same plan, and whole like history lived through.

Sessions of different conversations alternate, so that a conversation's rows lie as far apart as they do in a store that
has been used for years.
"""

from __future__ import annotations

import string
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import islice
from random import Random
from typing import Any

from sqlalchemy import Connection, func, insert, select

from conversation_reference_utils import unique_message_short_hash
from database.conversations.friendly_ids import friendly_id_candidates
from database.engine.clock import iso
from database.engine.database import Database, Urgency
from database.engine.errors import InvalidChangeError
from database.schema import activities, conversation_workspaces, conversations, messages, workspaces
from database.transfer.copying import engine_of
from database.workspaces.repository import ensure_default_workspace

from .words import TextMaker

DOMAIN = "assistant"
SEED = 20260208
LONGEST = 10_000
SHORT = 10
_BEGIN = datetime(2024, 1, 1, 8, tzinfo=UTC)
_SPAN = timedelta(days=760)
_TURNS_A_SESSION = 5
_ROWS_AT_ONCE = 2_000
_FULL_FOLDER = 0.3
_ID_CHARACTERS = string.ascii_letters + string.digits


@dataclass(frozen=True, slots=True, kw_only=True)
class SeedPlan:
    """What to make.

    messages: of all conversations together, even. The first conversation has 10,000 of them (or a quarter of all, if
    that is less), the second 10, the others share the rest evenly. chars: length of each message. workspaces: folders
    beside the default one, of which the first holds three tenths of all conversations. named: False leaves out friendly
    ids and hashes, as in stores of before there were any.
    """

    conversations: int = 200
    messages: int = 20_000
    chars: int = 560
    workspaces: int = 0
    named: bool = True

    def turns(self) -> list[int]:
        """How many turns each conversation has. Raises InvalidChangeError where not every one would get one."""
        total, count = self.messages // 2, self.conversations
        sizes = [min(LONGEST // 2, max(1, total // 4)), SHORT // 2][:count] if count > 2 else []
        left, others = total - sum(sizes), count - len(sizes)
        if others < 1 or left < others:
            raise InvalidChangeError(
                f"{self.messages} messages are too few for {count} conversations: each has two or more."
            )
        return sizes + [left // others + (place < left % others) for place in range(others)]


@dataclass(slots=True, kw_only=True)
class _Seeded:
    """A conversation on its way into the store."""

    conversation_id: str
    friendly_id: str | None
    title: str
    begin: datetime
    turns: int
    made: int = 0
    hashes: set[str] = field(default_factory=set)


def seed(*, database: Database, user_email: str, plan: SeedPlan, sentences: TextMaker | None = None) -> Iterator[int]:
    """Store what `plan` says as `user_email`'s; yields, after each transaction, how many messages are there.

    sentences: what the texts are made of, for many people; None: sentences of their own. The account itself and the
    full-text index are left to others. Raises InvalidChangeError for a plan that makes no sense, and for an account
    that has conversations already.
    """
    random = Random(f"{SEED} {user_email}")
    texts = TextMaker(random) if sentences is None else sentences.drawn_by(random)
    seeded = [_conversation(random, texts, user_email, turns) for turns in plan.turns()]
    if plan.named:
        _give_friendly_ids(seeded)
    first_seq = database.write(partial(_store_conversations, user_email=user_email, plan=plan, seeded=seeded))
    rows, made = _turns(random, texts, user_email, plan, seeded, first_seq), 0
    while batch := list(islice(rows, _ROWS_AT_ONCE)):
        database.write(partial(_store_messages, batch=batch), urgency=Urgency.INDEX)
        made += len(batch)
        yield made


def _conversation(random: Random, texts: TextMaker, user_email: str, turns: int) -> _Seeded:
    return _Seeded(
        conversation_id=f"{user_email}_{''.join(random.choices(_ID_CHARACTERS, k=36))}",
        friendly_id=None,
        title=texts.title(),
        begin=_BEGIN + _SPAN * random.random(),
        turns=turns,
    )


def _give_friendly_ids(seeded: Sequence[_Seeded]) -> None:
    taken = set[str]()
    for one in seeded:
        candidates = friendly_id_candidates(one.title, iso(one.begin), one.conversation_id)
        one.friendly_id = next(candidate for candidate in candidates if candidate not in taken)
        taken.add(one.friendly_id)


def _store_conversations(connection: Connection, *, user_email: str, plan: SeedPlan, seeded: Sequence[_Seeded]) -> int:
    """Folders and conversations; the first free `seq`."""
    if connection.execute(
        select(conversations.c.conversation_id).where(conversations.c.user_email == user_email)
    ).first():
        raise InvalidChangeError("This account has conversations already; seeding is for one that has none.")
    default = ensure_default_workspace(connection, user_email=user_email, domain=DOMAIN)
    folders = [f"seeded_{user_email}_{number:04}" for number in range(plan.workspaces)]
    if folders:
        connection.execute(insert(workspaces), list(_folder_rows(folders, user_email)))
    connection.execute(insert(conversations), [_conversation_row(one, user_email) for one in seeded])
    places = [default, *folders]
    connection.execute(
        insert(conversation_workspaces),
        [
            {"conversation_id": one.conversation_id, "user_email": user_email, "workspace_id": _place(number, places)}
            for number, one in enumerate(seeded)
        ],
    )
    return (connection.execute(select(func.max(activities.c.seq))).scalar() or 0) + 1


def _place(number: int, places: Sequence[str]) -> str:
    if len(places) > 1 and number % 10 < _FULL_FOLDER * 10:
        return places[1]
    return places[number % len(places)]


def _folder_rows(folders: Sequence[str], user_email: str) -> Iterator[dict[str, Any]]:
    """A tenth of the folders lie at the top, the others in those."""
    top = max(1, len(folders) // 10)
    for number, workspace_id in enumerate(folders):
        yield {
            "user_email": user_email,
            "workspace_id": workspace_id,
            "workspace_name": f"Folder {number + 1}",
            "domain": DOMAIN,
            "expanded": 0,
            "parent_workspace_id": folders[number % top] if number >= top else None,
            "created_at": iso(_BEGIN),
            "updated_at": iso(_BEGIN),
        }


def _conversation_row(one: _Seeded, user_email: str) -> dict[str, Any]:
    return {
        "conversation_id": one.conversation_id,
        "user_email": user_email,
        "conversation_friendly_id": one.friendly_id,
        "created_at": iso(one.begin),
        "updated_at": iso(_moment(one, one.turns - 1)),
        "domain": DOMAIN,
        "title": one.title,
        "settings": {},
        "memory": {},
        "message_count": one.turns * 2,
        "last_ordinal": one.turns * 2,
    }


def _moment(one: _Seeded, turn: int) -> datetime:
    return one.begin + timedelta(minutes=3 * turn)


def _turns(
    random: Random, texts: TextMaker, user_email: str, plan: SeedPlan, seeded: Sequence[_Seeded], seq: int
) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """(activity, message) of each message, a session of each conversation in turn until all are told."""
    unfinished = list(seeded)
    while unfinished:
        for one in unfinished:
            for turn in range(one.made, min(one.made + _TURNS_A_SESSION, one.turns)):
                asked = str(uuid.UUID(int=random.getrandbits(128), version=4))
                answered = str(uuid.UUID(int=random.getrandbits(128), version=4))
                yield _rows(one, seq, turn, "user", asked, None, texts.text(plan.chars), user_email)
                yield _rows(one, seq + 1, turn, "model", answered, asked, texts.text(plan.chars), user_email)
                seq += 2
            one.made += _TURNS_A_SESSION
        unfinished = [one for one in unfinished if one.made < one.turns]


def _rows(
    one: _Seeded, seq: int, turn: int, sender: str, message_id: str, question: str | None, text: str, user_email: str
) -> tuple[dict[str, Any], dict[str, Any]]:
    created_at = iso(_moment(one, turn))
    own = {"seq": seq, "user_email": user_email, "conversation_id": one.conversation_id, "created_at": created_at}
    actor = "user" if sender == "user" else "assistant"
    activity = own | {
        "activity_id": message_id,
        "recipe": "general-discussion",
        "type": "chat_message",
        # Unique beyond doubt, without asking the store: short ids of real activities are six digits, too.
        "short_id": message_id.replace("-", "")[-12:],
        "actor_type": actor,
        "actor_id": user_email if sender == "user" else "seeded",
        "actor_name": user_email if sender == "user" else "seeded",
        "payload": {},
    }
    message = own | {
        "message_id": message_id,
        "ordinal": turn * 2 + (1 if sender == "user" else 2),
        "sender": sender,
        "text": text,
        "status": "complete",
        "message_short_hash": _short_hash(one, text),
        "in_answer_to": question,
        "config": {},
        "report": [],
    }
    return activity, message


def _short_hash(one: _Seeded, text: str) -> str | None:
    if one.friendly_id is None:
        return None
    short_hash = unique_message_short_hash(one.friendly_id, text, one.hashes)
    one.hashes.add(short_hash)
    return short_hash


def _store_messages(connection: Connection, *, batch: Sequence[tuple[dict[str, Any], dict[str, Any]]]) -> None:
    connection.execute(insert(activities), [activity for activity, _ in batch])
    connection.execute(insert(messages), [message for _, message in batch])
    engine_of(connection).continue_behind(connection, activities, "seq", batch[-1][0]["seq"])
