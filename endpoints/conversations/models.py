"""Request and response models of conversations."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import ConfigDict, Field, RootModel, model_validator

from chat.prompting.options import HIGHEST_TEMPERATURE, LONGEST_SYSTEM_PROMPT
from database.conversations.bulk import Change, Fate
from database.conversations.repository import SETTINGS_CHARS
from endpoints.http.models import LARGEST_NUMBER, Body, ClientId, Done, Id, JsonObject, Model, Query, Shape, Text, Title


class ConversationPage(Query):
    """A page of the list of conversations; without a limit, the whole list."""

    limit: Annotated[
        Annotated[int, Field(ge=1, le=10_000)] | None,
        Field(description="How many conversations at most; else all of them."),
    ] = None
    cursor: Annotated[
        Annotated[str, Field(max_length=1_000)] | None,
        Field(description="Where the page begins, as the `Link` of the page before says."),
    ] = None
    include_archived: Annotated[bool, Field(description="Also list archived conversations.")] = False
    archived_only: Annotated[bool, Field(description="List archived conversations alone.")] = False
    workspace_id: Annotated[Id | None, Field(description="Only conversations of this workspace.")] = None
    tag: Annotated[
        Annotated[str, Field(max_length=200)] | None, Field(description="Only conversations with this tag.")
    ] = None
    q: Annotated[
        Annotated[str, Field(max_length=500)] | None,
        Field(description="Only conversations with each of these words in the title."),
    ] = None
    brief: Annotated[
        bool, Field(description="List only what a tree of conversations shows, for thousands of them.")
    ] = False


class Archiving(Body):
    """Whether the conversation is in the archive."""

    archived: bool = True


class NewConversation(Model):
    """A new conversation. Fields we don't know are ignored.

    `client_id`: the same again answers with the conversation that was created under it.
    """

    model_config = ConfigDict(extra="ignore", strict=True)
    client_id: ClientId | None = None


class TitleChange(Body):
    """A title set by a user, which is never overwritten."""

    title: Title


class ConversationSettings(RootModel[JsonObject]):
    """Settings of one conversation: an object of at most 16,384 characters."""

    @model_validator(mode="after")
    def _not_huge(self) -> ConversationSettings:
        if len(self.model_dump_json()) > SETTINGS_CHARS:
            raise ValueError(f"settings take at most {SETTINGS_CHARS:,} characters")
        return self


ModelName = Annotated[Text, Field(min_length=1, max_length=200)]


class AnswerOptions(Body):
    """How answers are made; null leaves it to the server or the model. `answer_tokens`: the most tokens of an answer.

    `system_prompt`: stands in the place of the server's own instructions.
    """

    system_prompt: Annotated[Text, Field(max_length=LONGEST_SYSTEM_PROMPT)] | None = None
    temperature: Annotated[float, Field(ge=0, le=HIGHEST_TEMPERATURE)] | None = None
    answer_tokens: Annotated[int, Field(ge=1, le=LARGEST_NUMBER)] | None = None


class ModelOverrides(Body):
    """The model that answers in the place of the server's main model, by the `id` that `GET /models` gives it."""

    main: ModelName


class TurnOptions(AnswerOptions):
    """How answers are made, and with which tools.

    `use_tools`: whether the model may call tools; null: if it is known to do so. `tools`: those that are switched on or
    off, by name; the others are as `GET /api/tools` says. `allow_writing`: whether tools change documents at once, in
    the place of proposing it.
    """

    use_tools: bool | None = None
    allow_writing: bool | None = None
    tools: Annotated[dict[Annotated[Text, Field(max_length=200)], bool], Field(max_length=1_000)] | None = None


_ToolNames = Annotated[list[Annotated[Text, Field(max_length=200)]], Field(max_length=1_000)]


class SettingsChange(TurnOptions):
    """The settings of a conversation to change: null removes one, those that are left out stay.

    `suggestions`: of the welcome conversation, can only be removed. `allowed_tools`: tools that need consent and may be
    called in this conversation without asking by its own model; `agents_allowed_tools`: the same by id of each agent
    that answers there. A decision on a proposal adds to them.
    """

    model_overrides: ModelOverrides | None = None
    suggestions: None = None
    allowed_tools: _ToolNames | None = None
    agents_allowed_tools: Annotated[dict[Id, _ToolNames], Field(max_length=200)] | None = None


class ConversationItem(Shape):
    """A conversation in the list."""

    conversation_id: str
    user_id: str
    title: str
    summary_till_now: str
    domain: str
    flag: str
    last_updated: str
    created_at: str
    updated_at: str
    conversation_settings: dict[str, Any]
    conversation_friendly_id: str
    workspace_id: str
    workspace_name: str
    archived: bool
    stateless: bool
    pinned: bool
    tags: list[str]
    temporary: bool
    message_count: int


class BriefItem(Shape):
    """A conversation in a brief list. Left out are the flag "none", empty lists, and what is false.

    running_answers: the ids of its answers that are being written now.
    """

    conversation_id: str
    title: str
    updated_at: str
    conversation_friendly_id: str
    workspace_id: str
    message_count: int
    flag: str = "none"
    archived: bool = False
    stateless: bool = False
    pinned: bool = False
    tags: Annotated[list[str], Field(default_factory=list)]
    running_answers: Annotated[list[str], Field(default_factory=list)]


class ConversationDetails(ConversationItem):
    """A conversation. `agent_id`: of the agent that answers in it, unless a message names others."""

    agent_id: str | None


class Tags(Body):
    """All tags of a conversation."""

    tags: Annotated[list[Annotated[Text, Field(max_length=400)]], Field(max_length=100)]


class ConversationTags(Shape):
    """All tags of a conversation."""

    tags: list[str]


class Emptied(Done):
    """How many conversations were permanently erased."""

    erased: int


class ConversationName(Shape):
    """The ids of a conversation."""

    conversation_id: str
    conversation_friendly_id: str


_MOST = 1_000
_VALUED = ("move", "flag", "tag", "untag")


class BulkChange(Body):
    """A change of many conversations.

    `value`: the workspace to "move" to, the "flag" to set, the one tag to "tag" with or to "untag"; else left out.
    """

    conversation_ids: Annotated[list[Id], Field(min_length=1, max_length=_MOST)]
    change: Change
    value: Annotated[Text, Field(min_length=1, max_length=400)] | None = None

    @model_validator(mode="after")
    def _valued_where_it_has_to_be(self) -> BulkChange:
        if (self.change in _VALUED) != (self.value is not None):
            raise ValueError(f"{', '.join(_VALUED)} take a value, the other changes take none")
        return self


class BulkResult(Shape):
    """The outcome for one conversation. `conflict`: of another domain than the workspace, or full of tags."""

    conversation_id: str
    status: Fate


class BulkResults(Shape):
    """One result for each id, in the order in which they were sent."""

    results: list[BulkResult]
