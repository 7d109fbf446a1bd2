"""Snapshots behind shared links: copies of the messages that anyone with the link may read, in pages."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NotRequired

from sqlalchemy import ColumnElement, Connection, func, insert, or_, select
from typing_extensions import TypedDict

from database.engine.database import Database, Urgency
from database.messages.message import live_in
from database.messages.parts import is_file, parts_of
from database.messages.unkept import unkept_in
from database.schema import messages, share_pages

MESSAGES_A_PAGE = 50
_CHARACTERS_A_PAGE = 250_000
_NO_MODEL = "none"
_FILES_PAGE = 0
"""The `first_message` of the page that names the chosen files; those of messages begin at 1."""

_m = messages.c
_p = share_pages.c


class SharedMessage(TypedDict):
    """A message of a snapshot. `message_index` counts those that are shown; `model` is the one that answered.

    `parts`: what is shown beside the text, chosen files with their `number` in the message; left out where there is
    nothing.
    """

    message_index: int
    message_short_hash: str | None
    sender: str
    model: str | None
    text: str
    created_at: str
    parts: NotRequired[list[dict[str, Any]]]


PartFilter = Callable[[Mapping[str, Any]], dict[str, Any] | None]
"""Part of a message → what readers of a shared link see of it; None: nothing."""


class ChosenFile(TypedDict):
    """A file that a snapshot shows: the `number`-th of the message with this index."""

    message_index: int
    number: int
    attachment_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """What a snapshot shows beside the words. files: the ids of the chosen ones; of others it says nothing."""

    show_part: PartFilter
    files: Collection[str] = ()

    def has(self, part: Mapping[str, Any]) -> bool:
        """Whether the part is one of the chosen files."""
        return is_file(part) and part.get("attachment_id") in self.files

    def shown(self, parts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """What readers see of the parts of a message."""
        found = [(part, self.show_part(part)) for part in parts if self.has(part) or not is_file(part)]
        numbered = ((fields, {"number": part["id"]} if is_file(part) else {}) for part, fields in found)
        return [fields | number for fields, number in numbered if fields is not None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A stored snapshot: how many pages and messages it has."""

    snapshot_id: str
    page_count: int
    message_count: int


def count_messages(connection: Connection, *, user_email: str, conversation_id: str) -> tuple[int, int]:
    """How many messages a snapshot would show now, and how many it would leave out because they are hidden."""
    hidden = _m.show_hide == "hide"
    query = select(func.count().filter(_shown(user_email)), func.count().filter(hidden, _has_content()))
    query = query.where(_kept_in(conversation_id), _m.user_email == user_email)
    shown, left_out = connection.execute(query).one()
    return shown, left_out


def shown_in(conversation_id: str, *, user_email: str) -> ColumnElement[bool]:
    """The condition that a snapshot of the conversation would show a message now."""
    return _kept_in(conversation_id) & _shown(user_email)


def take_snapshot(store: Database, *, user_email: str, conversation_id: str, choice: Choice) -> Snapshot:
    """Copy the messages that may be shared, page by page, so that the writer is never held for long."""
    snapshot_id, page_count, copied = secrets.token_hex(16), 0, 0
    chosen: list[ChosenFile] = []

    def store_page(first_message: int, content: Sequence[Mapping[str, Any]]) -> None:
        page = {
            "snapshot_id": snapshot_id,
            "first_message": first_message,
            "conversation_id": conversation_id,
            "messages": content,
        }
        store.write(partial(_add, page=page), urgency=Urgency.INDEX)

    with store.reading() as connection:
        pages = _plan(connection, shown_in(conversation_id, user_email=user_email))
    for numbers in pages:
        with store.reading() as connection:
            # By `seq` alone: with the conversation in the condition, each page would scan all of its messages.
            which = _m.seq.in_(numbers) & _shown(user_email)
            copies, files = _copies(connection, which, first=copied + 1, choice=choice)
        if copies:
            store_page(copied + 1, copies)
            page_count += 1
            copied += len(copies)
            chosen += files
    if chosen:
        store_page(_FILES_PAGE, chosen)
        page_count += 1
    return Snapshot(snapshot_id=snapshot_id, page_count=page_count, message_count=copied)


def is_whole(connection: Connection, snapshot: Snapshot) -> bool:
    """Whether the snapshot has messages, and all of its pages are still stored."""
    query = select(func.count()).where(_p.snapshot_id == snapshot.snapshot_id)
    return snapshot.message_count > 0 and connection.execute(query).scalar_one() == snapshot.page_count


def read_page(connection: Connection, snapshot_id: str, *, after: int, limit: int) -> list[SharedMessage]:
    """At most `limit` messages after number `after`, all of one page; [] at the end."""
    page = select(_p.first_message, _p.messages).where(
        _p.snapshot_id == snapshot_id, _p.first_message > _FILES_PAGE, _p.first_message <= after + 1
    )
    row = connection.execute(page.order_by(_p.first_message.desc()).limit(1)).first()
    return [] if row is None else row.messages[after + 1 - row.first_message :][:limit]


def read_chosen_files(connection: Connection, snapshot_id: str) -> list[ChosenFile]:
    """The files that the snapshot shows."""
    page = select(_p.messages).where(_p.snapshot_id == snapshot_id, _p.first_message == _FILES_PAGE)
    return connection.execute(page).scalar_one_or_none() or []


def _has_content() -> ColumnElement[bool]:
    """A question may be files alone, whether or not readers get these."""
    return or_(_m.text != "", (_m.sender == "user") & (_m.has_parts == 1))


def _shown(user_email: str) -> ColumnElement[bool]:
    """Not empty, finished and not hidden. While an answer is made again, its row holds the earlier version."""
    finished = or_(_m.status != "streaming", _m.chosen_variant.is_not(None))
    own = (_m.user_email == user_email) & _m.deleted_at.is_(None)
    return own & (_m.show_hide != "hide") & _has_content() & finished


def _kept_in(conversation_id: str) -> ColumnElement[bool]:
    """Live and permanent: a snapshot must not outlive a question of a stateless conversation."""
    return live_in(conversation_id) & _m.message_id.not_in(unkept_in(conversation_id))


def _plan(connection: Connection, shown: ColumnElement[bool]) -> list[list[int]]:
    """The messages of each page, by `seq`."""
    query = select(_m.seq, func.length(_m.text)).where(shown).order_by(_m.ordinal)
    pages: list[list[int]] = []
    characters = 0
    for number, length in connection.execute(query):
        characters += length
        if not pages or characters > _CHARACTERS_A_PAGE or len(pages[-1]) >= MESSAGES_A_PAGE:
            pages.append([])
            characters = length
        pages[-1].append(number)
    return pages


def _copies(
    connection: Connection, which: ColumnElement[bool], *, first: int, choice: Choice
) -> tuple[list[SharedMessage], list[ChosenFile]]:
    """The copies of these messages, and the chosen files among theirs.

    These columns and no others: a message's report, memories and settings reveal things outside of it.
    """
    query = select(
        _m.message_id,
        _m.message_short_hash,
        _m.sender,
        _m.config["model"].as_string().label("model"),
        _m.text,
        _m.created_at,
        _m.chosen_variant,
        _m.has_parts,
    )
    rows = connection.execute(query.where(which).order_by(_m.ordinal)).all()
    having_parts = [row.message_id for row in rows if row.has_parts]
    parts = parts_of(connection, having_parts) if having_parts else {}
    copies: list[SharedMessage] = []
    files: list[ChosenFile] = []
    for index, row in enumerate(rows, first):
        copy = SharedMessage(
            message_index=index,
            message_short_hash=row.message_short_hash,
            sender=row.sender,
            model=row.model if row.sender == "model" and row.model != _NO_MODEL else None,
            text=row.text,
            created_at=row.created_at,
        )
        own = parts.get((row.message_id, row.chosen_variant or 1), ())
        if seen := choice.shown(own):
            copy["parts"] = seen
        copies.append(copy)
        files += [
            ChosenFile(message_index=index, number=part["id"], attachment_id=part["attachment_id"])
            for part in filter(choice.has, own)
        ]
    return copies, files


def _add(connection: Connection, page: dict[str, Any]) -> None:
    connection.execute(insert(share_pages).values(page))
