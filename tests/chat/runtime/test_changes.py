"""Streams of changes: woken by commits, without gaps or repetition, and ended with what they depend on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat.runtime import changes as feeds
from chat.runtime.changes import ChangeFeed
from database.accounts.users import create_user
from database.changes import SETTINGS, kept_range, record
from database.connection import close_store, open_store
from database.engine.database import Database
from database.engine.errors import StorageBusyError
from database.maintenance.account_erasure import close_account, erase_account
from tests.live_server import PASSWORD
from tests.stores import put_empty_store

ANN, BEN = "ann@example.org", "ben@example.org"


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    folder = put_empty_store(tmp_path / "users")
    yield open_store(folder)
    close_store(folder)


@pytest.fixture
def feed(database: Database) -> ChangeFeed:
    return ChangeFeed(database=database)


def change(database: Database, *ids: str, who: str = ANN) -> None:
    database.write(lambda connection: record(connection, SETTINGS, "changed", user_email=who, ids=ids or ["name"]))


def decoded(chunk: bytes) -> list[dict[str, Any]]:
    return [orjson.loads(line) for line in chunk.splitlines()]


async def next_of(tail: AsyncIterator[bytes]) -> list[dict[str, Any]]:
    return decoded(await asyncio.wait_for(anext(tail), 20))


def epoch_of(database: Database) -> str:
    return kept_range(database=database, user_email=ANN).epoch


def test_without_a_number_it_says_where_it_begins_and_tells_what_comes(database: Database, feed: ChangeFeed) -> None:
    change(database)

    async def watch() -> None:
        tail = feed.watch(user_email=ANN, after=None).tail()
        assert await next_of(tail) == [{"seq": 1, "hello": True, "epoch": epoch_of(database)}]
        await asyncio.to_thread(change, database, "detail")
        (told,) = await next_of(tail)
        assert (told["seq"], told["kind"], told["change"], told["id"]) == (2, "settings", "changed", "detail")
        assert told.keys() == {"seq", "kind", "change", "id", "fields", "at"}
        await tail.aclose()  # type: ignore[attr-defined]

    asyncio.run(watch())


def test_a_waiting_watcher_is_woken_by_the_commit_and_holds_no_thread(database: Database, feed: ChangeFeed) -> None:
    async def watch() -> None:
        tails = [feed.watch(user_email=ANN, after=0).tail() for _ in range(20)]
        waiting = [asyncio.ensure_future(next_of(tail)) for tail in tails]
        while len(feed._watchers.get(ANN, ())) < len(tails):
            await asyncio.sleep(0)
        assert sum(thread.name.startswith("changes") for thread in threading.enumerate()) <= 2
        await asyncio.to_thread(change, database)
        assert [[told["seq"] for told in each] for each in await asyncio.gather(*waiting)] == [[1]] * len(tails)
        for tail in tails:
            await tail.aclose()  # type: ignore[attr-defined]
        assert feed._watchers == {}

    asyncio.run(watch())


def test_it_goes_on_where_the_client_stopped(database: Database, feed: ChangeFeed) -> None:
    change(database, *(f"s{number}" for number in range(450)))
    stream = feed.watch(user_email=ANN, after=10).lines()
    told = [line["seq"] for _ in range(3) for line in decoded(next(stream))]
    assert told == list(range(11, 451))


def test_a_number_of_an_erased_account_is_none_of_one_that_is_made_again_under_its_address(
    database: Database, feed: ChangeFeed
) -> None:
    create_user(database=database, user_email=ANN, password=PASSWORD)
    change(database, "a", "b")
    former = epoch_of(database)
    close_account(database=database, user_email=ANN)
    erase_account(database=database, user_email=ANN)
    create_user(database=database, user_email=ANN, password=PASSWORD)
    change(database, "c", "d", "e")
    told = decoded(next(feed.watch(user_email=ANN, after=2, epoch=former).lines()))
    assert told == [{"seq": 3, "reset": True, "epoch": epoch_of(database)}]


def test_only_ones_own_changes_are_told(database: Database, feed: ChangeFeed) -> None:
    change(database, "hers", who=BEN)
    change(database, "mine")
    assert [line["id"] for line in decoded(next(feed.watch(user_email=ANN, after=0).lines()))] == ["mine"]


@pytest.mark.parametrize("after", [0, 700, 702], ids=["purged", "just purged", "never was"])
def test_a_number_that_is_not_kept_begins_with_a_reset(database: Database, feed: ChangeFeed, after: int) -> None:
    change(database, *(f"s{number}" for number in range(701)))
    database.write(lambda connection: connection.exec_driver_sql("DELETE FROM changes WHERE seq < 701").rowcount)
    lines = feed.watch(user_email=ANN, after=after).lines()
    reset = [{"seq": 701, "reset": True, "epoch": epoch_of(database)}]
    begins = {0: reset, 702: reset}
    first = decoded(next(lines))
    assert first == begins[after] if after in begins else [line["seq"] for line in first] == [701]


def test_somebody_new_begins_without_a_reset(database: Database, feed: ChangeFeed) -> None:
    lines = feed.watch(user_email=ANN, after=0).lines()
    change(database)
    assert [line["seq"] for line in decoded(next(lines))] == [1]


def test_a_change_committed_by_another_process_is_found_by_looking(database: Database, feed: ChangeFeed) -> None:
    async def watch() -> None:
        tail = feed.watch(user_email=ANN, after=None).tail()
        await next_of(tail)
        waiting = asyncio.ensure_future(next_of(tail))
        await asyncio.sleep(0)
        feed.look()
        database.on_changes = None  # as where this process commits nothing itself
        await asyncio.to_thread(change, database)
        assert await asyncio.to_thread(feed.look) == 1
        assert [told["seq"] for told in await waiting] == [1]
        assert feed.look() == 0
        await tail.aclose()  # type: ignore[attr-defined]

    asyncio.run(watch())
    assert feed.look() == 0


def test_looking_asks_nothing_where_nobody_watches(feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "newest_changes", None)
    assert feed.look() == 0


def test_where_nothing_happens_a_heartbeat_repeats_the_number(
    database: Database, feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(feeds, "HEARTBEAT_SECONDS", 0.0)
    change(database)

    async def watch() -> None:
        tail = feed.watch(user_email=ANN, after=1).tail()
        assert await next_of(tail) == [{"seq": 1, "heartbeat": True}]
        await tail.aclose()  # type: ignore[attr-defined]

    asyncio.run(watch())
    assert decoded(next(feed.watch(user_email=ANN, after=1).lines())) == [{"seq": 1, "heartbeat": True}]


def test_it_ends_when_the_session_ends_and_tells_nothing_more(database: Database, feed: ChangeFeed) -> None:
    allowed = [True]
    lines = feed.watch(user_email=ANN, after=None, is_allowed=lambda: allowed[0]).lines()
    next(lines)
    allowed[0] = False
    change(database)
    [last] = map(orjson.loads, lines)
    assert (last["seq"], last["error"]["code"]) == (0, "unauthorized")


def test_it_ends_when_the_server_stops(feed: ChangeFeed) -> None:
    async def watch() -> None:
        tail = feed.watch(user_email=ANN, after=None).tail()
        await next_of(tail)
        waiting = asyncio.ensure_future(anext(tail, None))
        await asyncio.sleep(0)
        feed.close()
        assert await asyncio.wait_for(waiting, 20) is None

    asyncio.run(watch())


def test_a_store_that_fails_ends_the_stream(
    database: Database, feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> Any:
        raise StorageBusyError("The store is busy.")

    lines = feed.watch(user_email=ANN, after=None).lines()
    monkeypatch.setattr(feeds, "changes_after", fail)
    assert decoded(b"".join(lines)) == [{"seq": 0, "hello": True, "epoch": epoch_of(database)}]
    assert kept_range(database=database, user_email=ANN)[:2] == (0, 0)


def test_a_person_has_room_for_so_many(feed: ChangeFeed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(feeds, "MOST_WATCHERS", 1)
    assert feed.has_room(ANN)
    with feed.waking(ANN, lambda: None):
        assert not feed.has_room(ANN)
        assert feed.has_room(BEN)
    assert feed.has_room(ANN)
