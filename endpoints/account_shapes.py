"""What the settings page and the first run send and are answered."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from database.passwords import LONGEST_PASSWORD

from .schemas import Body, Name, Password, Text
from .shapes import Shape


class Welcome(Shape):
    """Where the welcome is."""

    conversation_id: str | None


class Limit(Shape):
    """One limit; the server's administrator changes it by its setting."""

    setting: str
    value: int | float | None
    meaning: str


class Limits(Shape):
    """What the server is set to.

    context_window: of the main model, in tokens. read_only: whoever asks may only look.
    """

    message_characters: int
    context_window: int
    read_only: bool
    settings: list[Limit]


class AccountItem(Shape):
    """An account, as an administrator sees it. `last_seen_at`: of its sessions; null where there is none."""

    user_email: str
    name: str
    is_admin: bool
    created_at: str
    disabled_at: str | None
    last_seen_at: str | None


class OwnName(Body):
    """What a person wants to be called."""

    name: Name


class AccountState(Body):
    """Whether an account may come in."""

    disabled: bool


class AccountDeletion(Body):
    """The account's password, to delete it with everything of it."""

    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]


class ClosedAccount(Shape):
    """The account is closed, and is being erased.

    compacts_itself: false where the stores are so large that the administrator has to run `flask data compact`
    afterwards, until when deleted text may stay in free space of the files.
    """

    status: Literal["ok"]
    compacts_itself: bool


class PasswordLinkItem(Shape):
    """A new password link. path: its address on this server, shown this once. expires_at: ISO 8601 in UTC."""

    path: str
    expires_at: str


class PasswordReset(BaseModel):
    """The new password. keep_tokens: do not revoke the account's API tokens."""

    model_config = ConfigDict(extra="ignore")
    password: Password
    keep_tokens: bool = False
