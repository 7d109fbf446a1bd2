"""What activities cost where there are a million, with short ids that collide: posting, finding, lists, threads.

Exports of 100,000 messages are measured by `exports` (`benchmarks.measures.history`).
"""

from __future__ import annotations

import json
import random
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.resolving import resolve_activity
from database.accounts.users import create_user
from database.activities.storing import NewActivity, Place, insert_activities
from database.connection import close_store, open_store
from database.conversations.repository import create_conversation
from database.engine.clock import now_iso
from database.engine.database import Database
from database.engine.errors import ActivityNotFoundError, AmbiguousReferenceError
from database.schema import activities as activity_rows
from tests.live_server import PASSWORD, LiveServer

from ..figures import Figure, of_samples, timed
from ..seeded import DATA, DOMAIN, EMAIL, Bench, copy_data

STRANGER = "stranger@example.org"
_SEED = 20260308
_PLAN = "plan.json"
_ROOMS = 20
_IN_THREAD = 10_000
_AT_ONCE = 5_000
_CHECKED = 2_000
_LENGTHS = (6, 8, 12, 32)
# Of these there are few, so that most activities find their last 6 digits taken, many the last 8, and some the last 12.
_LAST_SIX, _TWO_BEFORE, _FOUR_BEFORE = 1 << 14, 1 << 3, 1 << 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Data:
    """What is measured on.

    rooms: the conversations, the first with half of everything. stored: (room, uuid, short id) of each activity, in
    order. thread_id: of the thread of 10,000, in the first conversation.
    """

    database: Database
    rooms: Sequence[str]
    stored: Sequence[tuple[str, str, str]]
    thread_id: str


def activities(bench: Bench) -> Iterator[Figure]:
    """As many activities as the size has messages, in 20 conversations; most short ids of 6 digits are taken.

    They are stored once; a run that was stopped meanwhile goes on where it stopped. What is measured on is a copy.
    """
    original = DATA / f"activities-{bench.size.messages}"
    yield from _fill(original, bench.size.messages)
    folder = bench.scratch("activities")
    copy_data(original, folder)
    users_dir = str(folder / "data" / "users")
    data = _read(open_store(users_dir), folder)
    _check_short_ids(data)
    yield from _finding(data, bench.times)
    yield from _posting(data, bench.times)
    close_store(users_dir)
    room, _, short_id = data.stored[-1]
    server = LiveServer(folder).start()
    try:
        get = server.sign_in(EMAIL).get
        for name, path, budget in (
            (f"first window of a thread of {_IN_THREAD:,}", f"/api/threads/{data.thread_id}", 50.0),
            ("its newest window", f"/api/threads/{data.thread_id}?before={2 * len(data.stored)}", 50.0),
            ("threads of the longest conversation", f"/api/conversations/{data.rooms[0]}/threads", None),
            ("activities between its messages", f"/api/conversations/{data.rooms[0]}/activities", None),
            ("one activity by its short id", f"/api/activities/{short_id}?conversation_id={room}", None),
        ):
            yield of_samples(name, timed(partial(get, path), times=bench.times), budget=budget)
    finally:
        server.stop()


def _fill(folder: Path, count: int) -> Iterator[Figure]:
    """Store activities until there are `count`, each batch in one transaction; how long the stored ones took."""
    if not (folder / _PLAN).exists():
        _begin(folder)
    users_dir = str(folder / "data" / "users")
    database, plan = open_store(users_dir), json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    rooms, thread_id = plan["rooms"], plan["thread_id"]
    with database.reading() as connection:
        done = connection.execute(select(func.count()).select_from(activity_rows)).scalar_one() // _AT_ONCE
    uuids = islice(_uuids(random.Random(_SEED), count), done * _AT_ONCE, None)
    begun = time.process_time()
    for number in range(done, count // _AT_ONCE):
        # Half of everything is in the first conversation; of that, the first 10,000 are in the thread.
        room = rooms[0] if number % 2 == 0 else rooms[1 + (number // 2) % (_ROOMS - 1)]
        place = Place(thread_id=thread_id) if number % 2 == 0 and number * _AT_ONCE < 2 * _IN_THREAD else Place()
        born = [_event(activity_id, place) for activity_id in islice(uuids, _AT_ONCE)]
        database.write(partial(insert_activities, born=born, user_email=EMAIL, conversation_id=room))
    took = (time.process_time() - begun) * 1_000
    close_store(users_dir)
    if stored := count - done * _AT_ONCE:
        name = f"short ids and rows for 1,000 of {count:,} activities, CPU"
        yield Figure(name=name, value=took * 1_000 / stored)


def _begin(folder: Path) -> None:
    """The accounts, the conversations and the thread, and a file that says which they are."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "data").mkdir(parents=True)
    users_dir = str(folder / "data" / "users")
    database = open_store(users_dir)
    for email in (EMAIL, STRANGER):
        create_user(database=database, user_email=email, password=PASSWORD)
    own: dict[str, Any] = {"database": database, "user_email": EMAIL}
    rooms = [create_conversation(**own, domain=DOMAIN).conversation_id for _ in range(_ROOMS)]
    plan = {"rooms": rooms, "thread_id": _thread(database, rooms[0])}
    close_store(users_dir)
    (folder / _PLAN).write_text(json.dumps(plan), encoding="utf-8")


def _read(database: Database, folder: Path) -> _Data:
    plan = json.loads((folder / _PLAN).read_text(encoding="utf-8"))
    each = activity_rows.c
    query = select(each.conversation_id, each.activity_id, each.short_id).order_by(each.seq)
    with database.reading() as connection:
        stored = [tuple(row) for row in connection.execute(query)]
    return _Data(database=database, rooms=plan["rooms"], stored=stored, thread_id=plan["thread_id"])


def _thread(database: Database, room: str) -> str:
    """The id of a new thread of two activities in this conversation."""
    post = _poster(database, room)
    root = post(type="system_event", payload={"description": "It begins."})
    reply = post(type="system_event", payload={"description": "It goes on."}, reply_to=root.activity_id)
    return str(reply.thread_id)


def _uuids(chance: random.Random, count: int) -> Iterator[str]:
    """Distinct uuids, many of which end alike."""
    for number in range(count):
        tail = (
            f"{chance.randrange(_FOUR_BEFORE):04x}{chance.randrange(_TWO_BEFORE):02x}{chance.randrange(_LAST_SIX):06x}"
        )
        yield f"{number:08x}-0000-4000-8000-{tail}"


def _event(activity_id: str, place: Place) -> NewActivity:
    return NewActivity(
        recipe="system-monitoring",
        type="system_event",
        actor_type="system",
        actor_id="monitor",
        actor_name="Monitor",
        created_at=now_iso(),
        place=place,
        payload={"type": "deployed", "description": f"Version {activity_id[:8]} is deployed."},
        activity_id=activity_id,
    )


def _check_short_ids(data: _Data) -> None:
    """Each activity has the shortest ending of its uuid that was free in its conversation when it was born."""
    taken: dict[str, set[str]] = {room: set() for room in data.rooms}
    lengths = dict.fromkeys(_LENGTHS, 0)
    for room, activity_id, short_id in data.stored:
        digits = activity_id.replace("-", "")
        expected = next(digits[-length:] for length in _LENGTHS if digits[-length:] not in taken[room])
        assert short_id == expected, (room, activity_id, short_id, expected)
        taken[room].add(short_id)
        lengths[len(short_id)] += 1
    assert all(lengths.values()), lengths


def _finding(data: _Data, times: int) -> Iterator[Figure]:
    """A short id means the activity of this conversation; without one, it is ambiguous where several have it."""
    resolve = partial(resolve_activity, database=data.database)
    holders: dict[str, list[str]] = {}
    for _, activity_id, short_id in data.stored:
        holders.setdefault(short_id, []).append(activity_id)
    chosen = random.Random(_SEED).sample(data.stored, _CHECKED)
    for room, activity_id, short_id in chosen:
        assert resolve(EMAIL, f"#{short_id.upper()}", conversation_id=room).activity_id == activity_id
        assert resolve(EMAIL, activity_id).activity_id == activity_id
        assert _candidates(partial(resolve, EMAIL, short_id)) == holders[short_id]
        assert _candidates(partial(resolve, STRANGER, short_id)) == []
        assert _candidates(partial(resolve, STRANGER, activity_id)) == []
    several = next(short_id for _, _, short_id in chosen if len(holders[short_id]) > 1)
    each = iter(chosen * times)
    for name, work in (
        ("find #id in its conversation", lambda: _resolved(resolve, next(each))),
        ("find a uuid", lambda: resolve(EMAIL, next(each)[1])),
        ("find an #id that several conversations have", lambda: _candidates(partial(resolve, EMAIL, several))),
        ("find an #id that is nobody's", lambda: _candidates(partial(resolve, EMAIL, "#fffffe"))),
    ):
        yield of_samples(f"{name}, of {len(data.stored):,}", timed(work, times=times))


def _resolved(resolve: Callable[..., object], stored: tuple[str, str, str]) -> object:
    return resolve(EMAIL, f"#{stored[2]}", conversation_id=stored[0])


def _candidates(find: Callable[[], Any]) -> list[str]:
    """The ids that a reference may mean, in order; none where there is no such activity."""
    try:
        return [find().activity_id]
    except AmbiguousReferenceError as error:
        return list(error.details["candidates"])
    except ActivityNotFoundError:
        return []


def _posting(data: _Data, times: int) -> Iterator[Figure]:
    """Posting to the conversation with half of everything, also to its thread of 10,000."""
    room, _, parent = data.stored[0]
    post = _poster(data.database, room)
    event: dict[str, Any] = {"type": "system_event", "payload": {"description": "Deployed."}}
    said: dict[str, Any] = {"type": "chat_message", "payload": {"text": "Is it deployed? " * 35}}
    for name, more in (
        ("post an event", event),
        ("post a reply to a thread of 10,000", event | {"reply_to": f"#{parent}"}),
        ("post a message", said),
        ("post a message as a reply to an event", said | {"reply_to": f"#{parent}"}),
    ):
        samples = timed(partial(post, **more), times=times)
        yield of_samples(f"{name}, among {len(data.stored):,}", samples, budget=3.0)


def _poster(database: Database, room: str) -> Callable[..., Any]:
    recipes = RecipeRegistry(BUILT_IN)
    return partial(post_activity, EMAIL, conversation_id=room, recipes=recipes, database=database)
