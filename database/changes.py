"""Changes: one row for each event of a person's things, written in the transaction that makes the change.

`GET /events` streams them to the person's other tabs, devices and programs (`chat.runtime.changes`). `seq` counts the
changes of one person from 1 on, within one epoch: a store restored from a backup begins another one, and so does an
account that is made again under the address of an erased one. Rows are kept for `KEPT_DAYS`; no row holds what a
message or a memory says.
"""

from __future__ import annotations

import secrets
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from sqlalchemy import Connection, Text, bindparam, column, delete, func, insert, select, update, values

from database.engine.clock import iso_in, now_iso
from database.engine.database import RECORDED, Database, Urgency
from database.engine.statements import Prepared
from database.schema import change_epoch, changes, users

KEPT_DAYS = 7
_ROWS_AT_ONCE = 500
_NO_FIELDS: Mapping[str, Any] = MappingProxyType({})

ChangeType = Literal["created", "changed", "gone"]

_c = changes.c
_NEXT = select(func.coalesce(func.max(_c.seq), 0) + 1).where(_c.user_email == bindparam("user_email")).scalar_subquery()
_INSERT = Prepared(
    insert(changes)
    .inline()
    .values(
        {name: bindparam(name) for name in ("user_email", "kind", "change", "id", "conversation_id", "fields", "at")}
        | {"seq": _NEXT}
    )
)
_AFTER = Prepared(
    select(_c.seq, _c.kind, _c.change, _c.id, _c.conversation_id, _c.fields, _c.at)
    .where(_c.user_email == bindparam("owner"), _c.seq > bindparam("after"))
    .order_by(_c.seq)
    .limit(bindparam("most"))
)
_OLDEST = Prepared(select(func.min(_c.seq)).where(_c.user_email == bindparam("owner")))
_NEWEST = Prepared(select(func.max(_c.seq)).where(_c.user_email == bindparam("owner")))
_ACCOUNT = select(users.c.user_id).where(users.c.user_email == bindparam("owner")).scalar_subquery()
_STORE = select(change_epoch.c.epoch).where(change_epoch.c.id == 1).scalar_subquery()
_EPOCH_OF_PERSON = func.coalesce(_STORE, "") + "-" + func.coalesce(_ACCOUNT, "")
_SEEN = Prepared(
    select(
        _EPOCH_OF_PERSON,
        select(func.max(_c.seq)).where(_c.user_email == bindparam("owner")).scalar_subquery(),
    )
)
_CHANGED = Prepared(
    select(_c.id)
    .where(_c.user_email == bindparam("owner"), _c.seq > bindparam("after"), _c.kind == bindparam("kind"))
    .distinct()
)
_EPOCH = Prepared(select(_EPOCH_OF_PERSON))


@dataclass(frozen=True, slots=True)
class ChangeKind:
    """A kind of thing whose changes are recorded. `fields`: what the rows of this kind hold, for the documentation."""

    name: str
    fields: str


KINDS: dict[str, ChangeKind] = {}
"""All kinds, by name."""


def change_kind(name: str, *, fields: str) -> ChangeKind:
    """Register a further kind. Raises ValueError where the name is taken."""
    if name in KINDS:
        raise ValueError(f"there is a kind of changes named {name} already")
    KINDS[name] = ChangeKind(name, fields)
    return KINDS[name]


CONVERSATION = change_kind(
    "conversation",
    fields="the changed ones of `title`, `conversation_friendly_id`, `domain`, `workspace_id`, `flag`, `archived`, "
    "`stateless`, `temporary`, `pinned`, `tags`, `conversation_settings` (null where they are long: load them), "
    "`pinned_claim_ids`; all that lists show, with `last_updated`, `updated_at` and `message_count`, when it is "
    "created, restored or taken out of the archive; `erased` when a deleted one is erased for good",
)
WORKSPACE = change_kind(
    "workspace",
    fields="the changed ones of `workspace_name`, `workspace_color`, `domain`, `expanded`, `parent_workspace_id`; "
    "`moved_to` (where its contents went) when it is gone",
)
TURN = change_kind(
    "turn",
    fields="`status` of the answer, whose message id is the `id`; when the turn begins, `user_message_id` and the "
    "`message_count` of the conversation. A turn that begins is `created`, one that ends is `changed`",
)
MESSAGE = change_kind(
    "message",
    fields="the changed ones of `edited_at`, `show_hide`, `pinned`, `chosen_variant`, `chosen_branch`; `moved`",
)
ACTIVITY = change_kind(
    "activity",
    fields="`recipe`, `type`, `short_id`, `reply_to_id` and `thread_id` of an activity that was posted. A message that "
    "was posted is a change of the kind `message`, too. One that was moved is `gone` from the conversation that it "
    "left (`moved_to` names the other one) and `changed` where it is now (`moved_from`)",
)
THREAD = change_kind("thread", fields="`title`, when it was renamed")
MEMORY = change_kind(
    "memory",
    fields="`audit_id`, `object_type` and `action`, as in `GET /pkb/audit`; `claim_ids` of the claims that it touched, "
    "empty where there are more than 20",
)
JOB = change_kind("job", fields="`kind`, `status` (`waiting`, `done`, `failed`), `done`, `total`")
IMPORT = change_kind(
    "import",
    fields="`state`, `done`, `total` (messages; null while the file is not counted), `imported`, `updated`, `skipped`, "
    "`failed`",
)
PRESET = change_kind("preset", fields="`name`")
PROMPT = change_kind("prompt", fields="`name`")
AGENT = change_kind("agent", fields="`title`, `slug`")
INBOX = change_kind(
    "inbox",
    fields="`activity_id` and `state` (`pending`, `done`, `failed`) of an item of an agent's inbox; the `id` is the "
    "agent's",
)
DOCUMENT = change_kind(
    "document",
    fields="`title` and `version`, when it was written; the `id` is its path. Of more than 20 documents at once one "
    "change is told, with the `id` `*` and their `count`",
)
PROPOSAL = change_kind("proposal", fields="`kind` and `state`")
SETTINGS = change_kind("settings", fields="none; `id` is `name`, `detail`, `preference`, `language` or `quota`")
ADMINISTRATION = change_kind(
    "administration",
    fields="none; told to administrators only, and to one who is made a member: `id` is what was done, as in `act` of "
    "`GET /admin/audit`",
)


class StoredChange(NamedTuple):
    """One change. id: of the thing. conversation_id: where it lies, if it lies in one. at: ISO 8601 in UTC."""

    seq: int
    kind: str
    change: str
    id: str
    conversation_id: str | None
    fields: dict[str, Any]
    at: str


class KeptRange(NamedTuple):
    """The oldest and the newest change that are kept of a person, both 0 where there is none, and their epoch."""

    oldest: int
    newest: int
    epoch: str


def record(
    connection: Connection,
    kind: ChangeKind,
    change: ChangeType,
    *,
    user_email: str,
    ids: Iterable[str],
    conversation_id: str | None = None,
    fields: Mapping[str, Any] = _NO_FIELDS,
) -> None:
    """Record one change of each of the person's things `ids`, within the transaction that makes it.

    fields: the new values, small and named as in the lists of the API; never what a message or a memory says.
    """
    record_each(
        connection,
        kind,
        change,
        user_email=user_email,
        fields=dict.fromkeys(ids, fields),
        conversation_id=conversation_id,
    )


def record_each(
    connection: Connection,
    kind: ChangeKind,
    change: ChangeType,
    *,
    user_email: str,
    fields: Mapping[str, Mapping[str, Any]],
    conversation_id: str | None = None,
) -> None:
    """`record` for things that change to different values. fields: the new values of each, by its id."""
    own = [Told(user_email, conversation_id, each, its_fields) for each, its_fields in fields.items()]
    record_all(connection, kind, change, own)


class Told(NamedTuple):
    """What one change tells of: the thing `id` of a person, with the fields that it has now."""

    user_email: str
    conversation_id: str | None
    id: str
    fields: Mapping[str, Any]


def record_all(connection: Connection, kind: ChangeKind, change: ChangeType, told: Iterable[Told]) -> None:
    """`record` for things of several people and conversations, by one statement."""
    common = {"kind": kind.name, "change": change, "at": now_iso()}
    rows = [common | each._asdict() | {"fields": dict(each.fields)} for each in told]
    if rows:
        _INSERT.run_each(connection, rows)
        connection.info.setdefault(RECORDED, set()).update(row["user_email"] for row in rows)


def changes_after(*, database: Database, user_email: str, after: int, most: int) -> list[StoredChange]:
    """The person's changes whose seq is greater than `after`, in order, at most `most`."""
    with database.reading() as connection:
        rows = _AFTER.rows(connection, owner=user_email, after=after, most=most)
    return [StoredChange._make(row) for row in rows]


def kept_range(*, database: Database, user_email: str) -> KeptRange:
    """Which of the person's changes can still be read."""
    with database.reading() as connection:
        row = _EPOCH.row(connection, owner=user_email)
        assert row is not None
        return KeptRange(
            oldest=_value(_OLDEST, connection, user_email),
            newest=_value(_NEWEST, connection, user_email),
            epoch=row[0],
        )


class ChangesSeen(NamedTuple):
    """Up to which change somebody knows the things of a person; newest: 0 before the first one."""

    epoch: str
    newest: int


def changes_seen(connection: Connection, *, user_email: str) -> ChangesSeen:
    """The newest change of a person in the snapshot of `connection`."""
    row = _SEEN.row(connection, owner=user_email)
    assert row is not None
    return ChangesSeen(row[0], row[1] or 0)


def changed_since(
    connection: Connection, kind: ChangeKind, *, user_email: str, before: ChangesSeen, now: ChangesSeen
) -> set[str] | None:
    """The ids of the things of a kind that changed between two looks; None where that can't be told any more."""
    if before.epoch != now.epoch or before.newest > now.newest:
        return None
    oldest = _value(_OLDEST, connection, user_email)
    if oldest > before.newest + 1:
        return None
    rows = _CHANGED.rows(connection, owner=user_email, after=before.newest, kind=kind.name)
    return {row[0] for row in rows}


def renew_epoch(*, database: Database) -> None:
    """Begin another epoch: who watched the changes of this store before loads everything again."""

    def job(connection: Connection) -> None:
        connection.execute(delete(change_epoch))
        connection.execute(insert(change_epoch).values(id=1, epoch=secrets.token_hex(8)))

    database.write(job)


def newest_changes(*, database: Database, user_emails: Collection[str]) -> dict[str, int]:
    """The seq of the newest change of each person; 0 without one."""
    if not user_emails:
        return {}
    people = values(column("user_email", Text)).data([(user_email,) for user_email in user_emails]).cte("people")
    newest = select(func.max(_c.seq)).where(_c.user_email == people.c.user_email).scalar_subquery()
    with database.reading() as connection:
        rows = connection.execute(select(people.c.user_email, func.coalesce(newest, 0)))
        return {row[0]: row[1] for row in rows}


def forget_fields(connection: Connection, *, user_email: str, conversation_ids: Sequence[str]) -> None:
    """Empty the fields of all changes of conversations that are erased, but for what says that they are gone.

    The rows stay, since they are counted. All changes of the person are looked at, so give many conversations at once.
    """
    about = _c.id.in_(conversation_ids) | _c.conversation_id.in_(conversation_ids)
    told = update(changes).where(_c.user_email == user_email, _c.change != "gone", about)
    connection.execute(told.values(fields={}))


def purge_changes(*, database: Database, older_than_days: float = KEPT_DAYS) -> int:
    """Delete the changes recorded `older_than_days` ago or earlier, but for the newest of each person; how many."""
    deleted = 0
    old = (
        select(_c.user_email, func.min(_c.seq), func.max(_c.seq))
        .where(_c.at < iso_in(days=-older_than_days))
        .group_by(_c.user_email)
    )
    with database.reading() as connection:
        found = connection.execute(old).all()
    for user_email, first, last in found:
        for start in range(first, last + 1, _ROWS_AT_ONCE):
            slice_of_them = partial(_delete, user_email=user_email, first=start, last=min(start + _ROWS_AT_ONCE, last))
            deleted += database.write(slice_of_them, urgency=Urgency.INDEX)
    return deleted


def _delete(connection: Connection, *, user_email: str, first: int, last: int) -> int:
    newest = _value(_NEWEST, connection, user_email)
    these = (_c.user_email == user_email) & _c.seq.between(first, min(last, newest - 1))
    return int(connection.execute(delete(changes).where(these)).rowcount)


def _value(query: Prepared, connection: Connection, user_email: str) -> int:
    row: Sequence[Any] | None = query.row(connection, owner=user_email)
    return 0 if row is None or row[0] is None else int(row[0])
