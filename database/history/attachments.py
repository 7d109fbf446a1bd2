"""The files of people as rows; `attachments.storage` keeps the files themselves.

A message uses a file by a part of the kind `file` or `image` that names its `attachment_id`.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import ColumnElement, Connection, delete, exists, insert, select

from database.accounts.quotas import bytes_in
from database.conversations.conversation import access_head
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import AttachmentNotFoundError, ConflictError
from database.engine.text import storable
from database.messages.message import places_of
from database.messages.parts import is_file, parts_of
from database.schema import IS_FILE, attachments, message_parts, messages, users
from database.search.passages import forget_unowned
from sentences import say

_c, _p = attachments.c, message_parts.c
_AT_ONCE = 500
_TOLD = ("name", "media_type", "size", "pages", "characters", "lines", "width", "height", "problem")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attachment:
    """A file of a person. sha256: of its content. kind: text, pdf, docx, xlsx, odt, pptx, image. size: in bytes.

    width, height: of a picture. problem: why there is no text, or not all of it; see `attachments.extraction`.
    """

    attachment_id: str
    user_email: str
    sha256: str
    name: str
    media_type: str
    kind: str
    size: int
    pages: int | None = None
    characters: int | None = None
    lines: int | None = None
    width: int | None = None
    height: int | None = None
    problem: str = ""
    created_at: str = ""

    def part(self, number: int, *, at: int) -> dict[str, Any]:
        """The part by which a message uses the file as its `number`-th, from 1."""
        told = {name: value for name, value in asdict(self).items() if name in _TOLD and value not in (None, "")}
        kind = "image" if self.kind == "image" else "file"
        return {"id": number, "kind": kind, "at": at, "attachment_id": self.attachment_id, **told}


_FIELDS = tuple(_c[name] for name in Attachment.__dataclass_fields__)


def add_attachment(
    *,
    database: Database,
    user_email: str,
    sha256: str,
    fields: Mapping[str, Any],
    admit: Callable[[int], None] = lambda _bytes: None,
    unmetered: Collection[str] = (),
) -> Attachment:
    """Store a file's row, or find the one that the person has of this content and name.

    fields: the others of `Attachment`. admit: called within the transaction with the bytes of all files and documents
    that the person has then, where the content is new; raises where there is no room. unmetered: see `bytes_in`.
    """
    name = storable(str(fields["name"]))

    def job(connection: Connection) -> Attachment:
        same = (_c.user_email == user_email) & (_c.sha256 == sha256) & (_c.name == name)
        known = _first(connection, same)
        if known is not None:
            return known
        of_content = (_c.user_email == user_email) & (_c.sha256 == sha256)
        if _first(connection, of_content) is None:
            admit(bytes_in(connection, user_email, unmetered=unmetered))
        own = {"attachment_id": str(uuid.uuid4()), "user_email": user_email, "sha256": sha256}
        added = Attachment(**{**fields, **own, "name": name, "created_at": now_iso()})
        connection.execute(insert(attachments), asdict(added))
        return added

    return database.write(job)


def get_attachment(*, database: Database, user_email: str, attachment_id: str) -> Attachment:
    """One file of the person. Raises AttachmentNotFoundError."""
    with database.reading() as connection:
        return _own(connection, user_email, [attachment_id])[0]


def any_attachment(*, database: Database, attachment_id: str) -> Attachment:
    """One file, whoever's it is: for the server's own work. Raises AttachmentNotFoundError."""
    with database.reading() as connection:
        found = _first(connection, _c.attachment_id == attachment_id)
    if found is None:
        raise AttachmentNotFoundError
    return found


def parts_for(
    connection: Connection, attachment_ids: Sequence[str], *, user_email: str, at: int
) -> list[dict[str, Any]]:
    """The parts by which a message uses these files, in order. Raises AttachmentNotFoundError."""
    if not attachment_ids:
        return []
    found = _own(connection, user_email, list(dict.fromkeys(attachment_ids)))
    return [attachment.part(number, at=at) for number, attachment in enumerate(found, 1)]


def those_stored(*, database: Database, user_email: str, attachment_ids: Sequence[str]) -> list[str]:
    """Those of `attachment_ids` that are files of the person, in order."""
    query = select(_c.attachment_id).where(_c.user_email == user_email, _c.attachment_id.in_(attachment_ids))
    with database.reading() as connection:
        found = set(connection.execute(query).scalars())
    return [each for each in attachment_ids if each in found]


def attachments_by_id(*, database: Database, user_email: str, attachment_ids: Sequence[str]) -> dict[str, Attachment]:
    """Those of these files that are the person's, by their ids."""
    found: dict[str, Attachment] = {}
    with database.reading() as connection:
        for start in range(0, len(attachment_ids), _AT_ONCE):
            some = _c.attachment_id.in_(attachment_ids[start : start + _AT_ONCE])
            rows = connection.execute(select(*_FIELDS).where(_c.user_email == user_email, some))
            found |= {row.attachment_id: Attachment(**row._asdict()) for row in rows}
    return found


def _own(connection: Connection, user_email: str, attachment_ids: Sequence[str]) -> list[Attachment]:
    query = select(*_FIELDS).where(_c.user_email == user_email, _c.attachment_id.in_(attachment_ids))
    found = {row.attachment_id: Attachment(**row._asdict()) for row in connection.execute(query)}
    if any(each not in found for each in attachment_ids):
        raise AttachmentNotFoundError
    return [found[each] for each in attachment_ids]


def _first(connection: Connection, condition: ColumnElement[bool]) -> Attachment | None:
    row = connection.execute(select(*_FIELDS).where(condition).limit(1)).first()
    return None if row is None else Attachment(**row._asdict())


def stored_content(*, database: Database, user_email: str, sha256: str) -> Attachment | None:
    """A file of the person with this content, if there is one."""
    with database.reading() as connection:
        return _first(connection, (_c.user_email == user_email) & (_c.sha256 == sha256))


def hashes_of(connection: Connection, attachment_ids: Collection[str], *, user_email: str) -> dict[str, str]:
    """The SHA-256 of those of these files that are the person's, by their ids."""
    found: dict[str, str] = {}
    named = sorted(set(attachment_ids))
    for start in range(0, len(named), _AT_ONCE):
        some = _c.attachment_id.in_(named[start : start + _AT_ONCE])
        rows = connection.execute(select(_c.attachment_id, _c.sha256).where(_c.user_email == user_email, some))
        found |= {row.attachment_id: row.sha256 for row in rows}
    return found


def all_contents(*, database: Database) -> set[tuple[str, str]]:
    """Every content that has a row: the id of the person whose it is, and its SHA-256."""
    owned = select(users.c.user_id, _c.sha256).join(users, users.c.user_email == _c.user_email).distinct()
    with database.reading() as connection:
        return {(row.user_id, row.sha256) for row in connection.execute(owned)}


def list_attachments(*, database: Database, user_email: str) -> list[Attachment]:
    """All files of the person, the oldest first."""
    query = select(*_FIELDS).where(_c.user_email == user_email).order_by(_c.created_at, _c.attachment_id)
    with database.reading() as connection:
        return [Attachment(**row._asdict()) for row in connection.execute(query)]


def delete_unsent(*, database: Database, user_email: str, attachment_id: str) -> Attachment:
    """Delete the row of a file that no message uses. Raises AttachmentNotFoundError, ConflictError for one in use."""

    def job(connection: Connection) -> Attachment:
        (attachment,) = _own(connection, user_email, [attachment_id])
        if connection.execute(select(_in_use()).where(_c.attachment_id == attachment_id)).scalar_one():
            raise ConflictError(say("file_in_use"))
        connection.execute(delete(attachments).where(_c.attachment_id == attachment_id))
        forget_unowned(connection, [(user_email, attachment.sha256)])
        return attachment

    return database.write(job)


def delete_unused(*, database: Database, before: str) -> list[Attachment]:
    """Delete the rows of files, stored before `before` (ISO 8601), that no message uses; those that were deleted."""
    some = select(*_FIELDS).where(_c.created_at < before, ~_in_use()).limit(_AT_ONCE)
    deleted = list[Attachment]()

    def job(connection: Connection) -> list[Attachment]:
        found = [Attachment(**row._asdict()) for row in connection.execute(some)]
        ids = [attachment.attachment_id for attachment in found]
        connection.execute(delete(attachments).where(_c.attachment_id.in_(ids)))
        forget_unowned(connection, [(attachment.user_email, attachment.sha256) for attachment in found])
        return found

    while more := database.write(job):
        deleted += more
    return deleted


def _in_use() -> ColumnElement[bool]:
    return exists().where(_p.attachment_id == _c.attachment_id)


def files_of_conversation(*, database: Database, user_email: str, conversation_id: str) -> list[dict[str, Any]]:
    """The files of a conversation's live messages, of all branches, in order of the messages.

    Each is its part with the `number` it has in its message, and with the message. Raises ConversationNotFoundError.
    """
    m = messages.c
    columns = (m.seq, m.message_id, m.message_short_hash, m.sender, m.created_at)
    query = (
        select(_p.part_id, _p.kind, _p.data, *columns)
        .join(messages, m.message_id == _p.message_id)
        .where(m.conversation_id == conversation_id, m.user_email == user_email, m.deleted_at.is_(None), IS_FILE)
        .order_by(m.ordinal, _p.version, _p.part_id)
    )
    with database.reading() as connection:
        access_head(connection, user_email=user_email, conversation_id=conversation_id)
        found = connection.execute(query).all()
        indexes = places_of(connection, [row.seq for row in found])
    files = {(row.message_id, row.part_id): row for row in found}
    return [
        {
            **row.data,
            "number": row.part_id,
            "kind": row.kind,
            "message_id": row.message_id,
            "message_index": indexes.get(row.seq, 0),
            "message_short_hash": row.message_short_hash,
            "sender": row.sender,
            "created_at": row.created_at,
        }
        for row in files.values()
    ]


def files_of_each(
    *, database: Database, user_email: str, conversation_id: str, message_ids: Sequence[str]
) -> dict[str, list[dict[str, Any]]]:
    """The parts of these messages of the conversation that are files, in order, by message id."""
    query = select(messages.c.message_id).where(
        messages.c.message_id.in_(message_ids),
        messages.c.conversation_id == conversation_id,
        messages.c.user_email == user_email,
    )
    with database.reading() as connection:
        own = connection.execute(query).scalars().all()
        parts = parts_of(connection, own)
    return {message_id: [part for part in found if is_file(part)] for (message_id, _), found in parts.items()}
