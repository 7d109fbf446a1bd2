"""What a door to the store may answer instead of data.

StoreError
 ├─ NotFoundError                    also for what belongs to somebody else: the two can't be told apart
 │   ├─ ConversationNotFoundError
 │   │   └─ RoomNotFoundError        holds the nearest ones
 │   ├─ ActivityNotFoundError
 │   ├─ JobNotFoundError
 │   ├─ MessageNotFoundError
 │   ├─ VariantNotFoundError
 │   ├─ BranchNotFoundError
 │   ├─ ThreadNotFoundError
 │   ├─ WorkspaceNotFoundError
 │   ├─ PresetNotFoundError
 │   ├─ PromptNotFoundError
 │   ├─ AgentNotFoundError
 │   ├─ ProposalNotFoundError
 │   ├─ AttachmentNotFoundError
 │   ├─ SessionNotFoundError
 │   ├─ TokenNotFoundError
 │   ├─ ShareNotFoundError
 │   │   └─ ShareOutdatedError       the link shows a newer snapshot than the caller saw
 │   ├─ PasswordLinkNotFoundError
 │   ├─ InvitationNotFoundError
 │   └─ UserNotFoundError
 ├─ ConflictError                    the store has moved on since the caller looked
 │   ├─ TurnInProgressError
 │   ├─ AlreadySentError
 │   ├─ StaleIndexError
 │   ├─ StaleTextError
 │   ├─ ThreadMismatchError
 │   ├─ FriendlyIdTakenError
 │   ├─ NotShareableError
 │   ├─ ProposalDecidedError
 │   ├─ ProposalOutdatedError
 │   ├─ NameTakenError
 │   ├─ UserExistsError
 │   ├─ LastAdministratorError
 │   ├─ AmbiguousReferenceError      holds the ids of all that are called so
 │   └─ StoreIncompleteError         people's things without an account: a file of the data folder is missing
 ├─ InvalidChangeError               the change itself makes no sense (a workspace below itself)
 │   ├─ MessageNotMovableError       a message stays in its conversation
 │   └─ OnlyWithSQLiteError          a command on SQLite's file, where PostgreSQL holds the store
 ├─ StreamExpiredError               the events of an old answer are no longer kept one by one
 ├─ StorageBusyError                 locked by another process for too long: try again
 │   └─ StoreBeingCheckedError       the file is not as the program left it, and is looked through first
 ├─ StorageFailedError               disk full, read-only, or broken
 │   └─ DatabaseDamagedError         the file holds what SQLite would never have written
 ├─ SearchIndexDamagedError          a full-text index is damaged, and is being made anew from its rows: try again
 └─ DatabaseTooNewError              written by a newer version of the program
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Self

from sentences import say

_LONGEST_NAME = 100
_LONGEST_RETRY = 10
"""So many seconds at most nobody asks again: how long a check takes is a guess."""


class StoreError(Exception):
    """Base of all. `message` is one sentence for a person; it never holds SQL or paths of others."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NotFoundError(StoreError):
    """There is no such thing, or it is not yours; the code names its kind."""

    noun = "thing"

    def __init__(self, message: str | None = None) -> None:
        super().__init__(message or f"There is no such {self.noun.replace('_', ' ')}.")


class ConversationNotFoundError(NotFoundError):
    """No such conversation of this user."""

    noun = "conversation"


class RoomNotFoundError(ConversationNotFoundError):
    """No conversation of this user is called so.

    nearest: what those of similar names are called. newest: without such, what the newest are called.
    """

    def __init__(self, name: str, *, nearest: Sequence[str] = (), newest: Sequence[str] = ()) -> None:
        others = f" The nearest: {', '.join(nearest)}." if nearest else ""
        others = others or (f" The newest: {', '.join(newest)}." if newest else "")
        super().__init__(f"There is no conversation {name}.{others}")
        self.has_others = bool(others)


class ActivityNotFoundError(NotFoundError):
    """No such activity of this user."""

    noun = "activity"

    @classmethod
    def named(cls, reference: str) -> Self:
        """No activity has this id or short id."""
        return cls(f"There is no activity “{reference[:_LONGEST_NAME]}”.")


class ImportNotFoundError(NotFoundError):
    """No such import of this user."""

    noun = "import"


class JobNotFoundError(NotFoundError):
    """No such job has failed."""

    noun = "job"


class MessageNotFoundError(NotFoundError):
    """No such message in this conversation of this user."""

    noun = "message"


class VariantNotFoundError(NotFoundError):
    """No such variant of this answer."""

    noun = "variant"


class BranchNotFoundError(NotFoundError):
    """No such alternative to this question."""

    noun = "branch"


class ThreadNotFoundError(NotFoundError):
    """No such thread of this user."""

    noun = "thread"


class WorkspaceNotFoundError(NotFoundError):
    """No such workspace of this user."""

    noun = "workspace"


class PresetNotFoundError(NotFoundError):
    """No such preset of this person."""

    noun = "preset"


class PromptNotFoundError(NotFoundError):
    """No such prompt of this person."""

    noun = "prompt"


class AgentNotFoundError(NotFoundError):
    """No such agent of this person."""

    noun = "agent"


class ProposalNotFoundError(NotFoundError):
    """No such proposal to this person."""

    noun = "proposal"


class AttachmentNotFoundError(NotFoundError):
    """No such file of this person."""

    noun = "attachment"


class SessionNotFoundError(NotFoundError):
    """No such session of this user."""

    noun = "session"


class TokenNotFoundError(NotFoundError):
    """No such API token of this user."""

    noun = "token"


class ShareNotFoundError(NotFoundError):
    """No share behind this link. Mistyped, withdrawn and never made are one."""

    noun = "share"

    def __init__(self, message: str = "This link leads nowhere: it was withdrawn or mistyped.") -> None:
        super().__init__(message)


class ShareOutdatedError(ShareNotFoundError):
    """The link shows another snapshot by now: its files are other ones."""

    def __init__(self) -> None:
        super().__init__("The link was renewed, and the page is from before. Go back and reload it.")


class PasswordLinkNotFoundError(NotFoundError):
    """No valid password link. Mistyped, used, replaced and expired read alike."""

    noun = "password_link"

    def __init__(self, message: str = "This link is not valid. It may be used or expired: ask for a new one.") -> None:
        super().__init__(message)


class UserNotFoundError(NotFoundError):
    """No such account."""

    noun = "user"


class InvitationNotFoundError(NotFoundError):
    """No valid invitation. Mistyped, used, withdrawn and expired read alike."""

    noun = "invitation"

    def __init__(
        self, message: str = "This invitation is not valid. It may be used, withdrawn or expired: ask for a new one."
    ) -> None:
        super().__init__(message)


class ConflictError(StoreError):
    """The store has moved on since the caller looked."""


class TurnInProgressError(ConflictError):
    """This conversation is still answering; one turn at a time."""

    def __init__(self, message: str = "This conversation is still answering. Wait for it, or stop it first.") -> None:
        super().__init__(message)


class AlreadySentError(ConflictError):
    """The client sent this message before, under the same id. `message_id`: that of its answer."""

    def __init__(self, *, message_id: str) -> None:
        super().__init__(say("message_sent_before"))
        self.message_id = message_id


class StaleIndexError(ConflictError):
    """The message exists, but no longer at the index the caller named."""


class StaleTextError(ConflictError):
    """The message says something else than the caller saw."""

    def __init__(self, message: str = say("message_changed")) -> None:
        super().__init__(message)


class FriendlyIdTakenError(ConflictError):
    """Another conversation of this user has this friendly id."""


class NotShareableError(ConflictError):
    """The conversation, as it is, can't be shared."""


class ThreadMismatchError(ConflictError):
    """A reply belongs to its parent's thread; the caller named another one."""


class ProposalDecidedError(ConflictError):
    """The proposal was accepted, declined or has expired before. `state`: what became of it."""

    def __init__(self, state: str) -> None:
        super().__init__(say("proposal_decided", state=state))
        self.details = {"state": state}


class ProposalOutdatedError(ConflictError):
    """What the proposal changes has changed since. `diff`: what it would do now; "" where it can't be done any more."""

    def __init__(self, diff: str) -> None:
        super().__init__(say("proposal_outdated"))
        self.details = {"diff": diff}


class NameTakenError(ConflictError):
    """Another preset, prompt or agent of this person has this name."""


class UserExistsError(ConflictError):
    """An account with this e-mail address exists."""


class AmbiguousReferenceError(ConflictError):
    """Several things are called so. `details`: `candidates`, their ids."""

    def __init__(self, message: str, *, candidates: Sequence[str] = ()) -> None:
        super().__init__(message)
        self.details = {"candidates": list(candidates)}


class LastAdministratorError(ConflictError):
    """Without this account nobody could administer the others."""

    def __init__(
        self,
        message: str = say("last_administrator"),
    ) -> None:
        super().__init__(message)


class StoreIncompleteError(ConflictError):
    """The data folder holds people's things and no account, so that nobody can prove whose they are."""

    def __init__(
        self,
        message: str = "This server holds conversations, memories or files, but no accounts: users.db was emptied or "
        "is missing. Restore a backup with `flask --app server data restore`, or make an account on the command line "
        "with `flask --app server users create`.",
    ) -> None:
        super().__init__(message)


class InvalidChangeError(StoreError):
    """The change contradicts itself, e.g. a workspace moved below itself."""


class MessageNotMovableError(InvalidChangeError):
    """A message can't be moved to another conversation by itself."""

    def __init__(self) -> None:
        super().__init__(say("message_not_movable"))


class OnlyWithSQLiteError(InvalidChangeError):
    """The store is a PostgreSQL database, which has its own tools for what was asked."""

    def __init__(self) -> None:
        super().__init__(
            "This works on SQLite's files, and DATABASE_URL names a PostgreSQL database. Use PostgreSQL's own tools "
            "(pg_amcheck, vacuumdb)."
        )


class StreamExpiredError(StoreError):
    """The single events of this answer are no longer kept, or are of an earlier attempt; its text is in the message."""


class StorageBusyError(StoreError):
    """Another process held the database for too long. Trying again helps."""


class StoreBeingCheckedError(StorageBusyError):
    """The file of the database is not as the server left it: it answers nothing until SQLite has checked all of it.

    retry_after: in seconds, when that has probably ended.
    """

    def __init__(self, *, seconds_left: float) -> None:
        super().__init__(
            "The stored data is being checked, since its file is not as this server left it. "
            "Everything is back by itself when that has ended."
        )
        self.retry_after = min(max(math.ceil(seconds_left), 1), _LONGEST_RETRY)


class StorageFailedError(StoreError):
    """The database can't be read or written: disk full, read-only, corrupt."""


class StoreClosedError(StorageFailedError):
    """The store is closed, since the process is ending."""

    def __init__(self, message: str = "The store is closed.") -> None:
        super().__init__(message)


class DatabaseDamagedError(StorageFailedError):
    """The file of the database is damaged. An operator has to look, and to restore a backup."""

    def __init__(
        self,
        message: str = "The stored data is damaged. `flask --app server data verify` says where, "
        "and `flask --app server data restore` puts a backup in its place.",
    ) -> None:
        super().__init__(message)


class SearchIndexDamagedError(StoreError):
    """A full-text index is damaged. The server makes it anew from the stored texts; try again in a moment.

    statement: the SQL that met it, "" where that is unknown.
    """

    def __init__(self, *, statement: str = "") -> None:
        super().__init__("The search index was damaged and is being made anew. Try again in a moment.")
        self.statement = statement


class DatabaseTooNewError(StoreError):
    """The database was written by a newer version of the program."""
