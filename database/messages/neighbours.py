"""Which messages stand next to each other: along a branch, whatever other branches lie between."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from sqlalchemy import ColumnElement, FromClause, func, select

from database.schema import messages

T = TypeVar("T")
_m = messages.c
_beside, _fork, _first = messages.alias("beside"), messages.alias("fork"), messages.alias("first_one")


def before_on_branch(told: Callable[[FromClause], ColumnElement[T]]) -> ColumnElement[T]:
    """What is `told` of the live message before each of `messages`, along its branch; NULL where there is none.

    What comes before a branch is what comes before the question in whose place it begins.
    """
    e, fork, first = _beside.c, _fork.c, _first.c
    nearest = select(told(_beside)).where(e.conversation_id == _m.conversation_id, e.deleted_at.is_(None))
    nearest = nearest.order_by(e.ordinal.desc()).limit(1)
    same = nearest.where(e.ordinal < _m.ordinal, e.branch_id.is_not_distinct_from(_m.branch_id))
    parent = nearest.where(
        fork.message_id == _m.branch_id,
        first.message_id == fork.branch_of,
        e.ordinal < first.ordinal,
        e.branch_id.is_not_distinct_from(first.branch_id),
    )
    return func.coalesce(*(either.correlate(messages).scalar_subquery() for either in (same, parent)))


def behind_on_branch() -> ColumnElement[int]:
    """The `seq` of the live message behind each of `messages` in its branch; NULL where there is none."""
    n = _beside.c
    following = select(n.seq).where(n.conversation_id == _m.conversation_id, n.deleted_at.is_(None))
    following = following.where(n.ordinal > _m.ordinal, n.branch_id.is_not_distinct_from(_m.branch_id))
    return following.order_by(n.ordinal).limit(1).correlate(messages).scalar_subquery()
