"""The list of a user's conversations, newest first, in pages that stay consistent while conversations come and go."""

from __future__ import annotations

import binascii
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from datetime import datetime
from functools import cache
from itertools import islice
from typing import Any, Literal, TypedDict, Unpack

import orjson
from sqlalchemy import (
    ColumnElement,
    Connection,
    Integer,
    Select,
    Text,
    and_,
    bindparam,
    cast,
    exists,
    func,
    literal_column,
    null,
    or_,
    select,
    tuple_,
)

from database.engine.database import Database
from database.engine.errors import InvalidChangeError, WorkspaceNotFoundError
from database.engine.statements import Prepared, Row, pipelined
from database.schema import conversation_tags, conversation_workspaces, conversations, messages, workspaces
from database.search.index import folded_name
from database.workspaces.repository import DEFAULT_WORKSPACE_NAME, default_workspace_id
from sentences import say

from .conversation import ConversationListRow, brief_shapes, joined_tags, listed_shapes, split_tags
from .tags import tag_key
from .titles import has_words

_c = conversations.c
_place = conversation_workspaces.c
# Joined by owner, too: where many people have many, PostgreSQL reads a person's places at once instead of one by one.
_PLACE = conversations.outerjoin(
    conversation_workspaces, and_(_place.conversation_id == _c.conversation_id, _place.user_email == _c.user_email)
)
# The first columns of ConversationListRow in its order, and then the place and the tags; what is the same for all, or
# read once for all, is added later.
_COLUMNS: list[ColumnElement[Any]] = [
    _c.conversation_id,
    _c.created_at,
    _c.updated_at,
    _c.conversation_friendly_id,
    _c.title,
    _c.running_summary,
    _c.flag,
    _c.message_count,
    cast(_c.settings, Text),
    _c.archived,
    _c.stateless,
    _c.pinned_at,
]
# Of these, what no tree shows is not read for a brief list: summaries may be long.
_UNREAD = ("created_at", "running_summary", "settings")
_BRIEF_COLUMNS = [
    literal_column("'{}'" if name == "settings" else "''") if name in _UNREAD else column
    for name, column in zip(ConversationListRow._fields, _COLUMNS, strict=False)
]
# For a page: where the whole place is joined, PostgreSQL may read everybody's places to find those of fifty rows.
_PLACE_OF_ROW = (
    select(_place.workspace_id).where(_place.conversation_id == _c.conversation_id).correlate(conversations)
).scalar_subquery()
_TITLE = _COLUMNS.index(_c.title)
# A user has far fewer workspaces than conversations, so a join per row would cost more.
_NAMES = Prepared(
    select(workspaces.c.workspace_id, workspaces.c.workspace_name).where(
        workspaces.c.user_email == bindparam("owner"), workspaces.c.domain == bindparam("in_domain")
    )
)
_t = conversation_tags.c
_TAGS = Prepared(select(_t.tag).where(_t.user_email == bindparam("owner")).distinct())
# For a whole list: all at once, instead of a search for each of ten thousand conversations.
_ALL_TAGS = Prepared(select(_t.conversation_id, _t.tag).where(_t.user_email == bindparam("owner")))
_m = messages.c
_RUNNING = Prepared(
    select(_m.conversation_id, _m.message_id).where(_m.status == "streaming", _m.user_email == bindparam("owner"))
)


def _domains() -> Select[tuple[str]]:
    """From each domain to the next one by the index, however many conversations are in between."""
    own = _c.user_email == bindparam("owner")
    known = select(func.min(_c.domain).label("domain")).where(own).cte("domains", recursive=True)
    following = select(func.min(_c.domain)).where(own, _c.domain > known.c.domain).scalar_subquery()
    known = known.union_all(select(following).where(known.c.domain.is_not(None)))
    listed = exists().where(own, _c.domain == known.c.domain, _c.deleted_at.is_(None), _c.expires_at.is_(None))
    return select(known.c.domain).where(known.c.domain.is_not(None), listed).order_by(known.c.domain)


_DOMAINS = Prepared(_domains())


def domains_of(*, database: Database, user_email: str) -> list[str]:
    """The domains in which the user has conversations that lists can show. One query."""
    with database.reading() as connection:
        return [domain for (domain,) in _DOMAINS.rows(connection, owner=user_email)]


class ListPage(TypedDict, total=False):
    """The requested page of a list.

    limit: None for no limit. cursor: of the previous page. Archived conversations are excluded, included
    (`include_archived`), or the only ones (`archived_only`). tag: only conversations that have this tag, however it is
    spelled (`tag_key`). workspace_id: only those that lie in this workspace. q: only those whose title has each of
    these words in it, whatever the case and the diacritics.
    """

    limit: int | None
    cursor: str | None
    include_archived: bool
    archived_only: bool
    tag: str | None
    workspace_id: str | None
    q: str | None


def list_conversations(
    *, database: Database, user_email: str, domain: str, **page: Unpack[ListPage]
) -> tuple[list[ConversationListRow], str | None]:
    """The user's live conversations of `domain`, newest first, and the cursor of the next page (None after the last).

    Temporary ones are never listed. Two queries, three for a whole list, which a database server is asked together, and
    one before them for the spellings of a tag. Raises InvalidChangeError for an unknown cursor, and
    WorkspaceNotFoundError.
    """
    rows, following = _listed(database, user_email, domain, **page)
    return list(map(ConversationListRow._make, rows)), following


def list_conversation_items(
    *, database: Database, user_email: str, domain: str, **page: Unpack[ListPage]
) -> tuple[Iterator[dict[str, Any]], str | None]:
    """`list_conversations` in the shape of `conversation_metadata`, each built when it is asked for: many may be."""
    rows, following = _listed(database, user_email, domain, **page)
    return listed_shapes(rows), following


def list_brief_items(
    *, database: Database, user_email: str, domain: str, **page: Unpack[ListPage]
) -> tuple[Iterator[dict[str, Any]], str | None]:
    """`list_conversations` in the shape of `brief_shapes`, with the ids of the answers that are being written.

    No summaries are read.
    """
    rows, following = _listed(database, user_email, domain, is_brief=True, **page)
    running: dict[str, list[str]] = {}
    with database.reading() as connection:
        for conversation_id, message_id in _RUNNING.rows(connection, owner=user_email):
            running.setdefault(conversation_id, []).append(message_id)
    return brief_shapes(rows, running_answers=running), following


def _listed(
    database: Database, user_email: str, domain: str, *, is_brief: bool = False, **page: Unpack[ListPage]
) -> tuple[Iterator[Row], str | None]:
    """The fields of each `ConversationListRow`, and the cursor."""
    limit, cursor = page.get("limit"), page.get("cursor")
    wanted: dict[str, Any] = {"owner": user_email, "in_domain": domain}
    if cursor is not None:
        wanted["before_time"], wanted["before_id"] = decode_cursor(cursor)
    tag, place, words = page.get("tag"), page.get("workspace_id"), folded_name(page.get("q") or "").split()
    if place is not None:
        wanted["place"] = place
    if limit is not None and not words:
        wanted["at_most"] = limit + 1
    is_page = "at_most" in wanted
    default_id = default_workspace_id(user_email, domain)
    with database.reading() as connection:
        spellings = [] if tag is None else _spellings(connection, tag, user_email=user_email)
        wanted |= {f"tag_{number}": spelling for number, spelling in enumerate(spellings)}
        query = _page(
            archived=None if page.get("archived_only") else page.get("include_archived", False),
            continued=cursor is not None,
            is_page=is_page,
            spellings=len(spellings),
            placed=None if place is None else "default" if place == default_id else "stored",
            is_brief=is_brief,
        )
        with pipelined(connection):
            ask_names = _NAMES.asked(connection, owner=user_email, in_domain=domain)
            ask_rows = None if words else query.asked(connection, **wanted)
            ask_tags = None if is_page else _ALL_TAGS.asked(connection, owner=user_email)
        names: dict[str, str] = dict(ask_names())
        if place not in {None, default_id, *names}:
            raise WorkspaceNotFoundError
        found = ask_rows() if ask_rows else _titled(query, connection, words, limit, wanted)
        tags = ask_tags() if ask_tags else [(row[0], tag) for row in found for tag in split_tags(row[-1])]
    shown = found if limit is None else found[:limit]
    next_cursor = None
    if shown and len(found) > len(shown):
        next_cursor = encode_cursor(updated_at=shown[-1][2], conversation_id=shown[-1][0])
    default = (default_id, names.get(default_id, DEFAULT_WORKSPACE_NAME))
    places = {workspace_id: (workspace_id, name) for workspace_id, name in names.items()}
    return _filled(shown, user_email, domain, tags=_by_conversation(tags), places=places, default=default), next_cursor


def _spellings(connection: Connection, tag: str, *, user_email: str) -> list[str]:
    """The spellings of a tag that the person has, the last one repeated up to a power of two: few forms of the query.

    Without any, the tag as it is asked for.
    """
    key = tag_key(tag)
    found = [stored for (stored,) in _TAGS.rows(connection, owner=user_email) if tag_key(stored) == key] or [tag]
    return found + found[-1:] * ((1 << (len(found) - 1).bit_length()) - len(found))


def _titled(
    query: Prepared, connection: Connection, words: Sequence[str], limit: int | None, wanted: Mapping[str, Any]
) -> list[Row]:
    """The first rows whose title has all of `words`, one more than `limit`. The engines fold each in its way."""
    with closing(query.some(connection, **wanted)) as rows:
        fitting = (row for row in rows if has_words(row[_TITLE], words))
        return list(islice(fitting, None if limit is None else limit + 1))


@cache
def _page(
    *,
    archived: bool | None,
    continued: bool,
    is_page: bool,
    spellings: int,
    placed: Literal["default", "stored"] | None,
    is_brief: bool,
) -> Prepared:
    """The statement of one kind of list, built once. archived: whether to include those; None: only those.

    is_page: of so many rows only, each with its tags. spellings: of the tag that is asked for, 0 for none. placed: in
    one workspace; conversations without a stored one lie in the default one.
    """
    is_joined = placed is not None or not is_page
    columns = [*(_BRIEF_COLUMNS if is_brief else _COLUMNS), _place.workspace_id if is_joined else _PLACE_OF_ROW]
    query = (
        select(*columns, joined_tags() if is_page else null())
        .select_from(_PLACE if is_joined else conversations)
        .where(_c.user_email == bindparam("owner"), _c.domain == bindparam("in_domain"), _c.deleted_at.is_(None))
        .where(_c.expires_at.is_(None))
        .order_by(_c.updated_at.desc(), _c.conversation_id.desc())
    )
    if not archived:
        query = query.where(_c.archived == int(archived is None))
    if spellings:
        tags = conversation_tags.c
        asked = [bindparam(f"tag_{number}", type_=Text) for number in range(spellings)]
        having = select(tags.conversation_id).where(tags.user_email == bindparam("owner"), tags.tag.in_(asked))
        query = query.where(_c.conversation_id.in_(having))
    if placed is not None:
        here = _place.workspace_id == bindparam("place", type_=Text)
        query = query.where(or_(here, _place.workspace_id.is_(None)) if placed == "default" else here)
    if continued:
        last = tuple_(bindparam("before_time", type_=Text), bindparam("before_id", type_=Text))
        query = query.where(tuple_(_c.updated_at, _c.conversation_id) < last)
    return Prepared(query.limit(bindparam("at_most", type_=Integer)) if is_page else query)


def _by_conversation(tags: Sequence[Row]) -> dict[str, list[str]]:
    """The tags of each conversation that has any, in order."""
    found: dict[str, list[str]] = {}
    for conversation_id, tag in sorted(tags, key=lambda row: row[1].casefold()):
        found.setdefault(conversation_id, []).append(tag)
    return found


# By position: rebuilding ten thousand rows takes longer than reading them.
def _filled(
    rows: Sequence[Row],
    user_email: str,
    domain: str,
    *,
    tags: Mapping[str, list[str]],
    places: Mapping[str, tuple[str, str]],
    default: tuple[str, str],
) -> Iterator[Row]:
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
        stored_id,
        _,
    ) in rows:
        workspace_id, workspace_name = places.get(stored_id or "", default)
        yield (
            conversation_id,
            created_at,
            updated_at,
            friendly_id,
            title,
            running_summary,
            flag,
            message_count,
            {} if settings == "{}" else orjson.loads(settings),
            archived == 1,
            stateless == 1,
            pinned_at,
            tags.get(conversation_id, []),
            None,
            user_email,
            domain,
            workspace_id,
            workspace_name,
        )


def encode_cursor(*, updated_at: str, conversation_id: str) -> str:
    """The cursor of the page behind this conversation."""
    return urlsafe_b64encode(f"{updated_at}\n{conversation_id}".encode()).decode().rstrip("=")


def decode_cursor(cursor: str) -> tuple[str, str]:
    """Time and conversation_id that a page begins behind. Raises InvalidChangeError for what is no cursor."""
    try:
        text = urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)).decode()
        updated_at, conversation_id = text.split("\n")
        datetime.fromisoformat(updated_at)
    except (binascii.Error, ValueError) as error:
        raise InvalidChangeError(say("list_page_gone")) from error
    return updated_at, conversation_id
