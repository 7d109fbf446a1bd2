"""Turns of another process, as those who watch them in this one see them: by the store alone."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import orjson
import pytest

from chat.exchange import events
from chat.exchange.errors import StreamElsewhereError
from chat.processes.announcements import ASKED, EVENTS, TOLD, WATCHED, LocalAnnouncements
from chat.processes.metrics import Metrics
from chat.turns.following import FollowedStream, FollowedTurns
from chat.turns.runner import TurnRunner
from Conversation import Conversation
from database.conversations.repository import delete_conversation
from database.engine.errors import StreamExpiredError
from database.turns.events import append_events
from database.turns.identity import AcceptedTurn
from database.turns.turns import accept_turn, finish_turn
from tests.chat.conftest import EMAIL, Talk, joined, parsed, wait_until

SECONDS = 60.0


class NearAnnouncements(LocalAnnouncements):
    """Reaches the other process, which in these tests is this one."""

    reaches_others = True


class OtherProcess:
    """Writes an answer as another process does: into the store, with an announcement of what it has committed."""

    def __init__(self, talk: Talk) -> None:
        self.talk = talk
        self.announcements = NearAnnouncements()
        self.conversation: Conversation = talk.new()
        self.accepted: AcceptedTurn = accept_turn(**self._where(), text="How much water?", config={})

    @property
    def answer_id(self) -> str:
        return self.accepted.response_message_id

    def commits(self, *told: dict[str, Any], after: int = 0, announced: bool = True) -> None:
        rows = [(self.answer_id, seq, events.encode(event, seq=seq)) for seq, event in enumerate(told, after + 1)]
        self.talk.database.write(lambda connection: append_events(connection, rows))
        if announced:
            self.announcements.announce(EVENTS, orjson.dumps([self.answer_id]))

    def tells(self, *told: dict[str, Any], first: int = 1) -> None:
        """Tell events of a turn that is not kept."""
        head = orjson.dumps({"messages": [self.answer_id], "user_email": EMAIL, "first": first})
        lines = [events.encode(event, seq=seq) for seq, event in enumerate(told, first)]
        self.announcements.announce(TOLD, b"\n".join([head, *lines]))

    def ends(self, text: str) -> None:
        finish_turn(
            **self._where(),
            response_message_id=self.answer_id,
            text=text,
            status="complete",
            config={},
            title="Water",
        )

    def _where(self) -> dict[str, Any]:
        conversation_id = self.conversation.conversation_id
        return {"database": self.talk.database, "user_email": EMAIL, "conversation_id": conversation_id}


@pytest.fixture
def other(talk: Talk) -> OtherProcess:
    return OtherProcess(talk)


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    """The loop of this process, in a thread of its own."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop).result(SECONDS)  # what was begun before has begun now
    wait_until(lambda: not asyncio.all_tasks(loop))
    loop.call_soon_threadsafe(loop.stop)
    thread.join(SECONDS)
    loop.close()


@pytest.fixture
def follow(
    talk: Talk, other: OtherProcess, loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., FollowedStream]:
    """Follows the answer of the other process."""
    monkeypatch.setattr("chat.turns.following._CHECK_SECONDS", 0.05)
    monkeypatch.setattr("chat.turns.following._SILENT_SECONDS", 0.05)
    monkeypatch.setattr("chat.turns.following._ASK_SECONDS", 0.05)
    turns = FollowedTurns(database=talk.database, loop=lambda: loop, announcements=other.announcements)
    named = {"message_id": other.answer_id, "answer_id": other.answer_id, "user_email": EMAIL}
    where = named | {"conversation_id": other.conversation.conversation_id}
    return lambda kept=True: turns.follow(**where, kept=kept)


@pytest.fixture
def watching() -> Iterator[Callable[[FollowedStream], Future[list[dict[str, Any]]]]]:
    """Watches a stream to its end, in a thread: all its events."""
    with ThreadPoolExecutor(4) as pool:
        yield lambda stream: pool.submit(lambda: parsed(stream.lines()))


def test_what_another_process_commits_is_seen_in_order_until_the_turn_ends(
    other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
) -> None:
    first, second = watching(follow()), watching(follow())
    other.commits(events.text("A litre "))
    other.commits(events.text("a day."), after=1, announced=False)
    other.commits(events.done("complete"), after=2)
    seen = first.result(SECONDS)
    assert [event["seq"] for event in seen] == [1, 2, 3]
    assert joined(seen) == "A litre a day."
    assert second.result(SECONDS) == seen


def test_a_number_that_an_answer_has_not_reached_is_refused_at_any_process_while_it_is_written(
    talk: Talk, other: OtherProcess
) -> None:
    here = TurnRunner(database=talk.database, metrics=Metrics(), announcements=other.announcements)
    own = {"user_email": EMAIL, "message_id": other.answer_id}
    with pytest.raises(StreamExpiredError):
        here.watch(**own, after=1)
    other.commits(events.text("A litre "), events.text("a day."), announced=False)
    for after in (3, 2**31):
        with pytest.raises(StreamExpiredError):
            here.watch(**own, after=after)
    for after in (0, 1, 2):
        assert here.watch(**own, after=after) is not None


def test_whoever_watches_on_the_loop_sees_the_same(
    other: OtherProcess, follow: Callable[..., FollowedStream], loop: asyncio.AbstractEventLoop
) -> None:
    async def watch() -> list[bytes]:
        return [line async for line in follow().tail()]

    seen = asyncio.run_coroutine_threadsafe(watch(), loop)
    other.commits(events.text("A litre."), events.done("complete"))
    assert joined(parsed(iter(seen.result(SECONDS)))) == "A litre."


def test_both_share_one_reader_that_asks_the_other_process_to_announce(
    other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
) -> None:
    asked: list[list[str]] = []
    other.announcements.subscribe(WATCHED, lambda names: asked.append(orjson.loads(names)))
    stream = follow()
    assert follow() is stream
    seen = watching(stream)
    wait_until(lambda: bool(asked))
    assert asked[0] == [other.answer_id]
    other.commits(events.done("complete"))
    assert len(seen.result(SECONDS)) == 1


def test_a_turn_that_ended_without_telling_so_is_told_from_its_stored_answer(
    other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
) -> None:
    seen = watching(follow())
    other.ends("A litre a day.")
    told = seen.result(SECONDS)
    assert joined(told) == "A litre a day."
    assert told[-1]["done"] is True


def test_a_turn_whose_conversation_is_deleted_ends_for_its_watchers(
    other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen = watching(follow())
    other.ends("A litre a day.")
    delete_conversation(**other._where())
    assert isinstance(seen.result(SECONDS), list)
    monkeypatch.setattr("chat.turns.following._CHECK_SECONDS", 60.0)
    assert follow().closed is False  # it is looked for anew
    monkeypatch.setattr("chat.turns.following._CHECK_SECONDS", 0.05)


def test_the_next_answer_of_a_turn_is_named_by_the_stream_too(
    other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
) -> None:
    stream = follow()
    seen = watching(stream)
    other.commits(events.answer(message_id="next", short_id="abc123", agent=None), events.done("complete"))
    seen.result(SECONDS)
    assert stream.answers == [other.answer_id, "next"]


def test_nobody_reads_on_for_a_turn_that_is_not_watched_any_more(
    follow: Callable[..., FollowedStream], loop: asyncio.AbstractEventLoop, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chat.turns.following._KEPT_UNWATCHED", 0.2)
    stream = follow()
    wait_until(lambda: not stream.is_wanted())
    wait_until(lambda: not asyncio.all_tasks(loop))
    assert follow() is not stream


class TestUnkept:
    def test_its_events_are_asked_of_its_process_and_those_that_follow_are_taken(
        self, other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
    ) -> None:
        asked: list[int] = []
        other.announcements.subscribe(ASKED, lambda asking: asked.append(orjson.loads(asking)[0]["after"]))
        stream = follow(kept=False)
        seen = watching(stream)
        wait_until(lambda: bool(asked))
        other.tells(events.text("too early"), first=2)
        other.tells(events.text("A litre "))
        wait_until(lambda: stream.last_seq == 1)
        wait_until(lambda: asked[-1] == 1)
        other.tells(events.text("a day."), events.done("complete"), first=2)
        assert joined(seen.result(SECONDS)) == "A litre a day."
        other.tells(events.text("too late"), first=4)
        assert stream.closed

    def test_it_ends_as_interrupted_where_its_process_has_died(
        self, other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any
    ) -> None:
        seen = watching(follow(kept=False))
        other.ends("")
        told = seen.result(SECONDS)
        assert (told[-1]["done"], told[-1]["answer_status"]) == (True, "interrupted")

    def test_what_is_told_while_the_store_is_asked_whether_it_runs_is_not_taken_for_its_death(
        self,
        other: OtherProcess,
        follow: Callable[..., FollowedStream],
        watching: Any,
        loop: asyncio.AbstractEventLoop,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        stream, told = follow(kept=False), [events.text("A litre."), events.done("complete")]

        def ended_meanwhile(**_asked: Any) -> set[str]:
            known = stream.last_seq
            other.tells(told[known], first=known + 1)
            wait_until(lambda: stream.last_seq > known)
            return set()

        seen = watching(stream)
        monkeypatch.setattr("chat.turns.following.still_written", ended_meanwhile)
        assert joined(seen.result(SECONDS)) == "A litre."
        wait_until(lambda: not asyncio.all_tasks(loop))
        assert stream.last_seq == len(told)

    def test_where_its_process_can_not_be_asked_nobody_follows_it(
        self, other: OtherProcess, follow: Callable[..., FollowedStream], watching: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        seen = watching(follow(kept=False))
        monkeypatch.setattr(NearAnnouncements, "reaches_others", False)
        assert [event for event in seen.result(SECONDS) if "done" in event] == []
        with pytest.raises(StreamElsewhereError):
            follow(kept=False)
