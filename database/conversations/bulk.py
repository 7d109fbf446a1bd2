"""Changes of many conversations, slice by slice, so that nobody waits long for the writer.

A deleted workspace is restored in this way, too: under its id, with the contents that were not moved elsewhere since.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Literal

from sqlalchemy import ColumnElement, Connection, and_, delete, func, insert, select, update

from database.changes import CONVERSATION, WORKSPACE, ChangeType, record
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import InvalidChangeError
from database.schema import conversation_workspaces, conversations, workspaces
from database.workspaces.repository import (
    RemovedWorkspace,
    access_workspace,
    default_workspace_id,
    ensure_default_workspace,
    record_created,
    require_same_domain,
    valid_color,
    valid_name,
)
from sentences import say

from .conversation import conversation_row, record_listed, select_conversations
from .repository import FLAGS
from .tags import change_tag, tidy_tags

Change = Literal["move", "flag", "tag", "untag", "pin", "unpin", "archive", "unarchive", "delete", "restore"]
Fate = Literal["done", "not_found", "conflict"]

AT_ONCE = 50
"""So many conversations are changed in one transaction."""

_c, _w, _place = conversations.c, workspaces.c, conversation_workspaces.c


def change_conversations(
    *, database: Database, user_email: str, conversation_ids: Iterable[str], change: Change, value: str | None = None
) -> dict[str, Fate]:
    """Do `change` to each conversation of the user; what became of each id, in the order given.

    `value`: the workspace of "move", the flag of "flag", the one tag of "tag" and "untag"; else None. An id that is
    missing, somebody else's, or where the change does not apply (in the bin; for "restore": temporary) is `not_found`.
    A conversation of another domain than the workspace, or with no room for another tag, is a `conflict`. What one
    slice has done stays done when a later one fails. Seven queries a slice at most. Raises InvalidChangeError (there is
    no such flag, or it can be no tag), WorkspaceNotFoundError (this user has no such workspace).
    """
    if change == "flag" and value not in FLAGS:
        raise InvalidChangeError(f"A flag is one of {', '.join(FLAGS)}.")
    if change in _OF_TAGS:
        (value,) = tidy_tags([str(value)])
    ids = list(dict.fromkeys(conversation_ids))
    fates: dict[str, Fate] = dict.fromkeys(ids, "not_found")
    for some in slices(ids):
        if change == "move":
            fates |= database.write(partial(_move, user_email=user_email, ids=some, workspace_id=str(value)))
        elif change in _OF_TAGS:
            tagging = partial(_tag, user_email=user_email, ids=some, tag=str(value), is_added=change == "tag")
            fates |= database.write(tagging)
        else:
            fates |= database.write(partial(_mark, user_email=user_email, ids=some, change=change, value=value))
    return fates


def being_answered(*, database: Database, user_email: str, conversation_ids: Sequence[str]) -> list[str]:
    """Those of the user's live conversations in which an answer is being written. One query a slice."""
    found: list[str] = []
    with database.reading() as connection:
        for some in slices(conversation_ids):
            running = and_(_own(user_email, some), _c.deleted_at.is_(None), _c.running_message_id.is_not(None))
            found += connection.execute(select(_c.conversation_id).where(running)).scalars()
    return found


def slices(ids: Sequence[str]) -> Iterator[list[str]]:
    """`ids` in portions that one transaction takes."""
    for begin in range(0, len(ids), AT_ONCE):
        yield list(ids[begin : begin + AT_ONCE])


def _mark(
    connection: Connection, *, user_email: str, ids: Sequence[str], change: Change, value: str | None
) -> dict[str, Fate]:
    if change == "restore":
        these = and_(_own(user_email, ids), _c.incomplete_since.is_(None), _c.expires_at.is_(None))
    else:
        these = and_(_own(user_email, ids), _c.deleted_at.is_(None))
    rows = connection.execute(select(_c.conversation_id, _c.deleted_at).where(these)).all()
    found = [row.conversation_id for row in rows]
    values = {**_values(change, value), "version": _c.version + 1}
    connection.execute(update(conversations).where(these).values(values))
    told, fields = _TOLD[change]
    if fields is None:
        # Nobody has to be told of what was in no bin.
        changed = [row.conversation_id for row in rows if change != "restore" or row.deleted_at is not None]
        listed = connection.execute(select_conversations().where(_own(user_email, changed)))
        record_listed(connection, map(conversation_row, listed), told)
    else:
        fields = {"flag": value} if change == "flag" else fields
        record(connection, CONVERSATION, told, user_email=user_email, ids=found, fields=fields)
    return dict.fromkeys(found, "done")


# None: all that lists show, since who was not shown these conversations knows nothing of them.
_TOLD: Mapping[Change, tuple[ChangeType, Mapping[str, Any] | None]] = {
    "flag": ("changed", {}),
    "pin": ("changed", {"pinned": True}),
    "unpin": ("changed", {"pinned": False}),
    "archive": ("changed", {"archived": True}),
    "unarchive": ("changed", None),
    "delete": ("gone", {}),
    "restore": ("created", None),
}


def _values(change: Change, value: str | None) -> dict[str, Any]:
    columns: dict[Change, dict[str, Any]] = {
        "flag": {"flag": value},
        # What is pinned already keeps the time of its pin.
        "pin": {"pinned_at": func.coalesce(_c.pinned_at, now_iso())},
        "unpin": {"pinned_at": None},
        "archive": {"archived": 1},
        "unarchive": {"archived": 0},
        "delete": {"deleted_at": now_iso()},
        "restore": {"deleted_at": None},
    }
    return columns[change]


_OF_TAGS: frozenset[Change] = frozenset({"tag", "untag"})


def _tag(connection: Connection, *, user_email: str, ids: Sequence[str], tag: str, is_added: bool) -> dict[str, Fate]:
    these = and_(_own(user_email, ids), _c.deleted_at.is_(None))
    found = connection.execute(select(_c.conversation_id).where(these)).scalars().all()
    full = change_tag(connection, found, tag, user_email=user_email, is_added=is_added)
    fates: dict[str, Fate] = dict.fromkeys(found, "done")
    return fates | dict.fromkeys(full, "conflict")


def _move(connection: Connection, *, user_email: str, ids: Sequence[str], workspace_id: str) -> dict[str, Fate]:
    domain = access_workspace(connection, user_email=user_email, workspace_id=workspace_id).domain
    these = and_(_own(user_email, ids), _c.deleted_at.is_(None))
    domains = {
        row.conversation_id: row.domain
        for row in connection.execute(select(_c.conversation_id, _c.domain).where(these))
    }
    moving = [conversation_id for conversation_id, its_domain in domains.items() if its_domain == domain]
    fates: dict[str, Fate] = dict.fromkeys(domains, "conflict")
    if moving:
        place(connection, moving, user_email=user_email, workspace_id=workspace_id)
    return fates | dict.fromkeys(moving, "done")


def place(connection: Connection, ids: Sequence[str], *, user_email: str, workspace_id: str) -> None:
    """Put conversations of the user, all of the workspace's domain, into it."""
    connection.execute(delete(conversation_workspaces).where(conversation_workspaces.c.conversation_id.in_(ids)))
    places = [{"conversation_id": each, "user_email": user_email, "workspace_id": workspace_id} for each in ids]
    connection.execute(insert(conversation_workspaces), places)
    connection.execute(update(conversations).where(_own(user_email, ids)).values(version=_c.version + 1))
    record(connection, CONVERSATION, "changed", user_email=user_email, ids=ids, fields={"workspace_id": workspace_id})


def _own(user_email: str, ids: Sequence[str]) -> ColumnElement[bool]:
    return and_(_c.user_email == user_email, _c.conversation_id.in_(ids))


def restore_workspace(*, database: Database, user_email: str, domain: str, removed: RemovedWorkspace) -> None:
    """Undo `deleteWorkspace`, which returned `removed`. Repeating it changes nothing.

    Conversations and workspaces that were moved meanwhile stay where they are. If the parent is gone too, the
    workspace is restored at the top. Raises InvalidChangeError (the name or colour can't be one, or the id is a default
    workspace's, or that of a workspace in another domain).
    """
    if removed["workspace_id"].startswith(default_workspace_id(user_email, "")):
        raise InvalidChangeError(say("default_workspace_not_deleted"))
    new_parent = database.write(partial(_restore, removed=removed, user_email=user_email, domain=domain))
    taking = partial(_take_back, user_email=user_email, workspace_id=removed["workspace_id"], new_parent=new_parent)
    for some in slices(removed["conversation_ids"]):
        database.write(partial(taking, ids=some))


def _restore(connection: Connection, removed: RemovedWorkspace, *, user_email: str, domain: str) -> str:
    """Restore the workspace and its child workspaces; the id of the workspace that had taken its contents over."""
    workspace_id, parent = removed["workspace_id"], removed["parent_workspace_id"]
    default = ensure_default_workspace(connection, user_email=user_email, domain=domain)
    query = select(_w.workspace_id, _w.domain).where(_w.user_email == user_email)
    domains = {row.workspace_id: row.domain for row in connection.execute(query)}
    parent = parent if domains.get(str(parent)) == domain else None
    new_parent = parent or default
    if workspace_id in domains:
        require_same_domain(domains[workspace_id], domain)
        return new_parent
    moment = now_iso()
    values = {
        "user_email": user_email,
        "workspace_id": workspace_id,
        "workspace_name": valid_name(removed["workspace_name"]),
        "workspace_color": valid_color(removed["workspace_color"]),
        "domain": domain,
        "expanded": int(removed["expanded"]),
        "parent_workspace_id": parent,
        "created_at": moment,
        "updated_at": moment,
    }
    connection.execute(insert(workspaces).values(values))
    children = and_(
        _w.user_email == user_email, _w.parent_workspace_id == new_parent, _w.workspace_id.in_(removed["workspace_ids"])
    )
    taken_back = update(workspaces).where(children).values(parent_workspace_id=workspace_id).returning(_w.workspace_id)
    ids = connection.execute(taken_back).scalars().all()
    record_created(connection, access_workspace(connection, user_email=user_email, workspace_id=workspace_id))
    moved = {"parent_workspace_id": workspace_id}
    record(connection, WORKSPACE, "changed", user_email=user_email, ids=ids, fields=moved)
    return new_parent


def _take_back(
    connection: Connection, ids: Sequence[str], *, user_email: str, workspace_id: str, new_parent: str
) -> None:
    still_there = and_(
        _place.user_email == user_email, _place.workspace_id == new_parent, _place.conversation_id.in_(ids)
    )
    found = connection.execute(select(_place.conversation_id).where(still_there)).scalars().all()
    if found:
        place(connection, found, user_email=user_email, workspace_id=workspace_id)
