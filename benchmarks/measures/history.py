"""What conversations cost where no model is involved: lists, references, appending, naming old ones."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any

from activity.export import FORMATS, export
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from chat.context.conversations import ConversationReferences
from chat.context.gather import GatheredContext, gather, stored_lookup
from chat.context.kinds import ReferenceScope
from chat.context.memories import Knowledge
from chat.runtime.cache import DefaultDictQueue
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.conversation import ConversationListRow
from database.conversations.friendly_ids import backfill_friendly_ids
from database.conversations.listing import list_conversations
from database.turns.turns import accept_turn, finish_turn
from tests.live_server import LiveServer

from ..figures import Figure, of_samples, timed
from ..load import resident_kb
from ..seeded import DOMAIN, EMAIL, Bench, closed, seed

TEXT = "What follows from that for the window of the index, and what would it cost? " * 7
_EXPORTED = 100_000
_RECIPES = RecipeRegistry(BUILT_IN)


def lists(bench: Bench) -> Iterator[Figure]:
    """Lists of conversations and of messages, over HTTP."""
    longest = bench.longest.conversation_id
    server = LiveServer(closed(bench)).start()
    try:
        client = server.sign_in(EMAIL)
        for name, path, budget in (
            ("first page of the conversations", f"/list_conversation_by_user/{DOMAIN}?limit=50", 4.0),
            ("all conversations", f"/list_conversation_by_user/{DOMAIN}", 60.0),
            ("all conversations, in brief", f"/list_conversation_by_user/{DOMAIN}?brief=true", 60.0),
            ("first window of the longest conversation", _messages_path(longest, "?limit=50"), 50.0),
            ("the longest conversation whole", _messages_path(longest, ""), None),
        ):
            times = bench.times if "limit=" in path else max(10, bench.times // 10)
            yield of_samples(name, timed(partial(client.get, path), times=times), budget=budget)
    finally:
        server.stop()


def references(bench: Bench) -> Iterator[Figure]:
    """References to messages, without a server: remembered, and from the store."""
    one, twenty = bench.references(1, conversations=1), bench.references(20, conversations=20)
    own, cache = bench.own, conversation_cache(bench.own)
    yield of_samples(
        "one reference, remembered", timed(lambda: gathered(own, one, cache), times=bench.times), budget=0.3
    )
    yield of_samples(
        "20 references to 20 conversations, remembered",
        timed(lambda: gathered(own, twenty, cache), times=bench.times),
        budget=15.0,
    )
    yield of_samples(
        "one reference, from the store",
        timed(lambda: gathered(own, one, conversation_cache(own)), times=bench.times),
        budget=5.0,
    )
    yield of_samples(
        "20 references to 20 conversations, from the store",
        timed(lambda: gathered(own, twenty, conversation_cache(own)), times=bench.times),
        budget=15.0,
    )


def append(bench: Bench) -> Iterator[Figure]:
    """A turn accepted and finished, question and answer of 560 characters."""
    for row in (bench.shortest, bench.longest):
        samples = timed(partial(_append_turn, bench, row), times=bench.times)
        yield of_samples(f"append a turn to {row.message_count:,} messages", samples, budget=3.0)


def backfill(bench: Bench) -> Iterator[Figure]:
    """Friendly ids for 100 conversations of before there were any."""
    folder = bench.scratch("unnamed")
    seed(folder, conversations=100, messages=1_000, unnamed=None)
    users_dir = str(folder / "data" / "users")
    own: dict[str, Any] = {"database": open_store(users_dir), "user_email": EMAIL, "domain": DOMAIN}
    counts = list[int]()
    samples = timed(lambda: counts.append(backfill_friendly_ids(**own)), times=1, warm=0)
    assert counts == [100], counts
    yield of_samples("name 100 old conversations", samples, budget=100.0)
    yield of_samples("find that none is left", timed(partial(backfill_friendly_ids, **own), times=bench.times))
    close_store(users_dir)


def exports(bench: Bench) -> Iterator[Figure]:
    """One conversation of 100,000 messages as a file (10,000 in a quick run), without a server."""
    count = min(_EXPORTED, bench.size.messages // 5)
    folder = bench.scratch("exported")
    seed(folder, conversations=1, messages=count)
    users_dir = str(folder / "data" / "users")
    database = open_store(users_dir)
    ((row,), _) = list_conversations(database=database, user_email=EMAIL, domain=DOMAIN)
    for fmt in FORMATS:
        before = most = resident_kb(os.getpid(), "RssAnon")
        began = time.perf_counter()
        made = export(EMAIL, database=database, recipes=_RECIPES, room=row.conversation_id, fmt=fmt)
        for place, _chunk in enumerate(made.chunks):
            if place % 1_000 == 0:
                most = max(most, resident_kb(os.getpid(), "RssAnon"))
        took = (time.perf_counter() - began) * 1_000
        # 5,000 messages a second.
        yield Figure(name=f"export 1,000 of {count:,} messages, {fmt}", value=took * 1_000 / count, budget=200.0)
        yield Figure(
            name=f"memory of an export, unshared, {fmt}", value=(most - before) / 1_024, unit="MB", budget=100.0
        )
    close_store(users_dir)


def _messages_path(conversation_id: str, query: str) -> str:
    return f"/list_messages_by_conversation/{conversation_id}{query}"


def conversation_cache(own: Mapping[str, Any]) -> DefaultDictQueue[str, Conversation]:
    """Conversations of the person whose `own` store it is, as a server keeps them; empty."""
    return DefaultDictQueue(
        maxsize=200,
        factory=lambda conversation_id: Conversation(own["user_email"], own["database"], conversation_id),
        is_current=lambda _, conversation: conversation.keep_up(),
    )


def gathered(own: Mapping[str, Any], names: list[str], cache: DefaultDictQueue[str, Conversation]) -> GatheredContext:
    """What references (without "@") lead to, all of which are there."""
    scope = ReferenceScope(
        **own,
        conversations=ConversationReferences(lookup=stored_lookup(**own), load=cache.__getitem__),
        knowledge=Knowledge(api=None),
        recipes=_RECIPES,
    )
    found = gather(names, scope=scope)
    assert {entry.status for entry in found.report} == {"resolved"}, found.report
    return found


_numbers = itertools.count()


def _append_turn(bench: Bench, row: ConversationListRow) -> None:
    where = {**bench.own, "conversation_id": row.conversation_id}
    accepted = accept_turn(**where, text=f"{next(_numbers)} {TEXT}", config={})
    finish_turn(
        **where,
        response_message_id=accepted.response_message_id,
        text=f"{next(_numbers)} {TEXT}",
        status="complete",
        config={"model": "none"},
    )
