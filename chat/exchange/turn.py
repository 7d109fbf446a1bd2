"""A running turn: the accepted question, the context gathered so far, and the stream of its events."""

from __future__ import annotations

import asyncio
import atexit
import logging
import threading
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Coroutine,
    Generator,
    Iterator,
    Mapping,
    Sequence,
)
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Self

from chat.prompting.citing import MarkRemover, Marks, shows_marks
from chat.prompting.items import neutralised
from chat.prompting.options import AnswerOptions, Preferences
from chat.prompting.prompt import GivenAnswer
from conversation_reference_utils import ParsedReferences
from database.conversations.titles import heuristic_title, words_for_title
from database.engine.database import Database, Job
from database.engine.text import storable
from database.messages.message import Message
from database.turns.identity import AcceptedTurn, AgentIdentity, config_of_answer
from language_models.ports import ChatModel
from sentences import NOTHING, Sentence, say, together

from . import events
from .documents import AnswerDocuments, DocumentReference, referenced_block
from .events import Event
from .files import AttachedFiles
from .parts import AnswerParts
from .ports import ConversationLoader, TurnServices

log = logging.getLogger(__name__)
MOST_ANSWERERS = 6
"""How many agents answer one message."""
ABANDONED = events.failure("interrupted", together(say("asker_gone"), say("kept")))
Flush = Callable[[], Coroutine[Any, Any, bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Answerer:
    """The model or agent that gives one answer of a turn.

    agent: the `{id, title}` that its answer is shown with; None for the model alone. system_prompt: replaces the
    conversation's own; None keeps that. tools: the tools that it may call; None for the conversation's setting.
    has_own_model, notice: see `Turn`. waits: the agent answers later, from its inbox; its answer in the turn is the
    notice alone.
    """

    model: ChatModel
    agent: AgentIdentity | None = None
    system_prompt: str | None = None
    tools: Sequence[str] | None = None
    has_own_model: bool = False
    notice: Sentence = NOTHING
    waits: bool = False

    @property
    def title(self) -> str:
        """The title under which the other answerers see this one."""
        return self.agent["title"] if self.agent else self.model.name


@dataclass(slots=True, kw_only=True)
class Turn:
    """A question that was accepted, and the answer as it grows.

    clean_text: the text without its references, for searches. references: friendly ids without "@", as typed: those
    the client named, then those found in the text, then the wikilinks of the text with their brackets.
    named_documents: the documents that these lead to. earlier_documents: the latest ones of the conversation.
    preferences: what the person wants models to know of them. summary: the running summary, as far as it tells of
    what came before the question. history: the newest messages before the question, oldest first. thread: what else
    belongs to the thread of the question. files: what is attached to it. has_own_model: the model is the one that
    the conversation has chosen. options: of the conversation, replaced by those of the question. notice: what the
    person ought to know of this choice. continued: what the answer said before it goes on. called_before: what
    later turns are told of the calls that it made before, "" for none. is_decided: it goes on after the person
    decided on its calls. parts: what the answer has beside its words. documents: those of the vault that the answer
    rests on. cited: what its words refer to, as entries of a report. status: the answer's, as it will be stored.
    flush: where a server runs the turn, waits until its events are stored; False where they could not be. writes:
    what is stored together with the next event, and shown by it. finished: the answer is stored with its status.
    answer_id, answer_short_id: the ids of the answer that is being written. user_email, conversation_id: whose turn
    it is, and where. database: None for a bundle beside which there is none. has_agents: the person has made
    agents, which is looked up only for a model that calls tools. answerers: those who answer instead of the
    conversation's own model, in order. answering: which of them does. given: what others have answered to the
    question before. title: the task that makes the title of a new conversation; title_due: when it is made at the
    latest, None before anything was answered. is_of_model: a model wrote the question, to an agent: what the person
    hid from models stays hidden.
    """

    accepted: AcceptedTurn
    text: str
    clean_text: str
    references: Sequence[str]
    claim_ids: Sequence[str]
    services: TurnServices
    model: ChatModel
    query: Mapping[str, Any]
    loader: ConversationLoader | None
    preferences: Preferences
    named_documents: Sequence[DocumentReference] = ()
    earlier_documents: Sequence[Mapping[str, Any]] = ()
    summary: str = ""
    history: Sequence[Message] = ()
    thread: str = ""
    files: AttachedFiles = field(default_factory=AttachedFiles)
    has_own_model: bool = False
    options: AnswerOptions = field(default_factory=AnswerOptions)
    notice: Sentence = NOTHING
    continued: str = ""
    called_before: str = ""
    is_decided: bool = False
    answer: list[str] = field(default_factory=list)
    parts: AnswerParts = field(default_factory=AnswerParts)
    documents: AnswerDocuments = field(default_factory=AnswerDocuments)
    status: str = "complete"
    config: dict[str, Any] = field(default_factory=dict)
    flush: Flush | None = None
    writes: list[Job[object]] = field(default_factory=list)
    finished: bool = False
    title: asyncio.Task[str] | None = None
    title_due: asyncio.TimerHandle | None = None
    answerers: Sequence[Answerer] = ()
    answering: int = 0
    given: list[GivenAnswer] = field(default_factory=list)
    cited: Sequence[Mapping[str, Any]] = ()
    answer_id: str = ""
    answer_short_id: str = ""
    user_email: str = ""
    conversation_id: str = ""
    database: Database | None = None
    has_agents: bool = False
    is_of_model: bool = False
    _shared_options: AnswerOptions = field(init=False)

    def __post_init__(self) -> None:
        self.answer_id = self.accepted.response_message_id
        self.answer_short_id = self.accepted.response_short_id
        self._shared_options = self.options
        if self.answerers:
            self._answer_as(self.answerers[0])

    def begin_next(self, answer_id: str, *, short_id: str) -> None:
        """Switch to the next answerer; its answer is a message of its own."""
        said_by = self.answerers[self.answering].title
        answer = {"text": self.answer_text, "short_id": self.answer_short_id, "message_id": self.answer_id}
        self.given.append(GivenAnswer(title=said_by, **answer))
        self.answering += 1
        self._answer_as(self.answerers[self.answering])
        self.config = {name: value for name, value in self.config.items() if name == "memories"}
        self.answer_id, self.answer_short_id = answer_id, short_id
        self.answer, self.parts = [], AnswerParts()
        self.documents, self.cited = AnswerDocuments(), ()

    def _answer_as(self, answerer: Answerer) -> None:
        self.model, self.has_own_model, self.notice = answerer.model, answerer.has_own_model, answerer.notice
        self.options = self._shared_options
        if answerer.system_prompt is not None:
            self.options = replace(self.options, system_prompt=answerer.system_prompt)
        if answerer.tools is not None:
            self.options = replace(self.options, use_tools=bool(answerer.tools), only_tools=frozenset(answerer.tools))

    def fall_back_to(self, model: ChatModel) -> None:
        """Have `model` write the present answer instead of the one that was chosen."""
        self.model, self.has_own_model = model, False
        if self.answerers:
            instead = replace(self.answerers[self.answering], model=model, has_own_model=False)
            before, after = self.answerers[: self.answering], self.answerers[self.answering + 1 :]
            self.answerers = [*before, instead, *after]

    @property
    def message_ids(self) -> frozenset[str]:
        """The messages of this turn: its question, and the answers that there are."""
        own = (self.accepted.user_message_id, self.accepted.response_message_id, self.answer_id)
        return frozenset((*own, *(answer.message_id for answer in self.given)))

    def answering_models(self) -> list[ChatModel]:
        """The models that answer in this turn."""
        return [each.model for each in self.answerers if not each.waits] or [self.model]

    @property
    def agent(self) -> AgentIdentity | None:
        """The agent that answers now; None for a model alone."""
        return self.answerers[self.answering].agent if self.answerers else None

    @property
    def waits(self) -> bool:
        """Whether the present answerer answers later, from its inbox."""
        return bool(self.answerers) and self.answerers[self.answering].waits

    def ended(self) -> dict[str, Any]:
        """The answer as `database.turns.turns.finish_turn` takes it."""
        called = {"tools": self.called_before} if self.called_before else {}
        config = {**config_of_answer(self.model.name, self.agent), **called, **self.config}
        beside = {"parts": self.parts.stored(), "documents": self.documents.stored(), "references": self.cited}
        return {"text": self.answer_text, "status": self.status, "config": config, **beside}

    def of_answer(self, event: Event) -> Event:
        """`event`, which belongs to the answer that is being written; in a turn with several it names that answer."""
        return events.of_answer(event, self.answer_id) if self.answerers else event

    @property
    def marks(self) -> Marks | None:
        """How the history is marked for the model that answers; None if the history has no marks."""
        return Marks(user=self.preferences.name) if shows_marks(self.model) else None

    def mark_remover(self) -> MarkRemover | None:
        """Removes a leading mark from the model's answer; None if it was shown no marks, or continues an answer."""
        if self.continued or (marks := self.marks) is None:
            return None
        agent = self.agent["title"] if self.agent else ""
        return MarkRemover(marks.names_in(self.history, self.model.name, agent))

    @property
    def words(self) -> str:
        """The text of the question as models are given it: that of a person word for word, that of a model as data."""
        return neutralised(self.text) if self.is_of_model else self.text

    @property
    def question(self) -> str:
        """The model's copy of the question: where the model has tools, it ends with the documents that it names."""
        lists_documents = self.named_documents and self.opens_documents
        return self.words + referenced_block(self.named_documents) if lists_documents else self.words

    @property
    def words_for_title(self) -> str:
        """What the title of a new conversation is made of."""
        return words_for_title(self.text, self.accepted.files)

    @property
    def opens_documents(self) -> bool:
        """Whether the model that answers can read documents by calling tools."""
        tools = self.services.tools
        return tools is not None and tools.offers(self, "read_document")

    def documents_returned(self, tool: str, result: Any) -> Event | None:
        """Record which documents the tool `tool` (by its own name, not an alias) returned.

        Returns the event that tells watchers of them; None if there are no new ones. Never raises.
        """
        if not tracks_documents(self.query, self.services) or not self.documents.returned(tool, result):
            return None
        return events.documents(self.documents.stored())

    @property
    def answer_text(self) -> str:
        """The text of the answer so far."""
        return self.continued + "".join(self.answer)

    def note(self, sentence: Sentence) -> Event:
        """Add a notice to the answer: what the person ought to know of it, also when it is complete."""
        return self.parts.add("notice", at=len(self.answer_text), **events.spoken("text", sentence))


Finish = Callable[[Turn, str | None], object]


class TurnStream:
    """The events of a turn: `async for` in a server, plain `for` in scripts and tests. It can be iterated once.

    A script may leave the stream at any point: by `break`, by an exception, at the end of a `with` block, by `close`,
    by dropping it, by ending. The turn is then finished as interrupted with what was said so far, and the conversation
    can answer again. finish: stores the turn with a title.
    """

    def __init__(self, turn: Turn, journey: AsyncGenerator[Event, None], *, finish: Finish) -> None:
        self.accepted = turn.accepted
        self._turn = turn
        self._journey = journey
        self._finish = finish
        self._iterating: weakref.ref[Generator[Event, None, None]] | None = None
        self._on_drop = weakref.finalize(self, _finish_dropped, turn, finish)
        self._on_drop.atexit = False
        _unfinished.add(self)

    def run_by_server(self, flush: Flush) -> None:
        """Leave finishing the turn to the server that runs it; `flush` waits until its events are stored."""
        self._turn.flush = flush
        self._on_drop.detach()
        _unfinished.discard(self)

    def take_writes(self) -> Sequence[Job[object]]:
        """What is to be stored together with the event that came last."""
        writes, self._turn.writes = self._turn.writes, []
        return writes

    def __aiter__(self) -> AsyncIterator[Event]:
        return self

    def __anext__(self) -> Awaitable[Event]:
        return self._journey.__anext__()

    def __iter__(self) -> Iterator[Event]:
        events = self._events()
        self._iterating = weakref.ref(events)
        return events

    def _events(self) -> Generator[Event, None, None]:
        # In a thread of its own, so that a caller may have a running loop.
        with ThreadPoolExecutor(1) as thread, asyncio.Runner() as runner:
            step: Future[Event | None] | None = None
            try:
                while (event := (step := thread.submit(runner.run, _next(self._journey))).result()) is not None:
                    yield event
            finally:
                if step is not None and not step.done():  # Ctrl-C while the model thinks
                    runner.get_loop().call_soon_threadsafe(_cancel_all)
                # An interpreter that is ending takes no more work; `_finish_all` has finished the turn.
                with suppress(RuntimeError):
                    thread.submit(runner.run, self._leave()).result()
                    thread.submit(runner.close).result()

    async def _leave(self) -> None:
        await self._journey.aclose()
        _finish_abandoned(self._turn, self._finish)

    def close(self) -> None:
        """Leave the stream; a no-op after its end."""
        iterating = self._iterating() if self._iterating is not None else None
        if iterating is not None:
            iterating.close()
        _finish_abandoned(self._turn, self._finish)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


async def _next(journey: AsyncIterator[Event]) -> Event | None:
    return await anext(journey, None)


def _cancel_all() -> None:
    for task in asyncio.all_tasks():
        task.cancel()


_unfinished: weakref.WeakSet[TurnStream] = weakref.WeakSet()
_finishing: set[threading.Thread] = set()


def wait_for_abandoned_turns() -> None:
    """Wait until the turns that this process has dropped are finished: their conversations are asked again."""
    for thread in list(_finishing):
        thread.join()


def _finish_dropped(turn: Turn, finish: Finish) -> None:
    """Finish the turn of a stream that was garbage-collected.

    This runs in a new thread: the garbage collector may call it anywhere, even while this process holds one of its
    locks.
    """
    if turn.finished:
        return

    def work() -> None:
        try:
            _finish_abandoned(turn, finish)
        finally:
            _finishing.discard(threading.current_thread())

    thread = threading.Thread(target=work, name="abandoned-turn")
    _finishing.add(thread)
    thread.start()


def _finish_all() -> None:
    for stream in list(_unfinished):
        _finish_abandoned(stream._turn, stream._finish)


atexit.register(_finish_all)


def _finish_abandoned(turn: Turn, finish: Finish) -> None:
    if turn.finished or turn.flush is not None:
        return
    turn.finished = True
    turn.status = "interrupted"
    turn.config["error"] = ABANDONED
    has_title = turn.accepted.conversation_friendly_id or not turn.accepted.kept
    try:
        finish(turn, None if has_title else heuristic_title(turn.words_for_title))
    except Exception:  # whoever leaves hears of nothing any more; a server's start closes the turn
        log.exception("the abandoned turn %s could not be finished", turn.answer_id)


def tracks_documents(query: Mapping[str, Any], services: TurnServices) -> bool:
    """Whether links between double brackets are followed: neither the operator nor the person has switched that off."""
    is_offered = services.tracks_documents and services.vaults is not None
    return is_offered and bool((query.get("checkboxes") or {}).get("use_documents", True))


def named_references(
    query: Mapping[str, Any], typed: ParsedReferences, *, links: Sequence[str]
) -> tuple[list[str], list[str]]:
    """References and claim ids of `query`: those the client lists, then those typed, each once.

    links: the wikilinks of the text, which go behind the others.
    """
    friendly_ids = [*query.get("referenced_friendly_ids", ()), *typed.friendly_ids, *links]
    claim_ids = [*query.get("referenced_claim_ids", ()), *typed.claim_ids]
    bare = (storable(friendly_id.removeprefix("@")) for friendly_id in friendly_ids)
    return list(dict.fromkeys(bare)), list(dict.fromkeys(map(storable, claim_ids)))
