"""A user's conversations of all domains for programs: a few fields of each, with how it began and who spoke in it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from itertools import islice

from sqlalchemy import ColumnElement, Connection, Text, and_, bindparam, func, select, tuple_

from database.engine.database import Database
from database.engine.statements import Prepared, Row
from database.messages.message import answering_agent_id
from database.schema import agents, conversation_workspaces, conversations, messages, workspaces
from database.search.index import folded_name

from .listing import decode_cursor, encode_cursor
from .titles import has_words

_a, _c, _m = agents.c, conversations.c, messages.c
_PAGE = 500
_LATEST = (
    select(_c.conversation_id, _c.conversation_friendly_id, _c.updated_at, _c.title, _c.message_count, _c.agent_id)
    .where(_c.user_email == bindparam("owner"), _c.deleted_at.is_(None), _c.expires_at.is_(None))
    .order_by(_c.updated_at.desc(), _c.conversation_id.desc())
)
_FIRST_PAGE = Prepared(_LATEST)
_NEXT_PAGE = Prepared(
    _LATEST.where(
        tuple_(_c.updated_at, _c.conversation_id)
        < tuple_(bindparam("before_time", type_=Text), bindparam("before_id", type_=Text))
    )
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ConversationOverview:
    """One conversation. beginning: of its first message that models see. friendly_id: "" while there is none.

    agent_ids: of the agents that answer or ask in it.
    """

    conversation_id: str
    friendly_id: str
    title: str
    message_count: int
    updated_at: str
    beginning: str
    agent_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptConversation:
    """One conversation in a list of all. friendly_id: None until its first turn. workspace: the name of its folder."""

    conversation_id: str
    friendly_id: str | None
    title: str
    domain: str
    workspace: str | None
    created_at: str
    updated_at: str
    message_count: int


def count_conversations(*, database: Database, user_email: str) -> int:
    """How many live conversations of all domains the user has, without temporary ones."""
    with database.reading() as connection:
        return int(connection.execute(select(func.count()).where(*_kept(user_email))).scalar_one())


def all_conversations(*, database: Database, user_email: str) -> Iterator[KeptConversation]:
    """The user's live conversations of all domains by id, archived ones too, without temporary ones; read in pages."""
    place, folder = conversation_workspaces.c, workspaces.c
    columns = [_c.conversation_id, _c.conversation_friendly_id, _c.title, _c.domain, folder.workspace_name]
    query = (
        select(*columns, _c.created_at, _c.updated_at, _c.message_count)
        .outerjoin(conversation_workspaces, place.conversation_id == _c.conversation_id)
        .outerjoin(workspaces, and_(folder.user_email == _c.user_email, folder.workspace_id == place.workspace_id))
        .where(*_kept(user_email), _c.conversation_id > bindparam("after"))
        .order_by(_c.conversation_id)
        .limit(_PAGE)
    )
    after: str | None = ""
    while after is not None:
        with database.reading() as connection:
            rows = connection.execute(query, {"after": after}).all()
        for row in rows:
            yield KeptConversation(**dict(zip(KeptConversation.__dataclass_fields__, row, strict=True)))
        after = rows[-1][0] if len(rows) == _PAGE else None


def _kept(user_email: str) -> tuple[ColumnElement[bool], ...]:
    return _c.user_email == user_email, _c.deleted_at.is_(None), _c.expires_at.is_(None)


def conversation_overviews(
    *,
    database: Database,
    user_email: str,
    words: Sequence[str] = (),
    agent_id: str | None = None,
    limit: int,
    cursor: str | None = None,
    preview: int,
) -> tuple[list[ConversationOverview], str | None]:
    """The user's live conversations, newest first, archived ones too, and the cursor of the next page.

    words: each is in the title, whatever the case and the diacritics. agent_id: only those of this agent. preview: how
    many characters of the first message are shown.
    Temporary conversations are never listed. Three queries. Raises InvalidChangeError for an unknown cursor.
    """
    folded = [folded_name(word) for word in words]
    given = {"owner": user_email}
    if cursor is not None:
        given["before_time"], given["before_id"] = decode_cursor(cursor)
    query = _FIRST_PAGE if cursor is None else _NEXT_PAGE
    with database.reading() as connection:
        with closing(query.some(connection, **given)) as rows:
            own = (row for row in rows if agent_id in (None, row[5]))
            fitting = (row for row in own if has_words(row[3], folded))
            found = list(islice(fitting, limit + 1))
        shown = found[:limit]
        ids = [row[0] for row in shown]
        begun, agents_in = _beginnings(connection, ids, preview=preview), _agents_in(connection, ids, owner=user_email)
    next_cursor = encode_cursor(updated_at=shown[-1][2], conversation_id=shown[-1][0]) if len(found) > limit else None
    return [_overview(row, begun.get(row[0], ""), agents_in[row[0]]) for row in shown], next_cursor


def _beginnings(connection: Connection, conversation_ids: Sequence[str], *, preview: int) -> dict[str, str]:
    """How the first message of each conversation begins that is not hidden from models; of the others there is none."""
    is_shown = and_(_m.deleted_at.is_(None), _m.other_branch.is_(None), _m.show_hide != "hide")
    first = (
        select(func.substr(_m.text, 1, preview))
        .where(_m.conversation_id == _c.conversation_id, is_shown)
        .order_by(_m.ordinal)
        .limit(1)
        .scalar_subquery()
    )
    rows = connection.execute(select(_c.conversation_id, first).where(_c.conversation_id.in_(conversation_ids)))
    return {conversation_id: text for conversation_id, text in rows if text is not None}


def _agents_in(connection: Connection, conversation_ids: Sequence[str], *, owner: str) -> Mapping[str, set[str]]:
    """The agents of the user that have asked or answered something in each conversation."""
    agent_id = func.coalesce(_m.source_agent_id, answering_agent_id())
    query = select(_m.conversation_id, _a.agent_id).distinct().join_from(messages, agents, _a.agent_id == agent_id)
    found: defaultdict[str, set[str]] = defaultdict(set)
    spoken = _m.conversation_id.in_(conversation_ids) & _m.deleted_at.is_(None) & (_a.user_email == owner)
    for conversation_id, spoke in connection.execute(query.where(spoken)):
        found[conversation_id].add(spoke)
    return found


def _overview(row: Row, beginning: str, spoke: Iterable[str]) -> ConversationOverview:
    conversation_id, friendly_id, updated_at, title, message_count, agent_id = row
    return ConversationOverview(
        conversation_id=conversation_id,
        friendly_id=friendly_id or "",
        title=title,
        message_count=message_count,
        updated_at=updated_at,
        beginning=beginning,
        agent_ids=tuple(sorted({*spoke, *([agent_id] if agent_id else [])})),
    )
