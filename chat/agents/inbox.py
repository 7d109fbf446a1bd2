"""Agents that answer what waits in their inboxes: when a person asks for it, or by themselves.

An item is claimed, answered by the agent's model, and stored with the end of the claim in one transaction: whatever
dies in between, nothing is answered twice, and nothing is lost. `database.agents.inbox` says what a claim is.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from activity.posting import checked_post
from activity.recipes.errors import ActivityError
from chat.exchange.errors import QuotaReachedError
from chat.exchange.events import failure
from chat.exchange.ports import ConversationLoader, TurnServices
from chat.processes.threads import WorkerThreads, in_thread
from database.accounts.quotas import Quota, count_tokens, take_message
from database.activities.reading import Activity
from database.agents.inbox import (
    MOST_ATTEMPTS,
    MOST_IN_A_CHAIN,
    Claim,
    Notice,
    Waiting,
    claim_item,
    complete_item,
    fail_item,
    note_waiting,
    release_item,
    renew_claim,
    waiting_agents,
)
from database.agents.repository import Agent, get_agent
from database.engine.database import Database
from database.engine.errors import AgentNotFoundError, StoreError
from database.timeline.posting import Actor, store_post_in
from language_models import blocking
from language_models.errors import ModelError
from sentences import Sentence, say, together

from .replying import Replier, Reply

log = logging.getLogger(__name__)
RENEW_SECONDS = 60.0
_PEOPLE_AT_ONCE = 4
_Result = TypeVar("_Result")


class ClaimLostError(Exception):
    """Somebody else has the item now, or it is gone: what was said is dropped."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Serviced:
    """What became of an item: its answer, or the error with which it failed; neither where the claim was lost."""

    activity: Activity
    answer: Activity | None = None
    error: dict[str, Any] | None = None


class InboxDesk:
    """Answers items of inboxes. Thread-safe; `service` blocks its thread until the answer is stored.

    quota: what a person may use for whom no administrator has set anything else.
    hourly_limit: so many items an agent answers by itself within an hour at most, whatever its own limit says.
    """

    def __init__(
        self,
        *,
        database: Database,
        services: TurnServices,
        loader_for: Callable[[str], ConversationLoader],
        hourly_limit: int,
        quota: Quota | None = None,
    ) -> None:
        self._quota = quota or Quota()
        self._database = database
        self._services = services
        self._replier = Replier(database=database, services=services, loader_for=loader_for)
        self._most_an_hour = hourly_limit

    def hourly_limit(self, agent: Agent) -> int:
        """How many items the agent may answer by itself within an hour."""
        return min(agent.hourly_limit, self._most_an_hour)

    def service(
        self, user_email: str, agent: str, *, by_itself: bool = False, is_stopping: Callable[[], bool] = lambda: False
    ) -> Serviced | None:
        """Answer the oldest item of an agent (id or slug); None where there is nothing to answer.

        by_itself: nobody asked for it, so the agent's limits hold. is_stopping: whether the server stops, so that an
        answer that breaks off has not failed: its item waits again.
        Raises AgentNotFoundError, ConflictError (the agent is answering already), StoreError, QuotaReachedError. By
        itself an agent waits until there is room, and the person is told so once.
        """
        found = get_agent(database=self._database, user_email=user_email, agent=agent)
        limit = self.hourly_limit(found)
        stopped = say("inbox_chain_stopped", count=MOST_IN_A_CHAIN)
        try:
            claim = claim_item(
                database=self._database,
                user_email=user_email,
                agent_id=found.agent_id,
                by_itself=by_itself,
                hourly_limit=limit,
                notice_of_chain=_notice(stopped),
                chain_error=failure("inbox_chain_stopped", stopped),
                crash_error=failure("inbox_crashed", say("inbox_crashed", count=MOST_ATTEMPTS)),
                admit=partial(self._admit, user_email),
            )
        except QuotaReachedError as error:
            if not by_itself:
                raise
            self._tell_waiting(user_email, found, error)
            return None
        return None if claim is None else self._serviced(found, claim, limit, is_stopping)

    def _admit(self, user_email: str, connection: Any) -> None:
        """Count an answer as a message of the person. Raises QuotaReachedError where there is no room for it."""
        used_up = take_message(connection, user_email=user_email, defaults=self._quota)
        if used_up is not None:
            raise QuotaReachedError(used_up)

    def _tell_waiting(self, user_email: str, agent: Agent, error: QuotaReachedError) -> None:
        reason = error.args[0]

        def notice(activity: Activity) -> Notice:
            waits = say("inbox_waits", agent=agent.title, short_id=activity.short_id)
            return _notice(together(waits, reason))

        note_waiting(
            database=self._database,
            user_email=user_email,
            agent_id=agent.agent_id,
            error=failure("quota_reached", reason),
            notice=notice,
        )

    def _serviced(self, agent: Agent, claim: Claim, limit: int, is_stopping: Callable[[], bool]) -> Serviced:
        try:
            reply = blocking.run(self._held(claim, self._replier.reply(agent, claim.activity)), timeout=None)
            answer = self._stored(agent, claim, reply, limit)
        except ClaimLostError:
            answer = None
        except Exception as error:  # noqa: BLE001 - whatever goes wrong, the item is given back or fails
            if is_stopping():
                release_item(database=self._database, claim=claim)
                return Serviced(activity=claim.activity)
            return self._failed(claim, error)
        if answer is None:
            log.warning("an answer of the agent %s came too late, and is dropped", agent.agent_id)
        return Serviced(activity=claim.activity, answer=answer)

    async def _held(self, claim: Claim, work: Coroutine[Any, Any, _Result]) -> _Result:
        """The result of `work`, during which the claim is renewed. Raises ClaimLostError."""
        task = asyncio.ensure_future(work)
        try:
            while not (await asyncio.wait({task}, timeout=RENEW_SECONDS))[0]:
                if not await in_thread(renew_claim, database=self._database, claim=claim):
                    raise ClaimLostError
            return task.result()
        finally:
            task.cancel()

    def _stored(self, agent: Agent, claim: Claim, reply: Reply, limit: int) -> Activity | None:
        activity = claim.activity
        post = checked_post(
            activity.user_email,
            type=reply.type,
            recipe=reply.recipe,
            conversation_id=activity.conversation_id,
            payload=reply.payload,
            actor=Actor(type="agent", id=agent.agent_id, name=agent.title),
            reply_to=activity.activity_id,
            session_id=activity.session_id,
            recipes=self._services.recipes,
            database=self._database,
        )
        # An answer that names agents does not ask them: only their rules let them hear of it.
        post = replace(
            post, notify=(), answer_config=reply.config, references=reply.references, origin_id=claim.origin_id
        )

        def store(connection: Any) -> Activity:
            count_tokens(connection, user_email=activity.user_email, config={"usage": reply.tokens}, text=reply.said)
            return store_post_in(connection, user_email=activity.user_email, post=post)

        paused = _notice(say("inbox_paused", agent=agent.title, count=limit))
        notice = _notice(reply.notice) if reply.notice else None
        return complete_item(
            database=self._database, claim=claim, answer=store, hourly_limit=limit, paused=paused, notice=notice
        )

    def _failed(self, claim: Claim, error: Exception) -> Serviced:
        code, message = "internal_error", str(say("fault"))
        if isinstance(error, (ModelError, StoreError, ActivityError)):
            code, message = getattr(error, "code", "storage_failed"), error.message
            log.warning("the agent %s did not answer %s: %s", claim.agent_id, claim.activity.activity_id, message)
        else:
            message = say("fault")
            log.error("the agent %s failed", claim.agent_id, exc_info=error)
        told = failure(code, message)
        sentence = say("inbox_failed", agent=claim.agent_title, short_id=claim.activity.short_id)
        notice = _notice(together(sentence, message))
        fail_item(database=self._database, claim=claim, error=told, notice=notice)
        return Serviced(activity=claim.activity, error=told)


class InboxWorker:
    """Has agents answer by themselves: of each person one after the other, so that each sees what others said before.

    Of several people at once, four at most.
    """

    def __init__(self, *, desk: InboxDesk, database: Database) -> None:
        self._desk = desk
        self._database = database
        self._threads = WorkerThreads(_PEOPLE_AT_ONCE, name="inboxes")
        self._busy: set[str] = set()
        self._closed = threading.Event()
        self._lock = threading.Lock()

    def look(self) -> int:
        """Begin to answer what waits, for those people for whom nothing is being answered; for how many.

        Raises StoreError, RuntimeError where no thread can be had.
        """
        found: dict[str, list[Waiting]] = {}
        for waiting in waiting_agents(database=self._database):
            found.setdefault(waiting.user_email, []).append(waiting)
        begun = 0
        for user_email, agents in found.items():
            with self._lock:
                if user_email in self._busy:
                    continue
                self._busy.add(user_email)
            try:
                self._threads.submit(self._answer, user_email, [each.agent_id for each in agents])
            except BaseException:  # such as: the system has no thread for it; the next look tries again
                with self._lock:
                    self._busy.discard(user_email)
                raise
            begun += 1
        return begun

    def is_idle(self) -> bool:
        """Whether nothing is being answered."""
        with self._lock:
            return not self._busy

    def close(self) -> None:
        """Begin nothing more; what breaks off now goes back into its inbox."""
        self._closed.set()
        self._threads.shutdown(cancel_futures=True)

    def _answer(self, user_email: str, agent_ids: list[str]) -> None:
        try:
            for agent_id in agent_ids:
                if not self._closed.is_set():
                    self._desk.service(user_email, agent_id, by_itself=True, is_stopping=self._closed.is_set)
        except AgentNotFoundError:
            log.info("an agent was deleted before it could answer")
        except StoreError as error:
            log.warning("inboxes have to wait: %s", error.message)
        except Exception:
            log.exception("an inbox could not be answered")
        finally:
            with self._lock:
                self._busy.discard(user_email)


def _notice(sentence: Sentence) -> Notice:
    return Notice(text=str(sentence), said=sentence.said)
