"""Branches: a question that is asked again, in other words, begins a branch beside the first one and what followed it.

Every message lies in one branch: the first one (`branch_id` is None), or the branch that begins with the question whose
id is `branch_id`. Questions of a group are alternatives to each other: the first one, and those whose `branch_of` names
it. The first one remembers which of the group is chosen. The choices of all groups make the active path; the messages
beside it have `other_branch` set. On any path messages are ordered by `ordinal`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from sqlalchemy import Connection, and_, func, select, update

from database.changes import MESSAGE, record
from database.conversations.conversation import ConversationHead, access_head, touch
from database.engine.database import Database
from database.engine.errors import BranchNotFoundError, InvalidChangeError, MessageNotFoundError, TurnInProgressError
from database.messages.branch_tree import (
    BranchTree,
    Fork,
    branches_of,
    is_branched,
    last_ones_of,
    on_path,
    stand_ins_of,
)
from database.messages.message import MessageRow, live_in, previewed, row_with_id, rows_where, text_beginning
from database.schema import messages
from sentences import say

from .reading import access_message
from .summary import forget_summary

_m = messages.c


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
    """Let the active path go by alternative `number` to a question, from 1 on among those of which something is left.

    message_id: any of the alternatives, also a deleted one, or the message that lists show the alternatives with.
    Raises MessageNotFoundError, BranchNotFoundError, TurnInProgressError.
    """

    def choose(connection: Connection) -> None:
        message = _access_fork(connection, user_email=user_email, message_id=message_id)
        head = access_head(connection, user_email=user_email, conversation_id=message.conversation_id)
        tree = branches_of(connection, head.conversation_id)
        question = message_id
        if not tree.group(message_id):
            question = stand_ins_of(connection, tree, head.conversation_id).get(message.ordinal, message_id)
        group = tree.alternatives(question, last_ones_of(connection, tree, head.conversation_id))
        if not 1 <= number <= len(group):
            raise BranchNotFoundError
        _choose(connection, head, tree, group[number - 1].branch_id, group[number - 1].ordinal)

    database.write(choose)


def choose_branch_with(*, database: Database, user_email: str, message_id: str) -> None:
    """Let the active path lead to a message, wherever it lies. Raises MessageNotFoundError, TurnInProgressError."""

    def choose(connection: Connection) -> None:
        message = access_message(connection, user_email=user_email, message_id=message_id)
        head = access_head(connection, user_email=user_email, conversation_id=message.conversation_id)
        tree = branches_of(connection, head.conversation_id)
        _choose(connection, head, tree, message.branch_id, message.ordinal)

    database.write(choose)


def _access_fork(connection: Connection, *, user_email: str, message_id: str) -> MessageRow:
    """A live message of this user, or a deleted question with alternatives. Raises MessageNotFoundError."""
    found = rows_where(connection, (_m.message_id == message_id) & (_m.user_email == user_email))
    if not found or found[0].deleted_at is None or not (found[0].branch_of or found[0].chosen_branch):
        return access_message(connection, user_email=user_email, message_id=message_id)
    return found[0]


def _choose(
    connection: Connection, head: ConversationHead, tree: BranchTree, branch_id: str | None, ordinal: int
) -> None:
    if head.running_message_id is not None:
        raise TurnInProgressError
    _follow(connection, head, tree, tree.choices_to(branch_id, ordinal))


def leave_what_is_gone(connection: Connection, head: ConversationHead) -> None:
    """After a deletion: where nothing is left of the chosen one of several alternatives, go by another one.

    The nearest one that was asked before it, else behind it. Nothing happens while a turn runs: it is on the path.
    """
    if head.running_message_id is not None or not is_branched(connection, head.conversation_id):
        return
    tree = branches_of(connection, head.conversation_id)
    last_ones = last_ones_of(connection, tree, head.conversation_id)
    last = connection.execute(select(func.max(_m.ordinal)).where(live_in(head.conversation_id))).scalar()
    for fork in reversed(tree.chosen()):
        if last is not None and last >= fork.ordinal:
            return
        group = list(tree.group(fork.message_id))
        left = [group.index(other) for other in tree.alternatives(fork.message_id, last_ones) if other != fork]
        if left:
            place = group.index(fork)
            nearest = max((each for each in left if each < place), default=left[0])
            _follow(connection, head, tree, {group[0].message_id: nearest + 1})
            return


def return_to(connection: Connection, head: ConversationHead, message: MessageRow) -> bool:
    """Before a deleted message is restored: go back where its branch was left because nothing was left of it.

    Whether the path is another one now.
    """
    if message.other_branch is None or head.running_message_id is not None:
        return False
    tree = branches_of(connection, head.conversation_id)
    last_ones = last_ones_of(connection, tree, head.conversation_id)
    choices = tree.choices_to(message.branch_id, message.ordinal)
    for first in tree.forks:
        number = choices.get(first.message_id)
        if number is None or number == (first.chosen_branch or 1):
            continue
        if tree.group(first.message_id)[number - 1] not in tree.alternatives(first.message_id, last_ones):
            _follow(connection, head, tree, choices)
            return True
    return False


def list_branches(*, database: Database, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The questions of a conversation that were asked again, in the order of their first ones.

    Each: `{message_id (of the first one), branch_id (where it lies), chosen, branches}`; each of `branches`: `{number,
    message_id, message_short_hash, preview, created_at}`. A deleted question is one of them as long as anything is left
    of what followed it; its preview is that of the first message that is left there. chosen: 0 where nothing is left
    of the chosen one. Raises ConversationNotFoundError.
    """
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        tree = branches_of(connection, conversation_id)
        last_ones = last_ones_of(connection, tree, conversation_id)
        shown = _previews(connection, tree)
    listed = []
    for first in tree.forks:
        group = tree.alternatives(first.message_id, last_ones) if first.branch_of is None else []
        if group:
            chosen = first.chosen_branch or 1
            gone_by = [fork for fork in tree.group(first.message_id)[chosen - 1 : chosen] if fork in group]
            listed.append(
                {
                    "message_id": first.message_id,
                    "branch_id": first.branch_id,
                    "chosen": group.index(gone_by[0]) + 1 if gone_by else 0,
                    "branches": [{"number": number, **shown[fork.message_id]} for number, fork in enumerate(group, 1)],
                }
            )
    return listed


def _previews(connection: Connection, tree: BranchTree) -> dict[str, dict[str, Any]]:
    """What lists show of each question of the tree, by its message_id."""
    if not tree.forks:
        return {}
    query = select(_m.message_id, _m.message_short_hash, text_beginning(), _m.created_at)
    asked = connection.execute(query.where(_m.message_id.in_([fork.message_id for fork in tree.forks])))
    shown = {row["message_id"]: previewed(row) for row in asked.mappings()}
    conversation_id = select(_m.conversation_id).where(_m.message_id == tree.forks[0].message_id).scalar_subquery()
    for fork in tree.forks:
        if fork.deleted_at is not None:
            branch_id = fork.message_id if fork.branch_of else fork.branch_id
            here = _m.branch_id.is_(None) if branch_id is None else _m.branch_id == branch_id
            left = (
                (_m.conversation_id == conversation_id) & _m.deleted_at.is_(None) & here & (_m.ordinal > fork.ordinal)
            )
            first_left = connection.execute(query.where(left).order_by(_m.ordinal).limit(1)).mappings().first()
            # What was deleted is shown nowhere.
            shown[fork.message_id]["preview"] = previewed(first_left)["preview"] if first_left else ""
    return shown


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
