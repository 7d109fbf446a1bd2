"""Branches: a question that is asked again, in other words, begins a branch beside the first one and what followed it.

Every message lies in one branch: the first one (`branch_id` is None), or the branch that begins with the question whose
id is `branch_id`. Questions of a group are alternatives to each other: the first one, and those whose `branch_of` names
it. The first one remembers which of the group is chosen. The choices of all groups make the active path; the messages
beside it have `other_branch` set. On any path messages are ordered by `ordinal`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, and_, bindparam, func, or_, select, update

from database.changes import MESSAGE, record
from database.conversations.conversation import ConversationHead, access_head, touch
from database.engine.database import Database
from database.engine.errors import BranchNotFoundError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.engine.statements import Prepared
from database.messages.message import MessageRow, live_in, previewed, row_with_id, text_beginning
from database.schema import messages
from sentences import say

from .reading import access_message
from .summary import forget_summary

_m = messages.c
_HERE = _m.conversation_id == bindparam("conversation_id")
_FORKS = Prepared(
    select(_m.message_id, _m.ordinal, _m.branch_id, _m.branch_of, _m.chosen_branch)
    .where(_HERE, or_(_m.branch_of.is_not(None), _m.chosen_branch.is_not(None)))
    .order_by(_m.seq)
)


class Fork(NamedTuple):
    """A question that has alternatives. chosen_branch: of the first one of a group, which is chosen, from 1 on."""

    message_id: str
    ordinal: int
    branch_id: str | None
    branch_of: str | None
    chosen_branch: int | None


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


def begin_branch(
    connection: Connection, head: ConversationHead, message_id: str
) -> tuple[ConversationHead, MessageRow, str]:
    """Let the active path end before a question, so that another one can be asked in its place.

    Returns the conversation as it is then, the question, and the `branch_of` of the new one. Raises
    MessageNotFoundError, InvalidChangeError.
    """
    question = row_with_id(connection, head.conversation_id, message_id)
    if question is None or question.deleted_at is not None:
        raise MessageNotFoundError
    if question.sender != "user":
        raise InvalidChangeError(say("only_questions_again"))
    if head.stateless:
        raise InvalidChangeError(say("no_branches_unkept"))
    tree = branches_of(connection, head.conversation_id)
    if not tree.group(message_id):
        alone = Fork(message_id, question.ordinal, question.branch_id, None, 1)
        tree = BranchTree([alone, *tree.forks])
    group = tree.group(message_id)
    first = group[0]
    choices = tree.choices_to(first.branch_id, first.ordinal - 1) | {first.message_id: len(group) + 1}
    return _follow(connection, head, tree, choices), question, first.message_id


def choose_branch(*, database: Database, user_email: str, message_id: str, number: int) -> None:
    """Let the active path go by alternative `number`, from 1 on, to a question.

    Raises MessageNotFoundError, BranchNotFoundError, TurnInProgressError.
    """

    def places(_message: MessageRow, tree: BranchTree) -> tuple[str | None, int]:
        group = tree.group(message_id)
        if not 1 <= number <= len(group):
            raise BranchNotFoundError
        return group[number - 1].branch_id, group[number - 1].ordinal

    _choose(database, user_email, message_id, places)


def choose_branch_with(*, database: Database, user_email: str, message_id: str) -> None:
    """Let the active path lead to a message, wherever it lies. Raises MessageNotFoundError, TurnInProgressError."""
    _choose(database, user_email, message_id, lambda message, _tree: (message.branch_id, message.ordinal))


def _choose(
    database: Database,
    user_email: str,
    message_id: str,
    place_in: Callable[[MessageRow, BranchTree], tuple[str | None, int]],
) -> None:
    def choose(connection: Connection) -> None:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        head = access_head(connection, user_email=user_email, conversation_id=message.conversation_id)
        tree = branches_of(connection, head.conversation_id)
        choices = tree.choices_to(*place_in(message, tree))
        if head.running_message_id is not None:
            raise TurnInProgressError
        _follow(connection, head, tree, choices)

    database.write(choose)


def list_branches(*, database: Database, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The questions of a conversation that were asked again, in the order of their first ones.

    Each: `{message_id (of the first one), branch_id (where it lies), chosen, branches}`; each of `branches`: `{number,
    message_id, message_short_hash, preview, created_at}`; deleted questions are left out. Raises
    ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        tree = branches_of(connection, conversation_id)
        query = select(_m.message_id, _m.message_short_hash, text_beginning(), _m.created_at).where(
            _m.message_id.in_([fork.message_id for fork in tree.forks]), _m.deleted_at.is_(None)
        )
        rows = connection.execute(query).mappings() if tree.forks else ()
        shown = {row["message_id"]: previewed(row) for row in rows}
    return [
        {
            "message_id": first.message_id,
            "branch_id": first.branch_id,
            "chosen": first.chosen_branch or 1,
            "branches": [
                {"number": number, **row}
                for number, fork in enumerate(tree.group(first.message_id), 1)
                if (row := shown.get(fork.message_id)) is not None
            ],
        }
        for first in tree.forks
        if first.branch_of is None
    ]


def _follow(
    connection: Connection, head: ConversationHead, tree: BranchTree, choices: Mapping[str, int]
) -> ConversationHead:
    """Store choices, and which messages are on the active path then; the conversation as it is then."""
    changed = [
        f for f in tree.forks if f.branch_of is None and choices.get(f.message_id) not in {None, f.chosen_branch}
    ]
    if not changed:
        return head
    for fork in changed:
        chosen = choices[fork.message_id]
        connection.execute(update(messages).where(_m.message_id == fork.message_id).values(chosen_branch=chosen))
    path = tree.choosing(choices).path()
    # What comes before the first changed choice stays as it is.
    first = min(fork.ordinal for fork in changed)
    behind = and_(_m.conversation_id == head.conversation_id, _m.ordinal >= first)
    on, off = _m.other_branch.is_(None), _m.other_branch.is_not(None)
    connection.execute(update(messages).where(behind, on, ~on_path(path)).values(other_branch=1))
    connection.execute(update(messages).where(behind, off, on_path(path)).values(other_branch=None))
    count = connection.execute(select(func.count()).where(live_in(head.conversation_id))).scalar_one()
    forget_summary(connection, head.conversation_id, ordinal=first)
    touch(connection, head.conversation_id, message_count=count, branch_id=path[-1].branch_id)
    for fork in changed:
        who = {"user_email": head.user_email, "conversation_id": head.conversation_id}
        fields = {"chosen_branch": choices[fork.message_id]}
        record(connection, MESSAGE, "changed", ids=[fork.message_id], fields=fields, **who)
    return replace(head, message_count=count, branch_id=path[-1].branch_id)


def on_path(path: Sequence[Stretch]) -> ColumnElement[bool]:
    """The condition that a message of the conversation is on a path."""
    return or_(*(_is_on(stretch) for stretch in path))


def _is_on(stretch: Stretch) -> ColumnElement[bool]:
    # `branch_id = NULL` would be unknown, and so would its negation: off the path must be said of every message.
    inside = (
        _m.branch_id.is_(None) if stretch.branch_id is None else func.coalesce(_m.branch_id, "") == stretch.branch_id
    )
    return inside if stretch.stop is None else and_(inside, _m.ordinal < stretch.stop)
