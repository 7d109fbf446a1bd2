"""Runs turns: each is a task that outlives its request, has any number of watchers, and can be stopped."""

from __future__ import annotations

import asyncio
import logging
import threading
import uuid
from collections.abc import Callable, Coroutine, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import partial
from typing import Any, Protocol

import tracing
from chat.exchange import events
from chat.exchange.errors import ShuttingDownError, TooManyTurnsError
from chat.exchange.turn import TurnStream
from chat.processes.announcements import Announcements, LocalAnnouncements
from chat.processes.metrics import Metrics, TurnWatch
from chat.processes.threads import in_thread, undisturbed
from database.accounts.quotas import Quota
from database.accounts.users import disabled_among
from database.conversations.repository import get_conversation
from database.engine.database import Database, Job, Urgency
from database.engine.errors import (
    AlreadySentError,
    MessageNotFoundError,
    StorageFailedError,
    StoreError,
    TurnInProgressError,
)
from database.turns.events import append_events, read_events, refuse_beyond
from database.turns.idempotency import refuse_sent_before
from database.turns.leases import RENEW_SECONDS, renew_leases
from database.turns.recovery import ReportMaker, close_interrupted_turns
from sentences import say

from .accept import ADMISSION, ANSWER_AGAIN, DECIDED_CALLS, OWNER, REQUEST_ID
from .following import FollowedTurns
from .idempotency import SentMessage, SentMessages, sent_message
from .limits import TurnLimits
from .other_servers import HOLD_SECONDS, OtherServers
from .streams import Journal, LiveStream, StoredStream

log = logging.getLogger(__name__)
INTERRUPTED = "interrupted"
CANCELLED = "cancelled"
STORAGE_FAILED = "storage_failed"
_SALVAGE_EVERY = 1.0
_STOP_SECONDS = 2.0
_LOOK_EVERY = 0.02


class Replies(Protocol):
    """A conversation that can answer."""

    @property
    def conversation_id(self) -> str:
        """Its opaque id."""

    @property
    def user_id(self) -> str:
        """Its owner."""

    def reply(self, query: Mapping[str, Any]) -> TurnStream:
        """Accept a message, raising what is wrong with it, and return the answer's events."""


class TurnRunner:
    """The running turns of one server.

    `start`, `watch` and `cancel` may be called from any thread. The turns themselves run on the loop given to `attach`;
    without one, a loop in a thread of its own is started when first needed. report_of: what the references of a turn
    mean that broke off before it could tell. most_per_person, quota: see `TurnLimits`.
    owner: the name under which this process holds the leases of its turns. announcements: how processes that share the
    store tell each other to look into it.
    """

    def __init__(
        self,
        *,
        database: Database,
        metrics: Metrics,
        report_of: ReportMaker | None = None,
        most_per_person: int | None = None,
        quota: Quota | None = None,
        announcements: Announcements | None = None,
    ) -> None:
        self.report_of = report_of
        self.owner = uuid.uuid4().hex
        self.database = database
        self._metrics = metrics
        self._streams: dict[str, LiveStream] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._salvaging: dict[str, asyncio.Task[None]] = {}
        self._renewing = False
        self._stopping: set[str] = set()
        self._ended: dict[str, LiveStream] = {}
        self._sent = SentMessages()
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._journal: Journal | None = None
        self._draining = False
        announcements = announcements or LocalAnnouncements()
        self._hearing_stops: asyncio.Task[None] | None = None
        self._others = OtherServers(database=database, owner=self.owner, announcements=announcements)
        self._limits = TurnLimits(most_per_person=most_per_person, quota=quota, others=self._others)
        self._followed = FollowedTurns(database=database, loop=self._running_loop, announcements=announcements)

    def attach(self, loop: asyncio.AbstractEventLoop) -> None:
        """Run turns on `loop` from now on."""
        self._loop = loop

    def in_background(self, work: Coroutine[Any, Any, None]) -> Future[None]:
        """Run `work` on the loop that runs the turns, until it is cancelled."""
        return asyncio.run_coroutine_threadsafe(work, self._running_loop())

    def start(self, conversation: Replies, query: Mapping[str, Any]) -> LiveStream | StoredStream:
        """Accept a turn and run it.

        A repeated request with the same `client_message_id` gets the stream of the turn that the first one began.
        Raises what `reply` raises before anything is stored. ConflictError: the same `client_message_id` was used for
        another message. TooManyTurnsError, QuotaReachedError: a limit of the person is reached.
        """
        sent = sent_message(query, user_email=conversation.user_id, conversation_id=conversation.conversation_id)
        if sent is None:
            return self._start(conversation, query)
        with self._sent.one_at_a_time(sent):
            try:
                return self._sent.stream_of(sent) or self._start_unless_sent(conversation, query, sent)
            except AlreadySentError as error:
                return self.watch(user_email=sent.user_email, message_id=error.message_id, after=0)

    def _refuse_sent_elsewhere(self, sent: SentMessage) -> None:
        """Raises AlreadySentError if another server runs this message as an ephemeral turn, unknown to the store."""
        answer_id = self._others.unkept_answer(sent)
        if answer_id is not None:
            raise AlreadySentError(message_id=answer_id)

    def _start_unless_sent(self, conversation: Replies, query: Mapping[str, Any], sent: SentMessage) -> LiveStream:
        self._refuse_sent_elsewhere(sent)
        try:
            return self._start(conversation, query, sent)
        except TooManyTurnsError:
            # Only new turns are bounded. This is asked here because `reply`, which would find the earlier one in the
            # store, was not called.
            conversation_id, again, text = sent.what
            refuse_sent_before(
                database=self.database,
                user_email=sent.user_email,
                conversation_id=conversation_id,
                client_message_id=sent.client_message_id,
                text=text,
                again=again,
            )
            raise

    def _start(self, conversation: Replies, query: Mapping[str, Any], sent: SentMessage | None = None) -> LiveStream:
        loop = self._running_loop()
        with self._lock:
            if self._draining:
                raise ShuttingDownError
            if query.get(ANSWER_AGAIN) in self._streams:
                raise TurnInProgressError  # its last events are still on their way
            self._limits.take_place(conversation.user_id)
        try:
            admission = self._limits.admission(conversation.user_id, is_new=query.get(DECIDED_CALLS) is None)
            turn = conversation.reply({**query, OWNER: self.owner, ADMISSION: admission})
            stream = LiveStream(
                message_id=turn.accepted.response_message_id,
                conversation_id=conversation.conversation_id,
                user_email=conversation.user_id,
                kept=turn.accepted.kept,
            )
            with self._lock:
                # Together, so that whoever finds the stream and wants it stopped comes after its task.
                self._streams[stream.message_id] = stream
                if sent is not None:
                    self._sent.remember(sent, stream)
                if not stream.kept:
                    self._others.show(stream, sent)
                # The turn has a context of its own; what is begun beside it is of no request.
                spawn, context = partial(self._spawn, turn, stream, query.get(REQUEST_ID)), tracing.context_of(None)
                loop.call_soon_threadsafe(spawn, context=context)
        except BaseException:
            self._limits.leave_place(conversation.user_id)
            raise
        self._metrics.change("turns_running", +1)
        return stream

    def watch(self, *, user_email: str, message_id: str, after: int) -> LiveStream | StoredStream:
        """The events of the turn that wrote an answer, after number `after`, live or stored.

        An ephemeral answer can be watched until half a minute after its end.
        Raises MessageNotFoundError, StreamExpiredError, StreamElsewhereError.
        """
        with self._lock:
            stream = self._streams.get(message_id) or self._ended.get(message_id)
        if stream is not None and stream.user_email == user_email:
            refuse_beyond(after, newest=stream.last_seq)
            return stream
        who = {"answer_id": message_id, "user_email": user_email}
        try:
            stored = read_events(database=self.database, user_email=user_email, message_id=message_id, after=after)
        except MessageNotFoundError:
            if not self._others.has_unkept(message_id, user_email=user_email):
                raise
            return self._followed.follow(message_id=message_id, conversation_id="", kept=False, **who)
        if not stored.complete and self._others.exist:
            where = {"message_id": stored.stream, "conversation_id": stored.conversation_id}
            return self._followed.follow(**where, **who, kept=stored.kept)
        return StoredStream(message_id=message_id, events=[event for _, event in stored.events])

    def cancel(self, *, user_email: str, conversation_id: str) -> bool:
        """Stop the running answer of this conversation and keep its text; False if none runs.

        Raises ConversationNotFoundError if the conversation is missing or belongs to another person.
        """
        get_conversation(database=self.database, user_email=user_email, conversation_id=conversation_id)
        with self._lock:
            running = {stream for stream in self._streams.values() if stream.conversation_id == conversation_id}
        for stream in running:
            self._running_loop().call_soon_threadsafe(self._stop, stream, CANCELLED)
        return bool(running) or self._others.ask_to_stop(user_email=user_email, conversation_id=conversation_id)

    def stop(self, message_id: str) -> None:
        """Stop the turn that writes this answer, if it runs in this process; its text is kept."""
        with self._lock:
            stream = self._streams.get(message_id)
        if stream is not None:
            self._running_loop().call_soon_threadsafe(self._stop, stream, CANCELLED)

    def cancel_all(self, *, user_email: str) -> None:
        """Stop all running answers of this person, in this process and in the others."""
        self._cancel_here(user_email)
        self._others.ask_to_stop(user_email=user_email)

    def _cancel_here(self, user_email: str) -> None:
        """Stop the running answers of this person in this process."""
        with self._lock:
            running = {stream for stream in self._streams.values() if stream.user_email == user_email}
        for stream in running:
            self._running_loop().call_soon_threadsafe(self._stop, stream, CANCELLED)

    def stop_disabled(self) -> None:
        """Stop the answers here of people whose accounts were disabled, as by the command line. Raises StoreError.

        Each process looks for itself, so none asks another to stop.
        """
        with self._lock:
            running = {stream.user_email for stream in self._streams.values()}
        for user_email in disabled_among(database=self.database, user_emails=running):
            self._cancel_here(user_email)

    def running(self) -> int:
        """How many turns are being accepted or answered."""
        return self._limits.running()

    async def finish(self) -> None:
        """Wait until all turns have ended, including their work after the last event, such as a new summary."""
        while self._tasks:
            await asyncio.wait(self._tasks.values())
            await asyncio.sleep(0)  # ended tasks are forgotten by their callbacks

    async def drain(self, *, timeout: float) -> None:  # noqa: ASYNC109 - it waits for others, and then acts
        """Refuse new turns; wait up to `timeout` seconds for running ones, then store the rest as interrupted."""
        with self._lock:
            self._draining = True
        await self._until_quiet(timeout)
        with self._lock:
            left = set(self._streams.values())
        for stream in left:
            self._stop(stream, INTERRUPTED)
        await self._until_quiet(_STOP_SECONDS)

    async def _until_quiet(self, seconds: float) -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.running():  # noqa: ASYNC110 - turns are accepted in other threads
                    await asyncio.sleep(_LOOK_EVERY)

    def _running_loop(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                threading.Thread(target=self._loop.run_forever, name="turns", daemon=True).start()
            return self._loop

    def _spawn(self, turn: TurnStream, stream: LiveStream, request_id: str | None) -> None:
        context, name = tracing.context_of(request_id), f"turn {stream.message_id}"
        task = self._tasks[stream.message_id] = asyncio.get_running_loop().create_task(
            self._run(turn, stream), name=name, context=context
        )
        task.add_done_callback(partial(self._forget, stream), context=context)
        if not self._renewing:
            self._renewing = True
            asyncio.get_running_loop().call_later(RENEW_SECONDS, self._renew_leases)
        if self._others.exist and (self._hearing_stops is None or self._hearing_stops.done()):
            hearing = self._others.hear_stops(self.stop, is_needed=lambda: bool(self._tasks))
            self._hearing_stops = asyncio.get_running_loop().create_task(hearing)

    def _renew_leases(self) -> None:
        """Renew this process's leases periodically, until none of its turns runs."""
        self._renewing = bool(self._tasks or self._salvaging)
        if self._renewing:
            # Where this fails it is tried again soon; nobody but other processes closes our turns meanwhile.
            self.database.submit(partial(renew_leases, owner=self.owner), urgency=Urgency.STREAM)
            self._others.tell_unkept()
            asyncio.get_running_loop().call_later(RENEW_SECONDS, self._renew_leases)

    def close_abandoned(self, *, may_take_over: Callable[[], bool] = lambda: True) -> int:
        """Close what processes that are gone have left (`Duties.may_take_over`); how many. Raises StoreError."""
        closed = close_interrupted_turns(
            database=self.database, asking=self.owner, report_of=self.report_of, may_take_over=may_take_over
        )
        if closed:
            log.warning("%d answers of a process that is gone were closed; what was said is kept", closed)
        return closed

    async def _run(self, turn: TurnStream, stream: LiveStream) -> None:
        journal, watch = self._current_journal(), TurnWatch(self._metrics)
        turn.run_by_server(partial(journal.flush, stream))
        with tracing.span("turn", {"anaphora.message_id": stream.message_id}):
            async for event in turn:
                watch.see(event)
                if "answer" in event:
                    self._add_answer(stream, event["answer"]["message_id"])
                journal.append(stream, event, turn.take_writes())
                if "done" in event:
                    # What follows (a new summary) is of no interest to watchers, and of none to the next turn.
                    await undisturbed(journal.settle(stream))
                    self._close(stream)

    def _add_answer(self, stream: LiveStream, message_id: str) -> None:
        """Register the stream under this answer's id as well."""
        if message_id not in stream.answers:
            with self._lock:
                stream.answers.append(message_id)
                self._streams[message_id] = stream
            if not stream.kept:
                self._others.tell_unkept()

    def _forget(self, stream: LiveStream, task: asyncio.Task[None]) -> None:
        # An answer may be made again while the end of the turn before is still at work.
        if self._tasks.get(stream.message_id) is task:
            del self._tasks[stream.message_id]
        self._stopping.discard(stream.message_id)
        failure = None if task.cancelled() else task.exception()
        if failure is not None:
            foreseen = isinstance(failure, StorageFailedError)  # such as a full disk, which meets every turn
            log.error("the turn %s broke off: %s", stream.message_id, failure, exc_info=None if foreseen else failure)
            self._metrics.count("turns", outcome=INTERRUPTED)
            self._say_farewell(stream, failure)
            self._salvaging[stream.message_id] = asyncio.create_task(self._salvage(stream))
        self._close(stream)

    async def _salvage(self, stream: LiveStream) -> None:
        """Close a turn that could not be stored once the store accepts writes again: its conversation waits for it."""
        await self._current_journal().settle(stream)
        while not self._draining:
            await asyncio.sleep(_SALVAGE_EVERY)
            try:
                await in_thread(
                    close_interrupted_turns,
                    database=self.database,
                    only=stream.answers[-1],
                    owner=self.owner,
                    report_of=self.report_of,
                )
            except StoreError:
                continue
            break
        self._salvaging.pop(stream.message_id, None)

    def _close(self, stream: LiveStream) -> None:
        with self._lock:
            known = self._streams.get(stream.message_id) is stream
            if known:
                for message_id in stream.answers:
                    del self._streams[message_id]
                self._limits.leave_place(stream.user_email)
            if known and not stream.kept:
                self._ended[stream.message_id] = stream
        if known and not stream.kept:
            # Whoever lost the connection just now finds the end of what is stored nowhere.
            self._others.tell_unkept()
            asyncio.get_running_loop().call_later(HOLD_SECONDS, self._let_go, stream)
        elif known:
            self._sent.forget(stream)
        if known:
            self._metrics.change("turns_running", -1)
        stream.close()

    def _let_go(self, stream: LiveStream) -> None:
        self._ended.pop(stream.message_id, None)
        self._others.hide(stream)
        self._sent.forget(stream)

    def _stop(self, stream: LiveStream, why: str) -> None:
        task = self._tasks.get(stream.message_id)
        # A second cancellation would hit the turn while it stores what was said.
        if task is not None and stream.message_id not in self._stopping and not stream.closed:
            self._stopping.add(stream.message_id)
            # A task that is cancelled before its first step never begins, and so would never end the turn.
            asyncio.get_running_loop().call_soon(task.cancel, why)

    def _current_journal(self) -> Journal:
        if self._journal is None:
            self._journal = Journal(submit=self._submit, on_failure=self._storage_failed)
        return self._journal

    def _submit(self, rows: Sequence[tuple[str, int, bytes]], writes: Sequence[Job[object]]) -> asyncio.Future[None]:
        storing = partial(append_events, rows=rows, writes=writes, owner=self.owner)
        stored = self.database.submit_on_loop(storing, urgency=Urgency.STREAM)
        self._others.announce_events(stored, rows)
        return stored

    def _storage_failed(self, stream: LiveStream, error: Exception) -> None:
        self._stop(stream, STORAGE_FAILED)
        self._say_farewell(stream, error)

    @staticmethod
    def _say_farewell(stream: LiveStream, error: BaseException) -> None:
        """Tell watchers that this stream will not be stored any further; this event itself is not stored.

        The turn ends as interrupted, by `steps.flushed` or by `_salvage`.
        """
        if stream.closed:
            return
        code, message = "internal_error", str(say("fault"))
        if isinstance(error, StoreError):
            code, message = STORAGE_FAILED, error.message
        stream.publish(events.farewell(code=code, message=message, after=stream.last_seq))
        stream.close()
