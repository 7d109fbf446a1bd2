"""What can be wrong with a turn before it is accepted.

TurnError
 ├─ EmptyMessageError     nothing was said
 ├─ MessageTooLongError   more than one message may hold
 ├─ TooManyTurnsError     the person has as many answers written as one may
 │   └─ TooManyQuestionsError   or as many questions to agents wait
 ├─ QuotaReachedError     the person has used what they may use within a day or a month
 ├─ StreamElsewhereError  an answer that is not kept is in the memory of another process, which can't be asked now
 └─ ShuttingDownError     the server is stopping and takes no new turns
"""

from __future__ import annotations

from database.accounts.quotas import UsedUp
from sentences import say


class TurnError(Exception):
    """A turn can't be taken. `message` is one sentence for a person."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class EmptyMessageError(TurnError):
    """The message has no text."""

    def __init__(self) -> None:
        super().__init__(say("message_is_empty"))


class MessageTooLongError(TurnError):
    """The message is longer than a message may be."""

    def __init__(self, *, limit: int) -> None:
        super().__init__(say("message_too_long", most=limit))
        self.limit = limit


class StreamElsewhereError(TurnError):
    """An answer that is not kept is in another process, which can't be asked now."""

    retry_after = 1.0

    def __init__(self) -> None:
        super().__init__(
            "This answer is not kept, and the process that writes it can't be reached from here. Try again in a moment."
        )


class ShuttingDownError(TurnError):
    """The server is stopping."""

    def __init__(self) -> None:
        super().__init__("The server is stopping and takes no new messages. Try again in a moment.")


class TooManyTurnsError(TurnError):
    """The person has as many answers written at once as the operator allows, or asks agents too much at once.

    Nothing was stored: the same request works once an answer has ended, or was stopped.
    """

    retry_after = 5.0

    def __init__(self, *, limit: int) -> None:
        super().__init__(say("turns_at_once", count=limit))


class TooManyQuestionsError(TooManyTurnsError):
    """As many questions to agents wait for their answers as may. limit: of a person; None: of the whole server."""

    def __init__(self, *, limit: int | None) -> None:
        TurnError.__init__(self, say("questions_of_all") if limit is None else say("questions_at_once", count=limit))


class QuotaReachedError(TurnError):
    """The person has used what they may use within a day or a month."""

    def __init__(self, used_up: UsedUp) -> None:
        until = used_up.until[:16].replace("T", " ") + " UTC"
        super().__init__(say(f"quota_{used_up.limit}", most=used_up.most, until=until))
        self.retry_after = float(used_up.seconds)
