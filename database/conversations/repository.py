"""Conversations of a user: create, find, change, flag, pin, move, delete, restore."""

from __future__ import annotations

import hashlib
import secrets
import string
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import orjson
from sqlalchemy import ColumnElement, Connection, and_, delete, insert, select, update
from sqlalchemy.exc import IntegrityError

from conversation_reference_utils import is_friendly_id
from database.changes import CONVERSATION, record
from database.engine.clock import iso_in, now_iso
from database.engine.database import Database
from database.engine.errors import (
    ConflictError,
    ConversationNotFoundError,
    FriendlyIdTakenError,
    InvalidChangeError,
    WorkspaceNotFoundError,
)
from database.engine.statements import insert_rows
from database.schema import conversation_aliases, conversation_workspaces, conversations, workspaces
from database.search.vectors import renew_vectors_of_title
from database.workspaces.repository import default_workspace_id, ensure_default_workspace
from sentences import say

from .conversation import ConversationRow, asked_for_live, conversation_row, record_listed, select_conversations
from .friendly_ids import add_alias

_FLAGS = frozenset({"title_force_set", "archived", "stateless"})
CHANGEABLE = _FLAGS | {"title", "flag", "settings", "memory", "running_summary", "summarised_ordinal"}
_LISTED = {name: name for name in ("title", "flag", "archived", "stateless")} | {"settings": "conversation_settings"}
"""What lists show of the changeable columns, and by which name."""
SETTINGS_CHARS = 16_384
"""Characters of a conversation's settings as JSON."""
_TOLD_SETTINGS_BYTES = 2_048
_ALPHANUMERIC = string.ascii_letters + string.digits
_ID_LENGTH = 36


def new_conversation_id(user_email: str, *, client_id: str | None = None) -> str:
    """An id for a new conversation: the e-mail address, "_" and 36 letters and digits.

    They are random, and derived from `client_id` where a client gave one: asked again, the client gets the same id.
    """
    if client_id is not None:
        unique = hashlib.sha256(f"{user_email}\n{client_id}".encode()).hexdigest()[:_ID_LENGTH]
    else:
        unique = "".join(secrets.choice(_ALPHANUMERIC) for _ in range(_ID_LENGTH))
    return f"{user_email}_{unique}"


def create_conversation(
    *,
    database: Database,
    user_email: str,
    domain: str,
    workspace_id: str | None = None,
    title: str = "",
    client_id: str | None = None,
) -> ConversationRow:
    """A new, empty conversation in `workspace_id`, or in the default workspace of `domain`.

    client_id: unique among the user's conversations; the conversation that was created under it before is returned.
    Raises WorkspaceNotFoundError (this user has no such workspace), InvalidChangeError (the workspace belongs to
    another domain), ConflictError (the conversation of this client_id is of another domain, or was deleted).
    """
    values = {"user_email": user_email, "domain": domain, "title": title}

    def job(connection: Connection) -> ConversationRow:
        return _create(connection, values, workspace_id=workspace_id, client_id=client_id)

    return database.write(job)


def _create(
    connection: Connection, values: Mapping[str, Any], *, workspace_id: str | None, client_id: str | None
) -> ConversationRow:
    user_email = values["user_email"]
    conversation_id = new_conversation_id(user_email, client_id=client_id)
    if client_id is not None:
        created = created_before(connection, user_email, conversation_id, domain=values["domain"])
        if created is not None:
            return created
    insert_conversation(connection, {**values, "conversation_id": conversation_id}, workspace_id=workspace_id)
    return _created(connection, user_email=user_email, conversation_id=conversation_id)


def _created(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationRow:
    row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
    record_listed(connection, [row])
    return row


def created_before(
    connection: Connection, user_email: str, conversation_id: str, *, domain: str
) -> ConversationRow | None:
    """The conversation with this id, if there is one. Raises ConflictError where it is not what is asked for."""
    columns = (conversations.c.domain, conversations.c.deleted_at, conversations.c.incomplete_since)
    found = connection.execute(select(*columns).where(_own(user_email, conversation_id))).one_or_none()
    if found is None:
        return None
    if found.incomplete_since is not None:
        raise ConflictError(say("copy_still_made"))
    if found.domain != domain or found.deleted_at is not None:
        raise ConflictError(
            "This client_id belongs to a conversation of another domain, or to one that was deleted. "
            "Create this one under an id of its own."
        )
    return read_live(connection, user_email=user_email, conversation_id=conversation_id)


def insert_conversation(
    connection: Connection, values: Mapping[str, Any], *, workspace_id: str | None, is_checked: bool = False
) -> None:
    """Store a conversation (`values`: columns; times, settings and memory may be left out) and put it in its workspace.

    is_checked: this transaction knows already that the conversation may lie in `workspace_id`.
    Raises WorkspaceNotFoundError and InvalidChangeError as `create_conversation` does.
    """
    insert_conversations(connection, [(values, workspace_id)], is_checked=is_checked)


def insert_conversations(
    connection: Connection, new: Sequence[tuple[Mapping[str, Any], str | None]], *, is_checked: bool = False
) -> None:
    """`insert_conversation` for several with the same columns: the values of each, and its workspace."""
    moment = now_iso()
    defaults = {"created_at": moment, "updated_at": moment, "settings": {}, "memory": {}}
    insert_rows(connection, conversations, [{**defaults, **values} for values, _ in new])
    checked = dict[tuple[str, str, str | None], str]()
    lie = list[dict[str, Any]]()
    for values, workspace_id in new:
        wanted = values["user_email"], values["domain"], workspace_id
        place = checked.get(wanted) or (workspace_id if is_checked else None)
        if place is None:
            user_email, domain, _ = wanted
            place = workspace_for(connection, user_email=user_email, domain=domain, workspace_id=workspace_id)
        checked[wanted] = place
        own = {"conversation_id": values["conversation_id"], "user_email": values["user_email"]}
        lie.append({**own, "workspace_id": place})
    insert_rows(connection, conversation_workspaces, lie)


def workspace_for(connection: Connection, *, user_email: str, domain: str, workspace_id: str | None) -> str:
    """The workspace of the user that a conversation of `domain` may lie in; None is the default one.

    Raises WorkspaceNotFoundError (this user has no such workspace), InvalidChangeError (it belongs to another domain).
    """
    if workspace_id is None or workspace_id == default_workspace_id(user_email, domain):
        return ensure_default_workspace(connection, user_email=user_email, domain=domain)
    query = select(workspaces.c.domain).where(
        workspaces.c.user_email == user_email, workspaces.c.workspace_id == workspace_id
    )
    found = connection.execute(query).scalar()
    if found is None:
        raise WorkspaceNotFoundError
    if found != domain:
        raise InvalidChangeError(say("workspace_other_domain"))
    return workspace_id


def get_conversation(*, database: Database, user_email: str, conversation_id: str) -> ConversationRow:
    """One live conversation of this user.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin; the error does not say which).
    """
    with database.reading() as connection:
        return read_live(connection, user_email=user_email, conversation_id=conversation_id)


def read_live(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationRow:
    """`get_conversation` inside a transaction of the caller."""
    return asked_for_live(connection, user_email=user_email, conversation_id=conversation_id)()


def update_conversation(
    *, database: Database, user_email: str, conversation_id: str, changes: Mapping[str, Any]
) -> None:
    """Set columns named in `CHANGEABLE`. The place in the list stays: only turns count as activity.

    Raises ValueError (`changes` names anything else), ConversationNotFoundError (missing, somebody else's, or in the
    bin).
    """
    unknown = changes.keys() - CHANGEABLE
    if unknown:
        raise ValueError(f"a conversation has no changeable {', '.join(sorted(unknown))}")
    values = {name: int(value) if name in _FLAGS else value for name, value in changes.items()}
    fields = {_LISTED[name]: value for name, value in changes.items() if name in _LISTED}

    def job(connection: Connection) -> None:
        _update(connection, _live(user_email, conversation_id), values)
        if "title" in changes:
            renew_vectors_of_title(connection, conversation_id)
        if fields.get("archived") is False:
            row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
            record_listed(connection, [row], "changed")
        elif fields:
            record_changed(connection, user_email, conversation_id, fields)

    database.write(job)


def change_settings(
    *, database: Database, user_email: str, conversation_id: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """Set single settings of a conversation, remove those that are None in `changes`; returns all of them.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin), InvalidChangeError (all settings
    together are longer than `SETTINGS_CHARS`).
    """
    return database.write(lambda connection: change_settings_in(connection, user_email, conversation_id, changes))


def change_settings_in(
    connection: Connection, user_email: str, conversation_id: str, changes: Mapping[str, Any]
) -> dict[str, Any]:
    """`change_settings` in a transaction that has begun."""
    before = read_live(connection, user_email=user_email, conversation_id=conversation_id).settings
    settings = {name: value for name, value in {**before, **changes}.items() if value is not None}
    if settings == before:
        return before
    if len(orjson.dumps(settings).decode()) > SETTINGS_CHARS:
        raise InvalidChangeError(say("settings_too_long", most=SETTINGS_CHARS))
    _update(connection, _live(user_email, conversation_id), {"settings": settings})
    record_changed(connection, user_email, conversation_id, {"conversation_settings": settings})
    return settings


def move_conversation(*, database: Database, user_email: str, conversation_id: str, workspace_id: str) -> None:
    """Put a conversation into another workspace of the same domain.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin), WorkspaceNotFoundError (this user has no
    such workspace), InvalidChangeError (the workspace belongs to another domain).
    """

    def job(connection: Connection) -> None:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        place = workspace_for(connection, user_email=user_email, domain=row.domain, workspace_id=workspace_id)
        old = conversation_workspaces.c.conversation_id == conversation_id
        connection.execute(delete(conversation_workspaces).where(old))
        connection.execute(
            insert(conversation_workspaces).values(
                conversation_id=conversation_id, user_email=user_email, workspace_id=place
            )
        )
        _update(connection, _live(user_email, conversation_id), {})
        record_changed(connection, user_email, conversation_id, {"workspace_id": place})

    database.write(job)


def delete_conversation(*, database: Database, user_email: str, conversation_id: str) -> None:
    """Move a conversation to the bin, from where `restore_conversation` restores it unchanged.

    A temporary conversation is hidden at once and erased by the next purge. Raises ConversationNotFoundError (missing,
    somebody else's, or in the bin already).
    """

    def job(connection: Connection) -> None:
        _update(connection, _live(user_email, conversation_id), {"deleted_at": now_iso()})
        record(connection, CONVERSATION, "gone", user_email=user_email, ids=[conversation_id])

    database.write(job)


def restore_conversation(*, database: Database, user_email: str, conversation_id: str) -> None:
    """Restore a conversation from the bin; one that is not in the bin stays as it is.

    Raises ConversationNotFoundError (missing, somebody else's, or a temporary one, which never gets into the bin).
    """
    c = conversations.c
    own = and_(_own(user_email, conversation_id), c.incomplete_since.is_(None), c.expires_at.is_(None))

    def job(connection: Connection) -> None:
        _update(connection, own, {"deleted_at": None})
        _created(connection, user_email=user_email, conversation_id=conversation_id)

    database.write(job)


def add_conversation(
    *,
    user_email: str,
    database: Database,
    conversation_id: str,
    workspace_id: str | None = None,
    domain: str | None = None,
) -> None:
    """Store a conversation under an id that the caller made; an existing one stays as it is.

    Raises WorkspaceNotFoundError (this user has no such workspace), InvalidChangeError (the workspace belongs to
    another domain, or the id is not one of this user's).
    """
    require_own_id(conversation_id, user_email=user_email)
    values = {"conversation_id": conversation_id, "user_email": user_email, "domain": domain or "assistant"}

    def job(connection: Connection) -> None:
        query = select(conversations.c.user_email).where(conversations.c.conversation_id == conversation_id)
        if connection.execute(query).first() is None:
            insert_conversation(connection, values, workspace_id=workspace_id)
            _created(connection, user_email=user_email, conversation_id=conversation_id)

    database.write(job)


def require_own_id(conversation_id: str, *, user_email: str) -> None:
    """Raise InvalidChangeError for the id of a conversation that can't be one of this user's."""
    if not conversation_id.startswith(f"{user_email}_"):
        raise InvalidChangeError("The id of a conversation begins with its owner's e-mail address.")


def get_conversations_for_user(
    *, user_email: str, database: Database, domain: str = "assistant"
) -> list[ConversationRow]:
    """All live conversations of the user in `domain`, archived ones too, newest first, with all columns."""
    c = conversations.c
    query = (
        select_conversations()
        .where(c.user_email == user_email, c.domain == domain, c.deleted_at.is_(None))
        .order_by(c.updated_at.desc(), c.conversation_id.desc())
    )
    with database.reading() as connection:
        return [conversation_row(row) for row in connection.execute(query)]


def set_friendly_id(
    *, database: Database, user_email: str, conversation_id: str, conversation_friendly_id: str
) -> None:
    """Give a live conversation exactly this friendly id; one that it had goes on leading to it.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin), FriendlyIdTakenError (another
    conversation of this user has it), InvalidChangeError (no reference could name it).
    """
    if not is_friendly_id(conversation_friendly_id):
        raise InvalidChangeError(say("malformed_id"))
    changes = {"conversation_friendly_id": conversation_friendly_id}
    former = select(conversations.c.conversation_friendly_id).where(_live(user_email, conversation_id))

    def job(connection: Connection) -> None:
        had = connection.execute(former).scalar()
        _update(connection, _live(user_email, conversation_id), changes)
        if had is not None and had != conversation_friendly_id:
            add_alias(connection, had, conversation_id, user_email=user_email)
        record_changed(connection, user_email, conversation_id, changes)

    try:
        database.write(job)
    except IntegrityError as error:
        raise FriendlyIdTakenError(say("conversation_id_taken")) from error


def find_by_friendly_id(*, database: Database, user_email: str, conversation_friendly_id: str) -> str | None:
    """The id of the user's live conversation of this friendly id, or else of this alias, if there is one."""
    c, alias = conversations.c, conversation_aliases.c
    live = select(c.conversation_id).where(c.user_email == user_email, c.deleted_at.is_(None))
    aliased = live.join(conversation_aliases, alias.conversation_id == c.conversation_id).where(
        alias.user_email == user_email, alias.alias == conversation_friendly_id
    )
    with database.reading() as connection:
        found = connection.execute(live.where(c.conversation_friendly_id == conversation_friendly_id)).scalar()
        return connection.execute(aliased).scalar() if found is None else found


def friendly_id_exists(*, database: Database, user_email: str, conversation_friendly_id: str) -> bool:
    """Whether a conversation of this user, in the bin or not, holds this friendly id."""
    c = conversations.c
    query = select(c.conversation_id).where(
        c.user_email == user_email, c.conversation_friendly_id == conversation_friendly_id
    )
    with database.reading() as connection:
        return connection.execute(query).first() is not None


def _own(user_email: str, conversation_id: str) -> ColumnElement[bool]:
    return and_(conversations.c.user_email == user_email, conversations.c.conversation_id == conversation_id)


def _live(user_email: str, conversation_id: str) -> ColumnElement[bool]:
    return and_(_own(user_email, conversation_id), conversations.c.deleted_at.is_(None))


def _update(connection: Connection, which: ColumnElement[bool], values: Mapping[str, Any]) -> None:
    changed = update(conversations).where(which).values(**values, version=conversations.c.version + 1)
    if connection.execute(changed).rowcount == 0:
        raise ConversationNotFoundError


def record_changed(connection: Connection, user_email: str, conversation_id: str, fields: Mapping[str, Any]) -> None:
    """Tell open pages of changed fields of a conversation; long settings they fetch."""
    settings = fields.get("conversation_settings")
    if settings and len(orjson.dumps(settings)) > _TOLD_SETTINGS_BYTES:
        fields = {**fields, "conversation_settings": None}
    record(connection, CONVERSATION, "changed", user_email=user_email, ids=[conversation_id], fields=fields)


FLAGS = ("none", "red", "orange", "yellow", "green", "blue", "purple")


def set_flag(*, database: Database, user_email: str, conversation_id: str, flag: str) -> None:
    """Give a conversation one of `FLAGS`.

    Raises InvalidChangeError (there is no such flag), ConversationNotFoundError (missing, somebody else's, or in the
    bin).
    """
    if flag not in FLAGS:
        raise InvalidChangeError(f"A flag is one of {', '.join(FLAGS)}.")
    own: dict[str, Any] = {"database": database, "user_email": user_email, "conversation_id": conversation_id}
    update_conversation(**own, changes={"flag": flag})


def set_pinned(*, database: Database, user_email: str, conversation_id: str, pinned: bool) -> None:
    """Pin a conversation, or take its pin away; one that is pinned already keeps the time of its pin.

    Raises ConversationNotFoundError (missing, somebody else's, or in the bin).
    """

    def job(connection: Connection) -> None:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        if (row.pinned_at is not None) == pinned:
            return
        values = {"pinned_at": now_iso() if pinned else None}
        _update(connection, _live(user_email, conversation_id), values)
        record_changed(connection, user_email, conversation_id, {"pinned": pinned})

    database.write(job)


FIELD = "pinned_claim_ids"
MOST_PINNED = 200


def pin_claim(*, database: Database, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Pin a claim to a conversation; returns all pinned ids, the newest last.

    Raises ConversationNotFoundError, and InvalidChangeError for more than 200.
    """

    def pinned(ids: list[str]) -> list[str]:
        others = [other for other in ids if other != claim_id]
        if len(others) >= MOST_PINNED:
            raise InvalidChangeError(say("most_pinned", most=MOST_PINNED))
        return [*others, claim_id]

    return _changed(database, user_email, conversation_id, pinned)


def unpin_claim(*, database: Database, user_email: str, conversation_id: str, claim_id: str) -> list[str]:
    """Take a pinned claim off a conversation; returns those that stay. Raises ConversationNotFoundError."""
    return _changed(database, user_email, conversation_id, lambda ids: [other for other in ids if other != claim_id])


def _changed(
    database: Database, user_email: str, conversation_id: str, change: Callable[[list[str]], list[str]]
) -> list[str]:
    def job(connection: Connection) -> list[str]:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        before = row.memory.get(FIELD, [])
        ids = change(before)
        if ids == before:
            return ids
        _update(connection, _live(user_email, conversation_id), {"memory": {**row.memory, FIELD: ids}})
        record_changed(connection, user_email, conversation_id, {FIELD: ids})
        return ids

    return database.write(job)


_HOURS = 24


def create_temporary_conversation(
    *, database: Database, user_email: str, domain: str, client_id: str | None = None
) -> ConversationRow:
    """A new, empty conversation that ends when it is deleted, or else in 24 hours.

    client_id: as `create_conversation` takes it. Raises ConflictError as `create_conversation` does.
    """
    values = {"user_email": user_email, "domain": domain, "expires_at": iso_in(hours=_HOURS)}
    return database.write(lambda connection: _create(connection, values, workspace_id=None, client_id=client_id))
