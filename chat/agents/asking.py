"""Agents that are asked a question by another agent, by a model, or by a program: `ask_agent`.

The agent that is asked answers in a conversation of its own, which the person can open and go on with. The question
names the agent that asked it.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol, cast

import orjson

import tracing
from chat.exchange.errors import TooManyQuestionsError, TurnError
from chat.exchange.ports import AgentCaller, AgentQuestion, ConversationLoader, TurnServices
from chat.turns.accept import AGENT_CHAIN, ASKED_BY, REQUEST_ID
from chat.turns.runner import Replies
from database.agents.repository import GLOBAL_SLUG, Agent, assign_conversation, get_agent, has_agents
from database.conversations.repository import (
    create_conversation,
    delete_conversation,
    find_by_friendly_id,
    get_conversation,
)
from database.engine.database import Database
from database.engine.errors import AgentNotFoundError, InvalidChangeError
from database.messages.message import WRITTEN_BY_MODEL
from language_models.errors import ModelFailedError

DEEPEST = 2
"""A person's message may lead to a question to an agent, and that to one more."""
_AT_ONCE = 32
"""Questions that wait for their answers: for each, the tool loop has a thread."""
_OF_PERSON = 4
_DOMAIN = "assistant"


class Stream(Protocol):
    """The events of a turn."""

    @property
    def message_id(self) -> str:
        """Of the answer."""

    def lines(self, after: int = 0) -> Iterator[bytes]:
        """Chunks of NDJSON lines, until the turn has ended."""


class Turns(Protocol):
    """Runs turns: `TurnRunner`."""

    def start(self, conversation: Replies, query: Mapping[str, Any]) -> Stream:
        """Accept a turn and let it run."""

    def stop(self, message_id: str) -> None:
        """Stop the turn that writes this answer, if it runs; what was said is kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answer:
    """text: what was said. status: that of the answer. failure: why it broke off, if it did. notices: beside it.

    is_late: it took longer than it may.
    """

    text: str
    status: str
    failure: str
    notices: tuple[str, ...] = ()
    is_late: bool = False


class AgentDesk:
    """Where agents are asked. Thread-safe; a question blocks its thread until it is answered."""

    def __init__(self, *, database: Database) -> None:
        self._database = database
        self._lock = threading.Lock()
        self._waiting = Counter[str]()
        self._turns: Turns | None = None
        self._owners: set[str] = set()

    def run_turns_by(self, turns: Turns) -> None:
        """Have turns run by `turns` from now on; nobody can be asked before."""
        self._turns = turns

    def has_agents(self, user_email: str) -> bool:
        """Whether the person has made an agent; who has is remembered. Raises StoreError."""
        if user_email not in self._owners and has_agents(database=self._database, user_email=user_email):
            self._owners.add(user_email)
        return user_email in self._owners

    def ask(
        self, question: AgentQuestion, *, caller: AgentCaller, services: TurnServices, load: ConversationLoader
    ) -> dict[str, Any]:
        """The answer of the agent, as a result of the tool.

        Raises AgentNotFoundError, ConversationNotFoundError, InvalidChangeError (too deep, in the chain already, or the
        conversation is another agent's), TooManyQuestionsError, ModelFailedError, and what accepting a turn raises.
        """
        asked = get_agent(database=self._database, user_email=caller.user_email, agent=question.agent)
        source = self._source(caller)
        depth, chain = _next_link(asked, caller, source)
        found, is_new = self._conversation(asked, caller.user_email, question.conversation_id)
        query = {
            **_query(question, caller),
            "_users_dir": str(self._database.folder),
            "_services": services,
            "_conversation_loader": load,
            ASKED_BY: source.identity if source else None,
            REQUEST_ID: tracing.began_by.get(),
            AGENT_CHAIN: (depth, chain),
        }
        try:
            answer = self._answered(cast("Replies", load(found)), query, caller, seconds=question.seconds)
        except TurnError:
            if is_new:
                delete_conversation(database=self._database, user_email=caller.user_email, conversation_id=found)
            raise
        if answer.status != "complete":
            late = f"{asked.title} took longer than {question.seconds:g} s and was stopped." if answer.is_late else ""
            raise ModelFailedError(late or answer.failure or f"{asked.title} was stopped before it had answered.")
        metadata = {
            "agentId": asked.agent_id,
            "sourceAgentId": source and source.agent_id,
            "sourceAgentTitle": source and source.title,
            "callDepth": depth,
            "isNewConversation": is_new,
        }
        notices = {"notices": answer.notices} if answer.notices else {}
        return {"success": True, "answer": answer.text, **notices, "conversationId": found, "metadata": metadata}

    def _source(self, caller: AgentCaller) -> Agent | None:
        """The agent that asks; the Global Assistant for a model without one, None for a person or a program."""
        if not caller.is_model:
            return None
        who: dict[str, Any] = {"database": self._database, "user_email": caller.user_email}
        try:
            return get_agent(**who, agent=caller.agent_id or GLOBAL_SLUG)
        except AgentNotFoundError:  # it was deleted while it answered
            return None

    def _conversation(self, asked: Agent, user_email: str, named: str | None) -> tuple[str, bool]:
        """The id of the conversation in which `asked` answers, and whether it is new."""
        who: dict[str, Any] = {"database": self._database, "user_email": user_email}
        if named is None:
            made = create_conversation(**who, domain=_DOMAIN).conversation_id
            assign_conversation(**who, conversation_id=made, agent=asked.agent_id)
            return made, True
        known = find_by_friendly_id(**who, conversation_friendly_id=named) or named
        if get_conversation(**who, conversation_id=known).agent_id != asked.agent_id:
            raise InvalidChangeError(f"This conversation is not one of {asked.title}'s.")
        return known, False

    def _answered(
        self, conversation: Replies, query: Mapping[str, Any], caller: AgentCaller, *, seconds: float
    ) -> _Answer:
        with self._room(caller.user_email) as turns:
            until = time.monotonic() + seconds
            stream = turns.start(conversation, query)
            if caller.on_stop is not None:
                caller.on_stop(partial(turns.stop, stream.message_id))
            answer = _read(stream, until=until)
            if answer.is_late:
                turns.stop(stream.message_id)
            return answer

    @contextmanager
    def _room(self, user_email: str) -> Iterator[Turns]:
        """Held while a question of the person waits for its answer. Raises TooManyQuestionsError."""
        with self._lock:
            turns, own, all_people = self._turns, self._waiting[user_email], self._waiting.total()
            if own >= _OF_PERSON:
                raise TooManyQuestionsError(limit=_OF_PERSON)
            if turns is None or all_people >= _AT_ONCE:
                raise TooManyQuestionsError(limit=None)
            self._waiting[user_email] += 1
        try:
            yield turns
        finally:
            with self._lock:
                self._waiting[user_email] -= 1
                if not self._waiting[user_email]:
                    del self._waiting[user_email]


def _next_link(asked: Agent, caller: AgentCaller, source: Agent | None) -> tuple[int, tuple[str, ...]]:
    """How deep the question to `asked` is, and the agents that wait for its answer. Raises InvalidChangeError."""
    asking = source.agent_id if source else caller.agent_id
    depth, chain = caller.depth + 1, (*caller.chain, *([asking] if asking else []))
    if asked.agent_id in chain:
        raise InvalidChangeError(f"{asked.title} is waiting for this answer itself, so it can't be asked.")
    if depth > DEEPEST:
        raise InvalidChangeError(f"Agents ask each other at most {DEEPEST} deep. Answer with what you know.")
    return depth, tuple(dict.fromkeys(chain))


def _query(question: AgentQuestion, caller: AgentCaller) -> dict[str, Any]:
    """What is asked, and with which options.

    A model whose own conversation does not allow writing gets no document changed by asking in one that does.
    """
    text = f"{question.text}\n\n{question.context}" if question.context.strip() else question.text
    query: dict[str, Any] = {"messageText": text}
    if caller.is_model and not caller.may_write:
        query["options"] = {"allow_writing": False}
    if caller.is_model or caller.asks_for_model:
        query[WRITTEN_BY_MODEL] = True
    return query


def _read(stream: Stream, *, until: float) -> _Answer:
    """What the stream says until its end; the time is looked at with each chunk, in pauses with each heartbeat."""
    text, status, failure, notices = list[str](), "", "", list[str]()
    for chunk in stream.lines():
        if time.monotonic() > until:
            return _Answer(text="".join(text), status="", failure="", is_late=True)
        for event in map(orjson.loads, chunk.splitlines()):
            text.append(event["text"])
            failure = event.get("error", {}).get("message", failure)
            status = event.get("answer_status", status)
            if (part := event.get("part", {})).get("kind") == "notice":
                notices.append(part["text"])
    return _Answer(text="".join(text), status=status, failure=failure, notices=tuple(notices))
