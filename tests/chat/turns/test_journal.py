"""The journal keeps every event, in order, while the store is busy."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import Future

import orjson

from chat.turns import events
from chat.turns.journal import Journal, Row
from chat.turns.streams import LiveStream
from database.errors import StorageBusyError


def test_events_that_come_while_a_commit_is_refused_are_stored_behind_its_own() -> None:
    commits: list[tuple[Sequence[Row], Future[None]]] = []

    def submit(rows: Sequence[Row]) -> Future[None]:
        commits.append((rows, Future()))
        return commits[-1][1]

    async def commit(number: int) -> tuple[Sequence[Row], Future[None]]:
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
