"""The tree of the branches of a conversation: the questions that have alternatives, and the paths between them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, or_, select

from database.engine.statements import Prepared
from database.schema import messages

_m = messages.c
_HERE = _m.conversation_id == bindparam("conversation_id")
_FORKS = Prepared(
    select(_m.message_id, _m.ordinal, _m.branch_id, _m.branch_of, _m.chosen_branch, _m.deleted_at)
    .where(_HERE, or_(_m.branch_of.is_not(None), _m.chosen_branch.is_not(None)))
    .order_by(_m.seq)
)
_again = messages.alias("asked_again")
IS_BRANCHED = (
    select(_again.c.seq)
    .where(_again.c.conversation_id == bindparam("conversation_id"), _again.c.branch_of.is_not(None))
    .exists()
)
"""Whether any question of the conversation `conversation_id` was asked again. `idx_messages_branch_of` answers it."""
_IS_BRANCHED = Prepared(select(IS_BRANCHED))
_LAST_ONES = Prepared(
    select(_m.branch_id, func.max(_m.ordinal)).where(_HERE, _m.deleted_at.is_(None)).group_by(_m.branch_id)
)


class Fork(NamedTuple):
    """A question that has alternatives, deleted or not.

    chosen_branch: of the first one of a group, which is chosen, from 1 on.
    """

    message_id: str
    ordinal: int
    branch_id: str | None
    branch_of: str | None
    chosen_branch: int | None
    deleted_at: str | None = None


class Stretch(NamedTuple):
    """The messages of one branch that are on a path: those with an ordinal below `stop`, or all."""

    branch_id: str | None
    stop: int | None

    def holds(self, branch_id: str | None, ordinal: int) -> bool:
        """Whether a message of this branch, at this place, is one of them."""
        return branch_id == self.branch_id and (self.stop is None or ordinal < self.stop)


@dataclass(frozen=True, slots=True)
class BranchTree:
    """The branches of one conversation, without its messages. `forks` are in the order in which they were asked."""

    forks: Sequence[Fork]
    _groups: dict[str, list[Fork]] = field(default_factory=lambda: defaultdict(list))
    _first_ones: dict[str | None, list[Fork]] = field(default_factory=lambda: defaultdict(list))

    def __post_init__(self) -> None:
        for fork in self.forks:
            self._groups[fork.branch_of or fork.message_id].append(fork)
            if fork.branch_of is None:
                self._first_ones[fork.branch_id].append(fork)
        for group in self._first_ones.values():
            group.sort(key=lambda fork: fork.ordinal)

    def group(self, message_id: str) -> Sequence[Fork]:
        """The alternatives to a question, the first one first, with the question itself; empty where there are none."""
        return next((group for group in self._groups.values() if any(f.message_id == message_id for f in group)), [])

    def chosen(self) -> list[Fork]:
        """The questions with alternatives that the active path goes by, in order."""
        passed: list[Fork] = []
        for stretch in self.path():
            passed += [fork for fork in self.forks if fork.message_id == stretch.branch_id]
            passed += [
                fork for fork in self._first_ones[stretch.branch_id] if stretch.holds(fork.branch_id, fork.ordinal)
            ]
        return passed

    def alternatives(self, message_id: str, last_ones: Mapping[str | None, int]) -> list[Fork]:
        """`group` without the questions of which nothing is left: they are deleted, and so is all that followed them.

        last_ones: by branch, the ordinal of the last live message in it.
        """
        return [fork for fork in self.group(message_id) if self._has_something(fork, last_ones, frozenset())]

    def _has_something(self, fork: Fork, last_ones: Mapping[str | None, int], passed: frozenset[str]) -> bool:
        if fork.deleted_at is None:
            return True
        branch_id = fork.message_id if fork.branch_of else fork.branch_id
        if last_ones.get(branch_id, -1) > fork.ordinal:
            return True
        passed |= {fork.message_id}
        return any(
            self._has_something(other, last_ones, passed)
            for first in self._first_ones[branch_id]
            if first.ordinal > fork.ordinal
            for other in self._groups[first.message_id]
            if other.message_id not in passed
        )

    def choosing(self, choices: Mapping[str, int]) -> BranchTree:
        """The same branches with other choices, by the id of the first question of a group."""
        return BranchTree([f._replace(chosen_branch=choices.get(f.message_id, f.chosen_branch)) for f in self.forks])

    def path(self) -> list[Stretch]:
        """The active path. A choice that names a question which is not stored yet ends it there."""
        path: list[Stretch] = []
        branch_id: str | None = None
        while True:
            left = next((fork for fork in self._first_ones[branch_id] if (fork.chosen_branch or 1) != 1), None)
            path.append(Stretch(branch_id, left.ordinal if left else None))
            group = self._groups[left.message_id] if left else []
            if left is None or (left.chosen_branch or 1) > len(group):
                return path
            branch_id = group[(left.chosen_branch or 1) - 1].message_id

    def choices_to(self, branch_id: str | None, ordinal: int) -> dict[str, int]:
        """The choices that put the place `ordinal` of a branch on the active path; a circle ends where it closes."""
        choices: dict[str, int] = {}
        passed: set[str | None] = set()
        while branch_id not in passed:
            passed.add(branch_id)
            choices |= {fork.message_id: 1 for fork in self._first_ones[branch_id] if fork.ordinal <= ordinal}
            if branch_id is None:
                return choices
            group = self.group(branch_id)
            choices[group[0].message_id] = [fork.message_id for fork in group].index(branch_id) + 1
            branch_id, ordinal = group[0].branch_id, group[0].ordinal - 1
        return choices


def branches_of(connection: Connection, conversation_id: str) -> BranchTree:
    """The branches of a conversation. One statement, which reads the questions that have alternatives alone."""
    return BranchTree([Fork._make(row) for row in _FORKS.rows(connection, conversation_id=conversation_id)])


def is_branched(connection: Connection, conversation_id: str) -> bool:
    """Whether any question of a conversation was asked again. One look into an index."""
    row = _IS_BRANCHED.row(connection, conversation_id=conversation_id)
    return row is not None and bool(row[0])


def last_ones_of(connection: Connection, tree: BranchTree, conversation_id: str) -> dict[str | None, int]:
    """By branch, the ordinal of the last live message in it. Asked for only where `alternatives` depends on it."""
    if all(fork.deleted_at is None for fork in tree.forks):
        return {}
    return {row[0]: row[1] for row in _LAST_ONES.rows(connection, conversation_id=conversation_id)}


def stand_ins_of(connection: Connection, tree: BranchTree, conversation_id: str) -> dict[int, str]:
    """By ordinal, the message that shows the alternatives to a deleted question of the active path: the next live one.

    The value is the message_id of the question.
    """
    found: dict[int, str] = {}
    for fork in tree.chosen():
        if fork.deleted_at is not None:
            behind = select(func.min(_m.ordinal)).where(
                _m.conversation_id == conversation_id,
                _m.deleted_at.is_(None),
                _m.other_branch.is_(None),
                _m.ordinal > fork.ordinal,
            )
            ordinal = connection.execute(behind).scalar()
            if ordinal is not None:
                found[ordinal] = fork.message_id
    return found


def on_path(path: Sequence[Stretch]) -> ColumnElement[bool]:
    """The condition that a message of the conversation is on a path."""
    return or_(*(_is_on(stretch) for stretch in path))


def _is_on(stretch: Stretch) -> ColumnElement[bool]:
    # `branch_id = NULL` would be unknown, and so would its negation: off the path must be said of every message.
    inside = (
        _m.branch_id.is_(None) if stretch.branch_id is None else func.coalesce(_m.branch_id, "") == stretch.branch_id
    )
    return inside if stretch.stop is None else and_(inside, _m.ordinal < stretch.stop)
