"""What requests may carry: these models check them, and the API's description is made of them."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    RootModel,
    model_validator,
)

from chat.turn import MAX_MESSAGE_CHARS
from database.passwords import LONGEST_PASSWORD, SHORTEST_PASSWORD

SETTINGS_BYTES = 16_384
LARGEST_NUMBER = 2**53
"""Programs that read every number as a float lose count after this one."""
_DEPTH = 20
_EMAIL = re.compile(r"[^@\s/\\?#%\x00-\x20]{1,64}@[^@\s/\\?#%\x00-\x20]{1,190}")


def _without_nul(text: str) -> str:
    if "\x00" in text:
        raise ValueError("a NUL character is not allowed")
    return text


def _email(text: str) -> str:
    address = text.strip().lower()
    if not _EMAIL.fullmatch(address):
        raise ValueError("not an e-mail address")
    return address


def _clean_json(value: Any, depth: int = 0) -> Any:
    if depth > _DEPTH:
        raise ValueError(f"nested more than {_DEPTH} levels deep")
    if isinstance(value, str):
        return _without_nul(value)
    if isinstance(value, list):
        return [_clean_json(item, depth + 1) for item in value]
    if isinstance(value, dict):
        return {_without_nul(str(key)): _clean_json(item, depth + 1) for key, item in value.items()}
    return value


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be empty")
    return text.strip()


def _printable(text: str) -> str:
    if not text.isprintable():
        raise ValueError("must be printable")
    return text


Text = Annotated[str, AfterValidator(_without_nul)]
Email = Annotated[str, Field(max_length=256), AfterValidator(_email)]
Password = Annotated[
    str, Field(min_length=SHORTEST_PASSWORD, max_length=LONGEST_PASSWORD), AfterValidator(_without_nul)
]
Name = Annotated[Text, Field(max_length=200)]
Title = Annotated[Text, Field(max_length=500), AfterValidator(_not_blank)]
Id = Annotated[Text, Field(min_length=1, max_length=400)]
JsonObject = Annotated[dict[str, JsonValue], BeforeValidator(_clean_json)]
References = Annotated[list[Annotated[Text, Field(max_length=400)]], Field(max_length=10_000)]
ClientMessageId = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_printable)]
WorkspaceColor = Annotated[Text, Field(max_length=31, examples=["primary"])]


class Body(BaseModel):
    """A request's body: of exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Query(BaseModel):
    """A request's query parameters; what we don't know is ignored."""

    model_config = ConfigDict(extra="ignore")


class Nothing(Body):
    """No field at all."""


class Credentials(BaseModel):
    """Who wants to sign in."""

    model_config = ConfigDict(extra="ignore")
    email: Annotated[Text, Field(max_length=256)]
    password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]
    next: Annotated[Text, Field(max_length=2_000)] = ""


class FirstAccount(BaseModel):
    """The account that is made before there is any."""

    model_config = ConfigDict(extra="ignore")
    email: Email
    password: Password
    name: Name = ""
    next: Annotated[Text, Field(max_length=2_000)] = ""


class NewAccount(Body):
    """A further account."""

    email: Email
    password: Password
    name: Name = ""
    is_admin: bool = False


class PasswordChange(Body):
    """The password as it is and as it shall be."""

    current_password: Annotated[Text, Field(max_length=LONGEST_PASSWORD)]
    new_password: Password


class UserDetail(Body):
    """What a person tells about themself, for the model to know; any field beside `text` is kept as it is."""

    model_config = ConfigDict(extra="allow", strict=True)
    __pydantic_extra__: dict[str, Annotated[JsonValue, BeforeValidator(_clean_json)]]
    text: Annotated[Text, Field(max_length=20_000)] | None = None


class UserPreference(UserDetail):
    """How a person wants to be answered; any field beside `text` is kept as it is."""


class NewToken(Body):
    """A token for a program. A read-only one may look, and change nothing."""

    name: Annotated[Text, Field(min_length=1, max_length=100), AfterValidator(_not_blank)]
    read_only: bool = False


class ConversationPage(Query):
    """Which part of the list; without a limit, all of it."""

    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None
    cursor: Annotated[str, Field(max_length=1_000)] | None = None
    include_archived: bool = False
    archived_only: bool = False


class Archiving(Body):
    """Whether the conversation is in the archive."""

    archived: bool = True


class TitleChange(Body):
    """A title that a person gives: it is never overwritten."""

    title: Title


class ConversationSettings(RootModel[JsonObject]):
    """Settings of one conversation: an object of at most 16 KB."""

    @model_validator(mode="after")
    def _not_huge(self) -> ConversationSettings:
        if len(self.model_dump_json()) > SETTINGS_BYTES:
            raise ValueError(f"settings take at most {SETTINGS_BYTES:,} bytes")
        return self


class MessageWindow(Query):
    """Which messages: before, after or around an index (around also an id or a hash); without any, all."""

    before: Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None = None
    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] | None = None
    around: Annotated[str, Field(min_length=1, max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=10_000)] | None = None

    @model_validator(mode="after")
    def _one_window(self) -> MessageWindow:
        if self.around is not None and (self.before is not None or self.after is not None):
            raise ValueError("around stands alone")
        return self


class MessageEdit(Body):
    """The message's new text. `based_on`: what it said when it was edited; if it says something else, it stays so."""

    text: Annotated[Text, Field(max_length=MAX_MESSAGE_CHARS), AfterValidator(lambda text: _not_blank(text) and text)]
    based_on: Text | None = None


class MessageVisibility(Body):
    """Whether models see the message."""

    show_hide: Literal["show", "hide"]


class MessageMove(Body):
    """Messages that move together by one place."""

    message_ids: Annotated[list[Id], Field(min_length=1, max_length=10_000)]
    direction: Literal["up", "down"]


class Outgoing(BaseModel):
    """A message to the model. Fields we don't know are ignored; what only the server may say can't be said here."""

    model_config = ConfigDict(extra="ignore", strict=True)
    messageText: Text  # noqa: N815 - clients exist
    checkboxes: JsonObject = {}
    referenced_friendly_ids: References = []
    referenced_claim_ids: References = []
    attached_claim_ids: References = []
    reply_to: Id | None = None
    thread_id: Id | None = None
    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientMessageId | None = None


class Repetition(Body):
    """Which model makes an answer again; null: the one that the conversation has chosen, else the main one."""

    model: Annotated[Text, Field(max_length=200)] | None = None
    client_message_id: ClientMessageId | None = None


class StreamPosition(Query):
    """The number of the last event that the caller has."""

    after: Annotated[int, Field(ge=0, le=LARGEST_NUMBER)] = 0


class WorkspaceDraft(Body):
    """Colour and place of a new workspace."""

    workspace_color: WorkspaceColor = "primary"
    parent_workspace_id: Id | None = None


class WorkspaceChange(Body):
    """What shall change; the rest stays."""

    workspace_name: Title | None = None
    workspace_color: WorkspaceColor | None = None
    expanded: bool | None = None


class WorkspacesCollapse(Body):
    """Which workspaces close."""

    workspace_ids: Annotated[list[Id], Field(max_length=1_000)]


class WorkspaceMove(Body):
    """The new parent; null is the top."""

    parent_workspace_id: Id | None


class ConversationMove(Body):
    """Where the conversation goes."""

    workspace_id: Id


class ConversationSearch(Query):
    """What was typed of a friendly id or title."""

    q: Annotated[str, Field(max_length=500)] = ""
    domain: Annotated[str, Field(max_length=64)] | None = None
    limit: Annotated[int, Field(ge=1, le=100)] = 10


class MessageSearch(Query):
    """Words to find; none: the newest messages."""

    q: Annotated[str, Field(max_length=2_000)] = ""
    limit: Annotated[int, Field(ge=1, le=100)] = 20


class ReferenceQuestion(Query):
    """A reference as typed, with or without its "@"."""

    ref: Annotated[str, Field(min_length=1, max_length=400)]
