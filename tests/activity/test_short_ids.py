"""Short ids where almost all collide: the shortest free ending of the uuid, and found by the rules of nearness."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from random import Random

import pytest

from activity.resolving import resolve_activity
from database.activities.storing import NewActivity, Place, StoredActivity, insert_activities
from database.engine.database import Database
from database.engine.errors import ActivityNotFoundError, AmbiguousReferenceError
from database.history.threads import open_thread
from tests.activity.conftest import ADA, EVE

pytestmark = pytest.mark.contract
LENGTHS = (6, 8, 12, 32)


def uuids(count: int) -> list[str]:
    """Different ids, of which many have the same last 6, 8 and 12 digits."""
    chance = Random(8)
    return [
        f"{number:08x}-0000-4000-8000-{chance.randrange(3):04x}{chance.randrange(3):02x}{chance.randrange(9):06x}"
        for number in range(count)
    ]


def stored(
    database: Database, ids: Sequence[str], *, room: str, owner: str = ADA, thread_id: str | None = None
) -> list[StoredActivity]:
    born = [
        NewActivity(
            recipe="system-monitoring",
            type="system_event",
            actor_type="system",
            actor_id="monitor",
            actor_name="Monitor",
            created_at="2025-11-12T16:10:00.000000Z",
            payload={"description": "It runs"},
            place=Place(thread_id=thread_id),
            activity_id=activity_id,
        )
        for activity_id in ids
    ]
    return database.write(partial(insert_activities, born=born, user_email=owner, conversation_id=room))


def test_each_has_the_shortest_ending_that_was_free_when_it_was_born(
    database: Database, room: Callable[..., str]
) -> None:
    ids, here, there = uuids(400), room(), room()
    for conversation, some in ((here, ids[:160]), (there, ids[160:300]), (here, ids[300:])):
        stored(database, some, room=conversation)
    taken: dict[str, list[str]] = {here: [], there: []}
    for conversation, some in ((here, ids[:160]), (there, ids[160:300]), (here, ids[300:])):
        for activity_id in some:
            digits = activity_id.replace("-", "")
            short_id = next(digits[-length:] for length in LENGTHS if digits[-length:] not in taken[conversation])
            taken[conversation].append(short_id)
            found = resolve_activity(ADA, f"#{short_id.upper()}", conversation_id=conversation, database=database)
            assert (found.activity_id, found.short_id) == (activity_id, short_id)
    assert {len(short_id) for short_id in taken[here]} == set(LENGTHS)


def test_the_nearest_holder_of_a_short_id_is_meant(database: Database, room: Callable[..., str]) -> None:
    first, second, third, hers = uuids(4)
    alike = [f"{each[:-12]}{'0a0b0c0d0e0f'}" for each in (first, second, third, hers)]
    here, there, elsewhere = room(), room(), room()
    thread_id = database.write(partial(open_thread, user_email=ADA, root_activity_id=alike[1]))
    stored(database, alike[:1], room=here)
    stored(database, alike[1:2], room=there, thread_id=thread_id)
    stored(database, ["99999999-0000-4000-8000-000000000001"], room=elsewhere, thread_id=thread_id)
    stored(database, alike[3:], room=room(EVE), owner=EVE)
    find = partial(resolve_activity, ADA, database=database)
    assert find("#0d0e0f", conversation_id=here).activity_id == alike[0]
    assert find("0D0E0F", conversation_id=there).activity_id == alike[1]
    assert find("#0d0e0f", conversation_id=elsewhere).activity_id == alike[1]
    for conversation in (None, room()):
        with pytest.raises(AmbiguousReferenceError) as several:
            find("#0d0e0f", conversation_id=conversation)
        assert several.value.details == {"candidates": alike[:2]}
    assert resolve_activity(EVE, "#0d0e0f", database=database).activity_id == alike[3]
    assert find(alike[0].replace("-", "").upper()).activity_id == alike[0]
    for missing in ("#0a0b0c", "#0d0e0", alike[2], alike[3], "#"):
        with pytest.raises(ActivityNotFoundError):
            find(missing, conversation_id=here)
