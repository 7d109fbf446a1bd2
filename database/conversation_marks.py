"""What a person sets a conversation apart by: a coloured flag, a pin, its place in the archive."""

from __future__ import annotations

from sqlalchemy import Connection, update

from .clock import now_iso
from .connection import open_store
from .conversations import read_live, update_conversation
from .errors import InvalidChangeError
from .schema import conversations

FLAGS = ("none", "red", "orange", "yellow", "green", "blue", "purple")


def set_flag(*, users_dir: str, user_email: str, conversation_id: str, flag: str) -> None:
    """Give a conversation one of `FLAGS`.

    Raises:
        InvalidChangeError: there is no such flag.
        ConversationNotFoundError: missing, somebody else's, or in the bin.
    """
    if flag not in FLAGS:
        raise InvalidChangeError(f"A flag is one of {', '.join(FLAGS)}.")
    own = {"users_dir": users_dir, "user_email": user_email, "conversation_id": conversation_id}
    update_conversation(**own, changes={"flag": flag})


def set_pinned(*, users_dir: str, user_email: str, conversation_id: str, pinned: bool) -> None:
    """Pin a conversation, or take its pin away; one that is pinned already keeps the time of its pin.

    Raises:
        ConversationNotFoundError: missing, somebody else's, or in the bin.
    """

    def job(connection: Connection) -> None:
        row = read_live(connection, user_email=user_email, conversation_id=conversation_id)
        if (row.pinned_at is not None) == pinned:
            return
        changed = {"pinned_at": now_iso() if pinned else None, "version": conversations.c.version + 1}
        own = conversations.c.conversation_id == conversation_id
        connection.execute(update(conversations).where(own).values(changed))

    open_store(users_dir).write(job)
