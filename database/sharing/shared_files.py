"""Files behind shared links: which ones an owner can choose, and whether a chosen one may still be read.

A snapshot holds no file, only which were chosen. So a file that is erased, with its message or its conversation or by
itself, is gone from the link as well.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from sqlalchemy import Connection, exists, func, select

from database.engine.errors import ShareNotFoundError
from database.history.attachments import Attachment
from database.messages.message import live_in_any_branch
from database.schema import IS_FILE, attachments, message_parts, messages

from .snapshots import read_chosen_files, shown_in

_a, _m, _p = attachments.c, messages.c, message_parts.c


@dataclass(frozen=True, slots=True, kw_only=True)
class ShareableFile:
    """A file of a message that a new snapshot would show. is_shared: the link shows it as it is now."""

    attachment_id: str
    name: str
    media_type: str
    size: int
    is_shared: bool


def shareable_files(
    connection: Connection, *, user_email: str, conversation_id: str, shared: Collection[str] = ()
) -> list[ShareableFile]:
    """The files that a new snapshot could show, each once, in order of the messages.

    shared: the ids of those that the present one shows.
    """
    columns = (_a.attachment_id, _a.name, _a.media_type, _a.size)
    query = (
        select(*columns)
        .join(message_parts, _p.attachment_id == _a.attachment_id)
        .join(messages, _m.message_id == _p.message_id)
        .where(
            shown_in(conversation_id, user_email=user_email),
            _m.has_parts == 1,
            _p.version == func.coalesce(_m.chosen_variant, 1),
            IS_FILE,
            _a.user_email == user_email,
        )
        .order_by(_m.ordinal, _p.part_id)
    )
    found = {row.attachment_id: row._asdict() for row in connection.execute(query)}
    return [ShareableFile(**fields, is_shared=fields["attachment_id"] in shared) for fields in found.values()]


def shared_file(
    connection: Connection, snapshot_id: str, *, user_email: str, conversation_id: str, message_index: int, number: int
) -> Attachment:
    """The `number`-th file of a message of the snapshot, if it was chosen and the conversation has it still.

    Raises ShareNotFoundError.
    """
    place = (message_index, number)
    files = read_chosen_files(connection, snapshot_id)
    chosen = [each["attachment_id"] for each in files if (each["message_index"], each["number"]) == place]
    in_use = exists().where(
        _p.attachment_id == _a.attachment_id,
        _p.message_id == _m.message_id,
        live_in_any_branch(conversation_id),
    )
    query = select(*(_a[name] for name in Attachment.__dataclass_fields__))
    row = connection.execute(query.where(_a.attachment_id.in_(chosen), _a.user_email == user_email, in_use)).first()
    if row is None:
        raise ShareNotFoundError
    return Attachment(**row._asdict())
