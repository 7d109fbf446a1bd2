"""The journal keeps every event, in order, while the store is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import orjson
from sqlalchemy import Connection

from chat.exchange import events
from chat.turns.streams import Journal, LiveStream, Row
from database.engine.database import Job
from database.engine.errors import StorageBusyError


def test_events_that_come_while_a_commit_is_refused_are_stored_behind_its_own() -> None:
    commits: list[tuple[Sequence[Row], asyncio.Future[None]]] = []

    def submit(rows: Sequence[Row], _writes: Sequence[Job[object]]) -> asyncio.Future[None]:
        commits.append((rows, asyncio.get_running_loop().create_future()))
        return commits[-1][1]

    async def commit(number: int) -> tuple[Sequence[Row], asyncio.Future[None]]:
        while len(commits) <= number:
            await asyncio.sleep(0)
        return commits[number]

    async def run() -> None:
        journal = Journal(submit=submit, on_failure=lambda _stream, error: failures.append(error))
        stream = LiveStream(message_id="m", conversation_id="c", user_email="ada@example.org", kept=True)
        journal.append(stream, events.text("One"))
        _, refused = await commit(0)
        journal.append(stream, events.status("Two"))
        refused.set_exception(StorageBusyError("The store is busy."))
        rows, accepted = await commit(1)
        stored.extend((seq, orjson.loads(event)) for _, seq, event in rows)
        accepted.set_result(None)
        await journal.settle(stream)
        assert stream.last_seq == 2

    stored: list[tuple[int, dict[str, object]]] = []
    failures: list[Exception] = []
    asyncio.run(run())
    assert [(seq, event.get("text"), event.get("status")) for seq, event in stored] == [(1, "One", ""), (2, "", "Two")]
    assert failures == []


def test_the_report_and_the_ids_of_a_turn_share_the_commit_of_its_first_words() -> None:
    commits: list[Sequence[Row]] = []

    async def submit(rows: Sequence[Row], _writes: Sequence[Job[object]]) -> None:
        commits.append(rows)

    async def run(*then: events.Event) -> list[list[int]]:
        commits.clear()
        journal = Journal(submit=submit, on_failure=lambda _stream, error: None)
        stream = LiveStream(message_id="m", conversation_id="c", user_email="ada@example.org", kept=True)
        for event in (events.references([]), events.message_ids({}), *then):
            journal.append(stream, event)
        await anext(aiter(stream.tail()))
        await journal.settle(stream)
        return [[seq for _, seq, _ in rows] for rows in commits]

    assert asyncio.run(run(events.text("One"))) == [[1, 2, 3]]
    assert asyncio.run(run(events.status("The model is loading."))) == [[1, 2, 3]]
    # A model that thinks for long does not hold them back.
    assert asyncio.run(run()) == [[1, 2]]


def test_whoever_waits_for_the_report_and_the_ids_alone_has_them_stored_at_once() -> None:
    commits: list[Sequence[Row]] = []

    async def submit(rows: Sequence[Row], _writes: Sequence[Job[object]]) -> None:
        commits.append(rows)

    async def run() -> bool:
        journal = Journal(submit=submit, on_failure=lambda _stream, error: None)
        stream = LiveStream(message_id="m", conversation_id="c", user_email="ada@example.org", kept=True)
        journal.append(stream, events.references([]))
        return await journal.flush(stream)

    assert asyncio.run(run())
    assert len(commits) == 1


def test_an_answer_that_another_process_has_closed_ends_alone() -> None:
    commits: list[list[str]] = []
    failed: list[str] = []

    async def submit(rows: Sequence[Row], _writes: Sequence[Job[object]]) -> None:
        commits.append([message_id for message_id, _, _ in rows])
        if "closed" in commits[-1]:
            raise ValueError("There is an event of this number.")

    async def run() -> dict[str, tuple[bool, int]]:
        journal = Journal(submit=submit, on_failure=lambda stream, _error: failed.append(stream.message_id))
        own = {"conversation_id": "c", "user_email": "ada@example.org", "kept": True}
        streams = [LiveStream(message_id=name, **own) for name in ("one", "closed", "two")]
        for stream in streams:
            journal.append(stream, events.text("Hello"))
        return {each.message_id: (await journal.flush(each), each.last_seq) for each in streams}

    assert asyncio.run(run()) == {"one": (True, 1), "closed": (False, 0), "two": (True, 1)}
    assert commits == [["one", "closed", "two"], ["one"], ["closed"], ["two"]]
    assert failed == ["closed"]


def test_what_belongs_to_an_event_is_stored_in_its_commit_also_when_the_store_was_busy() -> None:
    commits: list[tuple[list[int], list[Job[object]]]] = []

    async def submit(rows: Sequence[Row], writes: Sequence[Job[object]]) -> None:
        commits.append(([seq for _, seq, _ in rows], list(writes)))
        if len(commits) == 1:
            raise StorageBusyError("The store is busy.")

    def report(_connection: Connection) -> None:
        """Stands for what stores a report."""

    def corrected(_connection: Connection) -> None:
        """Stands for what stores it again."""

    async def run() -> None:
        journal = Journal(submit=submit, on_failure=lambda _stream, error: None)
        stream = LiveStream(message_id="m", conversation_id="c", user_email="ada@example.org", kept=True)
        journal.append(stream, events.references([]), [report])
        journal.append(stream, events.references([]), [corrected])
        await journal.flush(stream)
        journal.append(stream, events.text("One"))
        await journal.settle(stream)

    asyncio.run(run())
    assert commits == [([1, 2], [report, corrected])] * 2 + [([3], [])]
