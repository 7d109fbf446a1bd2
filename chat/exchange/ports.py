"""What `chat` needs of the world above and beside it, as protocols; it never imports `Conversation`."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from attachments.storage import Attachments
from chat.processes.metrics import Metrics
from database.messages.message import Message
from language_models.ports import ChatMessage, ChatModel
from search.meaning import MessageVectors
from truth_management_system import StructuredAPI
from vault.documents import Vaults

if TYPE_CHECKING:
    from .events import Event
    from .turn import Turn


class AddressableConversation(Protocol):
    """A conversation whose messages can be named by a reference."""

    @property
    def conversation_id(self) -> str:
        """Its opaque id."""

    @property
    def running_summary(self) -> str:
        """What was said so far, condensed; "" where nothing was condensed yet."""

    def get_metadata(self) -> dict[str, Any]:
        """Title, friendly id, dates, counts."""

    def message_at(self, index: int) -> Message | None:
        """The live message with this 1-based index, or None."""

    def message_by_hash(self, short_hash: str) -> Message | None:
        """The message born with this short hash, also a deleted one (`deleted_at` is set then), or None."""

    def messages_between(self, start: int, end: int) -> Sequence[Message]:
        """Live messages `start` to `end`, 1-based and inclusive, as far as they exist."""

    def last_messages(self, *, max_chars: int) -> Sequence[Message]:
        """The newest live messages that are not hidden, in order, together about `max_chars` long; at least one."""


ConversationLoader = Callable[[str], AddressableConversation]
"""conversation_id → conversation; raises ConversationNotFoundError for what the user doesn't own."""


class VersionedLoader(Protocol):
    """A `ConversationLoader` that keeps conversations, and need not ask whether one has changed since a version."""

    def __call__(self, conversation_id: str) -> AddressableConversation:
        """As `ConversationLoader`."""

    def at_version(self, conversation_id: str, version: int) -> AddressableConversation:
        """The conversation as it is at a version that the store has just told, or later."""


OnStop = Callable[[Callable[[], None]], None]
"""Takes what is to be done when a call is given up; done at once where that has happened before."""


class Models(Protocol):
    """The models by role."""

    def main(self) -> ChatModel:
        """Answers."""

    def cheap(self) -> ChatModel:
        """Distils, titles, summarises."""

    def for_name(self, setting: str) -> ChatModel:
        """The model that a setting like "openai:gpt-5" names.

        Raises ValueError that says what would be right, ModelNotAllowedError for one that the person may not use.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class ReferenceCaps:
    """How much of what is referenced goes into a prompt, in characters: of one message, of one whole conversation."""

    message: int = 8_000
    conversation: int = 24_000


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeLimits:
    """How many memories of each source go into a prompt.

    group: of one context, entity, tag or domain that a message names. found: of a search for the message.
    """

    group: int = 500
    attached: int = 50
    pinned: int = 50
    conversation_pinned: int = 50
    found: int = 10


class KnowledgeDoor(Protocol):
    """Where people's memories are."""

    def for_user(self, user_email: str) -> StructuredAPI:
        """What `user_email` knows. Raises KnowledgeUnavailableError."""

    def is_empty(self, user_email: str) -> bool:
        """Whether `user_email` surely has no memories; False where the store would have to be opened to tell."""


class Ask(Protocol):
    """Asks the model of a turn."""

    def __call__(
        self, turn: Turn, prompt: Sequence[ChatMessage], *, calls: list[Mapping[str, Any]], **options: Any
    ) -> AsyncGenerator[Event, None]:
        """Stream what the model says into the turn and out as events. Tools that it calls are added to `calls`."""


class ToolUse(Protocol):
    """Lets models call tools while they answer."""

    def rounds(self, turn: Turn, prompt: Sequence[ChatMessage], ask: Ask) -> AsyncGenerator[Event, None] | None:
        """The events of an answer that may call tools; None where the model of the turn is offered none."""

    def offers(self, turn: Turn, name: str) -> bool:
        """Whether the model of the turn may call the tool of this name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentCaller:
    """Who asks an agent. is_model: a model does, while it answers; agent_id: the agent that it answers as.

    depth: how many questions to agents have led to this one. chain: the agents that wait for its answer. may_write:
    the person allowed that documents are changed at once. on_stop: takes what is to be done once nobody waits for the
    answer any more. asks_for_model: a program does, whose model may have written the question.
    """

    user_email: str
    is_model: bool = False
    agent_id: str | None = None
    depth: int = 0
    chain: tuple[str, ...] = ()
    may_write: bool = False
    on_stop: OnStop | None = None
    asks_for_model: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentQuestion:
    """A question to an agent. agent: its id or slug. context: what the agent should know, sent with the question.

    conversation_id: an id or friendly id of a conversation of this agent to go on with; None begins one. seconds: how
    long the answer may take.
    """

    agent: str
    text: str
    context: str = ""
    conversation_id: str | None = None
    seconds: float = inf


class AskableAgents(Protocol):
    """Where agents are asked."""

    def ask(
        self, question: AgentQuestion, *, caller: AgentCaller, services: TurnServices, load: ConversationLoader
    ) -> dict[str, Any]:
        """The answer of the agent, as a result of the tool `ask_agent`."""

    def has_agents(self, user_email: str) -> bool:
        """Whether the person has made an agent."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnServices:
    """What a turn is answered with.

    distill_budget: tokens of context from which on it is condensed; None: a quarter of the main model's window, and
    then referenced items don't count, since they go in verbatim anyway. knowledge:
    None: the knowledge base that lies in the data folder, without models. vectors: of messages; None: no messages are
    found by meaning. vaults: people's documents; None: links between double brackets name nothing. attachments: the
    files of messages; None: messages have none. file_cap: tokens of the files of a message that a model is given; None:
    a quarter of its window. tools: None: no model calls tools. agents: None: no agent can be asked by others. recipes:
    of activities.
    messages_found, documents_found: so many related messages, and excerpts of documents, a model is given at most.
    tracks_documents: links to documents are followed, and the documents of answers kept with them.
    embedding_patience: seconds that a turn waits for the embedding model; then words alone have to do.
    distill_patience: seconds that condensing, and reading what nobody named, may delay an answer, by the measured speed
    of the model that condenses or answers.
    distill_timeout, title_timeout: seconds after which either is given up. background_timeout: likewise, for one
    request of the cheap model's other work.
    """

    models: Models
    metrics: Metrics = field(default_factory=Metrics)
    distill_budget: int | None = None
    caps: ReferenceCaps = ReferenceCaps()
    knowledge: KnowledgeDoor | None = None
    knowledge_limits: KnowledgeLimits = KnowledgeLimits()
    vectors: MessageVectors | None = None
    vaults: Vaults | None = None
    attachments: Attachments | None = None
    file_cap: int | None = None
    tools: ToolUse | None = None
    agents: AskableAgents | None = None
    recipes: RecipeRegistry = field(default_factory=partial(RecipeRegistry, BUILT_IN))
    messages_found: int = 3
    documents_found: int = 3
    tracks_documents: bool = True
    embedding_patience: float = 2.0
    distill_patience: float = 3.0
    distill_timeout: float = 20.0
    title_timeout: float = 30.0
    background_timeout: float = 60.0
