"""A conversation as it is stored and as clients see it, and its head row for changes within a transaction."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple, TypeVar

from sqlalchemy import Connection, ScalarSelect, Select, Text, and_, bindparam, func, literal_column, select, update

from database.agents.inbox import has_rules
from database.changes import CONVERSATION, ChangeType, record_each
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from database.engine.statements import Prepared, pipelined
from database.schema import conversation_tags, conversation_workspaces, conversations, workspaces
from database.workspaces.repository import DEFAULT_WORKSPACE_NAME, default_workspace_id

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationRow:
    """One conversation with the workspace it lies in.

    Times are ISO 8601 in UTC. `conversation_friendly_id` is None until the first turn is stored; `running_message_id`
    names the answer that is being generated, `agent_id` the agent that answers here instead of a model alone;
    `version` grows with every change of the conversation or its messages; `has_documents` says whether any message
    ever referred to a document.
    """

    conversation_id: str
    user_email: str
    created_at: str
    updated_at: str
    conversation_friendly_id: str | None
    domain: str
    title: str
    title_force_set: bool
    running_summary: str
    summarised_ordinal: int
    flag: str
    settings: dict[str, Any]
    memory: dict[str, Any]
    archived: bool
    stateless: bool
    message_count: int
    last_ordinal: int
    running_message_id: str | None
    branch_id: str | None
    has_documents: bool
    version: int
    deleted_at: str | None
    expires_at: str | None
    pinned_at: str | None
    agent_id: str | None
    workspace_id: str
    workspace_name: str
    tags: list[str]


class ConversationListRow(NamedTuple):
    """A conversation in a list: fewer columns, cheaper to build, for lists of ten thousand."""

    conversation_id: str
    created_at: str
    updated_at: str
    conversation_friendly_id: str | None
    title: str
    running_summary: str
    flag: str
    message_count: int
    settings: dict[str, Any]
    archived: bool
    stateless: bool
    pinned_at: str | None
    tags: list[str]
    expires_at: str | None
    user_email: str
    domain: str
    workspace_id: str
    workspace_name: str


_FIELDS = tuple(ConversationRow.__dataclass_fields__)
_OWN_COLUMNS = tuple(name for name in _FIELDS if name in conversations.c)
_TAG_SEPARATOR = "\n"
_PLACE = conversations.outerjoin(
    conversation_workspaces, conversation_workspaces.c.conversation_id == conversations.c.conversation_id
).outerjoin(
    workspaces,
    and_(
        workspaces.c.user_email == conversations.c.user_email,
        workspaces.c.workspace_id == conversation_workspaces.c.workspace_id,
    ),
)


def joined_tags() -> ScalarSelect[str]:
    """The tags of the conversation that the outer query reads, as one text for `split_tags`; NULL without any."""
    # A literal: prepared statements take no parameter here.
    separator: Any = literal_column(f"'{_TAG_SEPARATOR}'", Text)
    own = select(func.aggregate_strings(conversation_tags.c.tag, separator)).where(
        conversation_tags.c.conversation_id == conversations.c.conversation_id
    )
    return own.correlate(conversations).scalar_subquery()


def split_tags(joined: str | None) -> list[str]:
    """Tags as `joined_tags` has read them, in order."""
    return sorted(joined.split(_TAG_SEPARATOR), key=str.casefold) if joined else []


def select_conversations() -> Select[Any]:
    """All columns that `conversation_row` needs, the workspace joined; the caller adds the owner and the rest."""
    columns = [conversations.c[name] for name in _OWN_COLUMNS]
    joined = (workspaces.c.workspace_id, workspaces.c.workspace_name, joined_tags())
    return select(*columns, *joined).select_from(_PLACE)


def conversation_row(row: Sequence[Any]) -> ConversationRow:
    """A row of `select_conversations`; a conversation without a stored workspace is in the default one."""
    fields = dict(zip(_FIELDS, row, strict=True))
    for flag in ("title_force_set", "archived", "stateless", "has_documents"):
        fields[flag] = bool(fields[flag])
    fields["tags"] = split_tags(fields["tags"])
    if fields["workspace_id"] is None:
        fields["workspace_id"] = default_workspace_id(fields["user_email"], fields["domain"])
        fields["workspace_name"] = DEFAULT_WORKSPACE_NAME
    return ConversationRow(**fields)


def conversation_metadata(row: ConversationRow | ConversationListRow) -> dict[str, Any]:
    """The JSON shape of a conversation in lists and details.

    `last_updated` is "YYYY-MM-DD HH:MM:SS" (UTC) beside the ISO times; `conversation_friendly_id` is "" while
    there is none.
    """
    return next(listed_shapes([row if isinstance(row, ConversationListRow) else _as_listed(row)]))


_RECORDED = (
    "title",
    "conversation_friendly_id",
    "domain",
    "workspace_id",
    "flag",
    "archived",
    "stateless",
    "temporary",
    "pinned",
    "last_updated",
    "updated_at",
    "message_count",
    "tags",
)


def record_listed(connection: Connection, rows: Iterable[ConversationRow], change: ChangeType = "created") -> None:
    """Record that conversations are in the lists now, or there again, with all that lists show of them."""
    shown = {row.conversation_id: (row.user_email, conversation_metadata(row)) for row in rows}
    for user_email, ids in groupby(shown, key=lambda each: shown[each][0]):
        fields = {each: {name: shown[each][1][name] for name in _RECORDED} for each in ids}
        record_each(connection, CONVERSATION, change, user_email=user_email, fields=fields)


_as_listed: Callable[[ConversationRow], tuple[Any, ...]] = attrgetter(*ConversationListRow._fields)


# One after another, and by position: lists of ten thousand rows pass through here.
def listed_shapes(rows: Iterable[Sequence[Any]]) -> Iterator[dict[str, Any]]:
    """`conversation_metadata` of the fields of each `ConversationListRow`."""
    for (
        conversation_id,
        created_at,
        updated_at,
        friendly_id,
        title,
        running_summary,
        flag,
        message_count,
        settings,
        archived,
        stateless,
        pinned_at,
        tags,
        expires_at,
        user_email,
        domain,
        workspace_id,
        workspace_name,
    ) in rows:
        yield {
            "conversation_id": conversation_id,
            "user_id": user_email,
            "title": title,
            "summary_till_now": running_summary,
            "domain": domain,
            "flag": flag,
            "last_updated": updated_at[:19].replace("T", " "),
            "created_at": created_at,
            "updated_at": updated_at,
            "conversation_settings": settings,
            "conversation_friendly_id": friendly_id or "",
            "workspace_id": workspace_id,
            "workspace_name": workspace_name,
            "archived": archived,
            "stateless": stateless,
            "pinned": pinned_at is not None,
            "tags": tags,
            "temporary": expires_at is not None,
            "message_count": message_count,
        }


def brief_shapes(
    rows: Iterable[Sequence[Any]], *, running_answers: Mapping[str, list[str]]
) -> Iterator[dict[str, Any]]:
    """What a tree of conversations shows of each, half as long as `listed_shapes`: usual values are left out."""
    for (
        conversation_id,
        _created_at,
        updated_at,
        friendly_id,
        title,
        _running_summary,
        flag,
        message_count,
        _settings,
        archived,
        stateless,
        pinned_at,
        tags,
        _expires_at,
        _user_email,
        _domain,
        workspace_id,
        _workspace_name,
    ) in rows:
        brief: dict[str, Any] = {
            "conversation_id": conversation_id,
            "title": title,
            "updated_at": updated_at,
            "conversation_friendly_id": friendly_id or "",
            "workspace_id": workspace_id,
            "message_count": message_count,
        }
        if flag != "none":
            brief["flag"] = flag
        if archived:
            brief["archived"] = True
        if stateless:
            brief["stateless"] = True
        if pinned_at is not None:
            brief["pinned"] = True
        if tags:
            brief["tags"] = tags
        if conversation_id in running_answers:
            brief["running_answers"] = running_answers[conversation_id]
        yield brief


_c = conversations.c
_HEAD_COLUMNS = select(
    _c.conversation_id,
    _c.user_email,
    _c.created_at,
    _c.conversation_friendly_id,
    _c.title,
    _c.title_force_set,
    _c.message_count,
    _c.last_ordinal,
    _c.running_message_id,
    _c.stateless,
    _c.branch_id,
    has_rules(_c.user_email),
)
_HEADS = _HEAD_COLUMNS.where(
    _c.user_email == bindparam("user_email"), _c.conversation_id == bindparam("conversation_id")
)
_HEAD, _LIVE_HEAD = Prepared(_HEADS), Prepared(_HEADS.where(_c.deleted_at.is_(None)))
_TOUCH = update(conversations).where(_c.conversation_id == bindparam("touched")).values(version=_c.version + 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationHead:
    """The head of one conversation, as of this transaction.

    message_count: of live messages on the active path. stateless: new turns are not kept. branch_id: of the branch that
    the active path ends in, see `database.history.branches`. has_takers: whether any agent of the user takes
    activities by a rule, see `database.agents.inbox`.
    """

    conversation_id: str
    user_email: str
    created_at: str
    friendly_id: str | None
    title: str
    title_force_set: bool
    message_count: int
    last_ordinal: int
    running_message_id: str | None
    stateless: bool
    branch_id: str | None
    has_takers: bool


_HEAD_FIELDS = tuple(ConversationHead.__dataclass_fields__)


def access_head(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationHead:
    """The head of a conversation of this user.

    Raises ConversationNotFoundError for a missing one, another user's, and one in the bin.
    """
    return _one(connection, _LIVE_HEAD, user_email=user_email, conversation_id=conversation_id)


def head_even_in_bin(connection: Connection, *, user_email: str, conversation_id: str) -> ConversationHead:
    """`access_head` that also finds conversations in the bin, where running turns are finished too."""
    return _one(connection, _HEAD, user_email=user_email, conversation_id=conversation_id)


def heads_even_in_bin(connection: Connection, owners: Mapping[str, str]) -> dict[str, ConversationHead]:
    """`head_even_in_bin` of several conversations, by one statement. owners: their users, by conversation id."""
    rows = connection.execute(_HEAD_COLUMNS.where(_c.conversation_id.in_(owners)))
    heads = {head.conversation_id: head for head in map(_head, rows)}
    return {each: head for each, head in heads.items() if head.user_email == owners[each]}


def touch(connection: Connection, conversation_id: str, **changes: Any) -> None:
    """Apply `changes` to the conversation's row, with a new version and time, which invalidates cached copies."""
    update_keeping_time(connection, conversation_id, updated_at=now_iso(), **changes)


def update_keeping_time(connection: Connection, conversation_id: str, **changes: Any) -> None:
    """`touch` with the former `updated_at`: the conversation keeps its place in lists."""
    _touching(tuple(changes)).run(connection, touched=conversation_id, **changes)


def touch_each(connection: Connection, changes: Mapping[str, Mapping[str, Any]]) -> None:
    """`touch` for several conversations, by their ids; all change the same columns."""
    moment = now_iso()
    rows = [{"touched": each, "updated_at": moment, **values} for each, values in changes.items()]
    if rows:
        _touching(tuple(name for name in rows[0] if name != "touched")).run_each(connection, rows)


@cache
def _touching(columns: tuple[str, ...]) -> Prepared:
    return Prepared(_TOUCH, columns=columns)


def asked_for_head(connection: Connection, *, user_email: str, conversation_id: str) -> Callable[[], ConversationHead]:
    """Asks for the head; what is returned reads the answer, and is `access_head`."""
    rows = _LIVE_HEAD.asked(connection, user_email=user_email, conversation_id=conversation_id)

    return partial(_first, rows, _head)


def _one(connection: Connection, query: Prepared, *, user_email: str, conversation_id: str) -> ConversationHead:
    row = query.row(connection, user_email=user_email, conversation_id=conversation_id)
    if row is None:
        raise ConversationNotFoundError
    return _head(row)


def _head(row: Sequence[Any]) -> ConversationHead:
    values = dict(zip(_HEAD_FIELDS, row, strict=True))
    for flag in ("title_force_set", "stateless", "has_takers"):
        values[flag] = bool(values[flag])
    return ConversationHead(**values)


LIVE = and_(
    conversations.c.user_email == bindparam("owner"),
    conversations.c.conversation_id == bindparam("conversation"),
    conversations.c.deleted_at.is_(None),
)
"""A conversation that is there: takes `owner` and `conversation`."""
_VERSION = Prepared(select(conversations.c.version).where(LIVE))
_ROW_SINCE = Prepared(select_conversations().where(LIVE, conversations.c.version != bindparam("known")))
_LIVE_ROW = Prepared(select_conversations().where(LIVE))


def asked_for_live(connection: Connection, *, user_email: str, conversation_id: str) -> Callable[[], ConversationRow]:
    """Asks for a conversation that is there; what is returned reads the answer within the transaction.

    That raises ConversationNotFoundError where the user has none by this id, or it is in the bin.
    """
    rows = _LIVE_ROW.asked(connection, owner=user_email, conversation=conversation_id)

    return partial(_first, rows, conversation_row)


def _first(rows: Callable[[], Sequence[Any]], made: Callable[[Any], T]) -> T:
    for row in rows():
        return made(row)
    raise ConversationNotFoundError


def conversation_version(*, database: Database, user_email: str, conversation_id: str) -> int | None:
    """A number that grows with every change of the conversation; None where `get_conversation` would not find it."""
    with database.reading() as connection:
        row = _VERSION.row(connection, owner=user_email, conversation=conversation_id)
    return None if row is None else row[0]


def conversation_since(
    version: int, *, database: Database, user_email: str, conversation_id: str
) -> ConversationRow | None:
    """The conversation as `get_conversation` finds it, where its version is not `version` any more; None where it is.

    A database server is asked once, for both. Raises ConversationNotFoundError.
    """
    with database.reading() as connection, pipelined(connection):
        return asked_for_conversation_since(
            connection, version, user_email=user_email, conversation_id=conversation_id
        )()


def asked_for_conversation_since(
    connection: Connection, version: int, *, user_email: str, conversation_id: str
) -> Callable[[], ConversationRow | None]:
    """Asks for both; what is returned reads the answers within the transaction, and is `conversation_since`."""
    who = {"owner": user_email, "conversation": conversation_id}
    ask_version = _VERSION.asked(connection, **who)
    # In the same process a question costs more than an answer that is waited for.
    is_asked = connection.dialect.name != "sqlite"
    ask_row = _ROW_SINCE.asked(connection, **who, known=version) if is_asked else None

    def read() -> ConversationRow | None:
        stored = ask_version()
        if not stored:
            raise ConversationNotFoundError
        if stored == [(version,)]:
            return None
        (row,) = ask_row() if ask_row else _ROW_SINCE.rows(connection, **who, known=version)
        return conversation_row(row)

    return read
