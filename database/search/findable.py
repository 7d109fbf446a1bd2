"""Whether a search beyond the present conversation could find anything of this person."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy import exists, select

from database.engine.database import Database
from database.schema import conversations, documents, file_passages


class Findable(NamedTuple):
    """What exists. conversations: others than the present one."""

    conversations: bool
    documents: bool
    files: bool


def findable_by(user_email: str, *, database: Database, conversation_id: str) -> Findable:
    """What `user_email` has besides the present conversation, by one statement."""
    c, d = conversations.c, documents.c
    others = exists().where(c.user_email == user_email, c.conversation_id != conversation_id)
    files = exists().where(file_passages.c.user_email == user_email)
    query = select(others, exists().where(d.user_email == user_email), files)
    with database.reading() as connection:
        return Findable(*map(bool, connection.execute(query).one()))
