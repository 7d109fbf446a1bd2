"""Which conversations of a file are here, and where their messages stand, so that a longer export is placed beside.

`Standing` is for conversations of other programs, `Places` and the functions for those of exports of ours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from database.engine.database import Database
from database.engine.errors import ConflictError
from database.schema import conversations, imported_conversations, imported_messages, messages
from sentences import say

from .origins import Said as Message
from .origins import names_source
from .outside import id_in_account

_OWN_PART = re.compile(r"[0-9A-Za-z]{36}")
_c, _ic, _im, _m = conversations.c, imported_conversations.c, imported_messages.c, messages.c


@dataclass(frozen=True, slots=True)
class Standing:
    """Where messages of a source stand here, by their ids there; empty for a conversation that is new.

    known: all that stand here. followed: of a message, all versions of the one that it follows here. continued: the
    versions behind which the person went on. left: those with all other versions of the same messages.
    """

    known: frozenset[str] = frozenset()
    followed: Mapping[str, frozenset[str]] = field(default_factory=dict)
    continued: frozenset[str] = frozenset()
    left: frozenset[str] = frozenset()


def standing_of(*, database: Database, user_email: str, source: str, source_id: str) -> Standing:
    """Where the messages of a conversation of the source stand in this account."""
    which = select(_ic.conversation_id).where(
        _ic.user_email == user_email, _ic.source == source, _ic.source_id == source_id
    )
    with database.reading() as connection:
        conversation_id = connection.execute(which).scalar()
        return Standing() if conversation_id is None else _standing(connection, conversation_id)


def _standing(connection: Connection, conversation_id: str) -> Standing:
    columns = (_m.message_id, _m.branch_id, _m.branch_of, _m.chosen_variant)
    here = select(*columns).where(_m.conversation_id == conversation_id).order_by(_m.ordinal)
    identified = select(_im.source_id, _im.message_id, _im.number).where(_im.conversation_id == conversation_id)
    versions: dict[str, dict[str, int]] = {}
    for source_id, message_id, number in connection.execute(identified):
        if not names_source(source_id, message_id):
            continue
        versions.setdefault(message_id, {})[source_id] = number
    followed: dict[str, frozenset[str]] = {}
    continued, left = set[str](), set[str]()
    for row, before in _with_those_before(connection.execute(here).all()):
        above = versions.get(before.message_id, {})
        if row.message_id in versions:
            followed |= dict.fromkeys(versions[row.message_id], frozenset(above))
        else:
            left.update(above)
            continued.update(name for name, number in above.items() if number == (before.chosen_variant or 1))
    known = frozenset(name for each in versions.values() for name in each)
    return Standing(known, followed, frozenset(continued), frozenset(left))


def _with_those_before(rows: Sequence[Any]) -> Iterator[tuple[Any, Any]]:
    """Each message with the one before it on its path; a question that begins a branch follows what the first did."""
    last: dict[str | None, Any] = {}
    before: dict[str, Any] = {}
    for row in rows:
        above = before.get(row.branch_of) if row.branch_of is not None else last.get(row.branch_id)
        last[row.branch_id] = row
        if above is not None:
            before[row.message_id] = above
            yield row, above


@dataclass(slots=True)
class Places:
    """Where new messages of a file stand among those here. rows: all of here; ours: those that the file does not have.

    forked: questions that others are asked in the place of now.
    """

    rows: Mapping[str, Any]
    ours: Sequence[Any]
    new: set[str]
    forked: set[str] = field(default_factory=set)

    def placed(self, said: Sequence[Message]) -> list[Message]:
        """The new ones of these messages, which are in order."""
        made, before, diverted = list[Message](), dict[str | None, int](), dict[str | None, str]()
        first_ones: dict[str, str] = {}
        for message in said:
            name, branch = message["message_id"], message["branch_id"]
            if name not in self.new:
                row = self.rows.get(name)
                before[branch] = row.ordinal if row is not None else before.get(branch, 0)
                continue
            place = {"branch_id": diverted.get(branch, branch)}
            if message.get("branch_of"):
                place["branch_of"] = first_ones.get(message["branch_of"], message["branch_of"])
            elif branch not in diverted and (rival := self._rival(message, before.get(branch, 0))):
                self.forked.add(rival)
                first_ones[name], diverted[branch] = rival, name
                place |= {"branch_id": name, "branch_of": rival, "chosen_branch": None}
            made.append({**message, **place})
        self._check(made)
        return made

    def _check(self, made: Sequence[Message]) -> None:
        """Raise ConflictError where a message lies in a branch that is not there."""
        names = self.rows.keys() | {message["message_id"] for message in made}
        branches = {row.message_id for row in self.rows.values() if row.branch_of is not None}
        branches |= {message["message_id"] for message in made if message.get("branch_of")}
        for message in made:
            if message["branch_id"] not in branches | {None} or message.get("branch_of") not in names | {None}:
                raise ConflictError(say("import_contradiction"))

    def _rival(self, message: Message, ordinal: int) -> str | None:
        """The first question that the person asked here, behind this place, instead of a new question."""
        branch = message["branch_id"]
        asked = (row for row in self.ours if row.branch_id == branch and row.ordinal > ordinal)
        found = next((row for row in asked if row.sender == "user" and row.message_id != branch), None)
        return None if found is None or message["sender"] != "user" else str(found.message_id)


def live_room(connection: Connection, source_id: str, user_email: str) -> str | None:
    """Which conversation of the person is `source_id` in a file; None where it is not here, or in the bin."""
    names = (source_id, id_in_account(source_id, user_email))
    own = select(_c.conversation_id).where(
        _c.user_email == user_email, _c.conversation_id.in_(names), _c.deleted_at.is_(None)
    )
    found = set(connection.execute(own).scalars())
    return next((name for name in names if name in found), None)


def binned_rooms(source_ids: Iterable[str], *, database: Database, user_email: str) -> set[str]:
    """Those of a file's conversations that are in the bin here."""
    with database.reading() as connection:
        here = _rooms_here(connection, source_ids, user_email=user_email)
    return {source_id for source_id, live in here.items() if live is None}


def known_rooms(connection: Connection, source_ids: Iterable[str], *, user_email: str) -> dict[str, str]:
    """Those of a file's conversations that are here, with their ids here. Raises ConflictError for a binned one."""
    here = _rooms_here(connection, source_ids, user_email=user_email)
    found = {source_id: live for source_id, live in here.items() if live is not None}
    if len(found) < len(here):
        raise ConflictError(say("imported_already"))
    return found


def _rooms_here(connection: Connection, source_ids: Iterable[str], *, user_email: str) -> dict[str, str | None]:
    """Those of a file's conversations that are here, with their ids here; None for those in the bin."""
    found = dict[str, str | None]()
    for source_id in source_ids:
        names = (source_id, id_in_account(source_id, user_email))
        own = _c.user_email == user_email, _c.conversation_id.in_(names)
        query = select(_c.conversation_id, _c.deleted_at).where(*own)
        rows = {row.conversation_id: row.deleted_at for row in connection.execute(query)}
        live = [name for name in names if name in rows and rows[name] is None]
        found |= {source_id: next(iter(live), None)} if rows else {}
    return found


def id_to_store(connection: Connection, conversation_id: str, user_email: str, *, is_empty: bool) -> str:
    """The id of the file, if it is one of this person's and free; else one that follows from it.

    is_empty: nothing of it is in the file by which it would be known. Raises ConflictError where the person has
    imported it already.
    """
    owner, _, own = conversation_id.rpartition("_")
    taken = select(_c.conversation_id).where(_c.conversation_id == conversation_id)
    if owner == user_email and _OWN_PART.fullmatch(own):
        if connection.execute(taken).first() is None:
            return conversation_id
        if is_empty:
            raise ConflictError(say("imported_already"))
    derived = id_in_account(conversation_id, user_email)
    if connection.execute(select(_c.conversation_id).where(_c.conversation_id == derived)).first():
        raise ConflictError(say("imported_already"))
    return derived


def is_taken(connection: Connection, friendly_id: str | None, user_email: str) -> bool:
    """Whether a conversation of the person has this friendly id."""
    taken = select(_c.conversation_id).where(_c.user_email == user_email, _c.conversation_friendly_id == friendly_id)
    return friendly_id is not None and connection.execute(taken).first() is not None
