"""Where the messages of an imported conversation stand here, so that a longer export of it is placed beside them.

`Standing` is for conversations of other programs, `Places` for those of exports of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Connection, select

from database.engine.database import Database
from database.engine.errors import ConflictError
from database.schema import imported_conversations, imported_messages, messages
from sentences import say

from .origins import Said as Message
from .origins import names_source

_ic, _im, _m = imported_conversations.c, imported_messages.c, messages.c


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
