"""Several people post, reply, move, delete, export and import in any order, at once: everything stays what it says."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule, run_state_machine_as_test

from activity.export import INCLUDED, export
from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.resolving import resolve_activity
from database.connection import close_store, open_store
from database.conversations.deletion import erase_binned
from database.conversations.listing import list_conversations
from database.conversations.repository import create_conversation, delete_conversation
from database.engine.database import Database
from database.engine.errors import (
    ActivityNotFoundError,
    ConflictError,
    ConversationNotFoundError,
    MessageNotMovableError,
)
from database.history.editing import delete_message, move_messages
from database.history.threads import get_thread
from database.maintenance.verification import verify_store
from database.timeline.moving import move_activity
from portability.importers.anaphora import import_export
from tests.stores import put_empty_store
from tests.tiers import examples

from .conftest import database, users_dir
from .made import Game

__all__ = ["database", "users_dir"]
PEOPLE = (0, 1, 2)
ROOMS = (0, 1)
KINDS = ("message", "event", "move")
people, rooms, kinds = st.sampled_from(PEOPLE), st.sampled_from(ROOMS), st.sampled_from(KINDS)
_numbers = itertools.count(1)


@dataclass
class Known:
    """What the model knows of an activity. parent: also of one that is deleted."""

    activity_id: str
    owner: str
    room: str
    is_message: bool
    parent: str | None
    thread: str | None
    live: bool = True
    short_ids: dict[str, str] = field(default_factory=dict)
    """The short id that it has, or had, in each conversation that it stands, or stood, in."""


class Exchanges(RuleBasedStateMachine):
    """A model of what three people post, and send each other as files, in one store."""

    def __init__(self, database: Database) -> None:
        super().__init__()
        self.database = database
        self.recipes = RecipeRegistry(BUILT_IN)
        self.recipes.register(Game(), source="a-game")
        number = next(_numbers)
        self.people = [f"{name}{number}@example.org" for name in ("ann", "bob", "cleo")]
        self.rooms = [[self.new_room(email) for _ in ROOMS] for email in self.people]
        self.known: dict[str, Known] = {}
        # What a person has imported of which conversation, by the two; erased ones among them.
        self.copies: dict[tuple[str, str], str] = {}
        # What the file said by which the person got it at last, by the same.
        self.given: dict[tuple[str, str], Any] = {}

    # ------------------------------------------------------------------ what people do

    @rule(person=people, room=rooms, kind=kinds)
    def begin(self, person: int, room: int, kind: str) -> None:
        made = self.post(person, room, kind)
        assert (made.parent, made.thread) == (None, None)

    @precondition(lambda self: self.live())
    @rule(data=st.data(), room=rooms, kind=kinds)
    def reply(self, data: st.DataObject, room: int, kind: str) -> None:
        parent = chosen(data, self.live())
        made = self.post(self.people.index(parent.owner), room, kind, reply_to=parent.activity_id)
        self.replied(parent, made)

    @precondition(lambda self: self.live())
    @rule(data=st.data(), room=rooms)
    def reply_at_once(self, data: st.DataObject, room: int) -> None:
        """Two replies to one activity, while the others post too."""
        parent = chosen(data, self.live())
        owner = self.people.index(parent.owner)
        jobs: list[Callable[[], Known]] = [
            lambda: self.stored(owner, room, "message", reply_to=parent.activity_id),
            lambda: self.stored(owner, 1 - room, "event", reply_to=parent.activity_id),
            *(lambda other=other: self.stored(other, room, "message") for other in PEOPLE if other != owner),
        ]
        with ThreadPoolExecutor(len(jobs)) as pool:
            made = [self.keep(each.result()) for each in [pool.submit(job) for job in jobs]]
        assert made[0].thread == made[1].thread
        for each in made[:2]:
            self.replied(parent, each)

    @precondition(lambda self: self.live_messages())
    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        gone = chosen(data, self.live_messages())
        own: dict[str, Any] = {"user_email": gone.owner, "conversation_id": gone.room, "message_id": gone.activity_id}
        delete_message(database=self.database, **own, index=None)
        gone.live = False

    @precondition(lambda self: self.live_messages())
    @rule(data=st.data(), direction=st.sampled_from(("up", "down")))
    def move(self, data: st.DataObject, direction: Any) -> None:
        moved = chosen(data, self.live_messages())
        own: dict[str, Any] = {"user_email": moved.owner, "conversation_id": moved.room}
        move_messages(database=self.database, **own, message_ids=[moved.activity_id], direction=direction)

    @precondition(lambda self: self.live())
    @rule(data=st.data(), by_short_id=st.booleans())
    def move_to_another_room(self, data: st.DataObject, by_short_id: bool) -> None:
        """What is no message goes to the person's other conversation; while it does, others post there."""
        moved = chosen(data, self.live())
        owner = self.people.index(moved.owner)
        to = next(place for place in ROOMS if self.rooms[owner][place] != moved.room)
        name = f"#{moved.short_ids[moved.room]}" if by_short_id else moved.activity_id
        own: dict[str, Any] = {"database": self.database, "user_email": moved.owner, "near": moved.room}
        if moved.is_message:
            with pytest.raises(MessageNotMovableError):
                move_activity(**own, reference=name, conversation_id=self.rooms[owner][to])
            return
        for stranger in PEOPLE:
            if stranger != owner:
                with pytest.raises(ConversationNotFoundError):
                    move_activity(**own, reference=name, conversation_id=self.rooms[stranger][to])
        with ThreadPoolExecutor(2) as pool:
            posted = pool.submit(self.stored, owner, to, "event")
            after = move_activity(**own, reference=name, conversation_id=self.rooms[owner][to])
            self.keep(posted.result())
        moved.room = after.conversation_id
        moved.short_ids[moved.room] = after.short_id

    @rule(person=people, room=rooms)
    def erase(self, person: int, room: int) -> None:
        own: dict[str, Any] = {"database": self.database, "user_email": self.people[person]}
        gone = self.rooms[person][room]
        delete_conversation(**own, conversation_id=gone)
        erase_binned(**own, conversation_id=gone)
        for each in self.known.values():
            each.live = each.live and each.room != gone
            each.short_ids.pop(gone, None)
        self.rooms[person][room] = self.new_room(self.people[person])

    @rule(person=people, room=rooms, to=people, into=rooms)
    def give(self, person: int, room: int, to: int, into: int) -> None:
        """A file of one conversation is imported by another person, who may have imported it before."""
        given = self.rooms[person][room]
        whole = self.exported(self.people[person], room=given)
        copy = self.copies.get((self.people[to], given))
        if to == person:
            if whole["count"]:
                with pytest.raises(ConflictError):
                    self.put_in(self.database, whole, self.people[to])
            return
        if copy is not None and copy in self.rooms[to]:
            self.give_again(to, given, copy, whole)
            return
        self.put_in(self.database, whole, self.people[to])
        rows, _ = list_conversations(database=self.database, user_email=self.people[to], domain="assistant")
        (new_room,) = {row.conversation_id for row in rows} - set(itertools.chain(*self.rooms))
        received = self.exported(self.people[to], room=new_room)
        assert shape_of(received) == shape_of(whole)
        self.given[self.people[to], given] = said_by(whole)
        self.erase(to, into)
        own: dict[str, Any] = {"database": self.database, "user_email": self.people[to]}
        delete_conversation(**own, conversation_id=self.rooms[to][into])
        self.rooms[to][into] = new_room
        self.copies[self.people[to], given] = new_room
        self.receive(to, new_room)

    def give_again(self, to: int, given: str, copy: str, whole: dict[str, Any]) -> None:
        """A file that has grown may bring what is new in it; one that says what it said before brings nothing."""
        said, before = said_by(whole), self.given[self.people[to], given]
        try:
            self.put_in(self.database, whole, self.people[to])
        except ConflictError:
            return
        assert said != before
        self.given[self.people[to], given] = said
        self.receive(to, copy)

    def receive(self, to: int, room: str) -> None:
        """What an import brought; where something answers what was there already, that has a thread now."""
        for each in flat(self.exported(self.people[to], room=room)):
            if (known := self.known.get(each["id"])) is not None:
                assert (known.owner, known.live) == (self.people[to], True)
                known.thread = known.thread or each["thread_id"]
                continue
            self.keep(
                Known(
                    activity_id=each["id"],
                    owner=self.people[to],
                    room=room,
                    is_message="message" in each,
                    parent=each["reply_to_id"],
                    thread=each["thread_id"],
                    short_ids={room: each["short_id"]},
                )
            )

    @rule(person=people, room=rooms)
    def take_to_an_empty_server(self, person: int, room: int) -> None:
        email, here = self.people[person], self.rooms[person][room]
        whole = self.exported(email, room=here)
        with TemporaryDirectory() as folder:
            empty = open_store(put_empty_store(folder))
            self.put_in(empty, whole, email)
            again = self.exported(email, room=here, database=empty)
            close_store(folder)
        assert shape_of(again) == shape_of(whole)
        assert [each["id"] for each in flat(again)] == [each["id"] for each in flat(whole)]

    @rule()
    def look(self) -> None:
        """Everything is as the model says."""
        for person, email in enumerate(self.people):
            live = [each for each in self.live() if each.owner == email]
            for room in self.rooms[person]:
                whole = self.exported(email, room=room)
                here = {each.activity_id: each for each in live if each.room == room}
                told = flat(whole)
                assert {each["id"] for each in told} == set(here)
                assert len({each["short_id"] for each in told}) == len(told)
                for each in told:
                    assert (each["reply_to_id"], each["thread_id"]) == (
                        here[each["id"]].parent,
                        here[each["id"]].thread,
                    )
            for each in live:
                for room, short_id in each.short_ids.items():
                    found = resolve_activity(email, f"#{short_id}", conversation_id=room, database=self.database)
                    assert found.activity_id == each.activity_id
            for thread in {each.thread for each in live if each.thread}:
                counted = get_thread(database=self.database, user_email=email, thread_id=thread)
                members = [each.activity_id for each in live if each.thread == thread]
                assert counted.reply_count == len([each for each in members if each != counted.root_activity_id])
            for stranger in [each for each in self.live() if each.owner != email][-2:]:
                with pytest.raises(ActivityNotFoundError):
                    resolve_activity(email, stranger.activity_id, database=self.database)

    def teardown(self) -> None:
        self.look()
        if self.database.backend.file is not None:
            assert [each for each in verify_store(database=self.database) if not each.fine] == []

    # ------------------------------------------------------------------ how it is done

    def new_room(self, email: str) -> str:
        return create_conversation(database=self.database, user_email=email, domain="assistant").conversation_id

    def live(self) -> list[Known]:
        return [each for each in self.known.values() if each.live]

    def live_messages(self) -> list[Known]:
        return [each for each in self.live() if each.is_message]

    def post(self, person: int, room: int, kind: str, **more: Any) -> Known:
        return self.keep(self.stored(person, room, kind, **more))

    def keep(self, known: Known) -> Known:
        """In the order that the rules say, whichever of two at once was the first: a replay chooses the same."""
        self.known[known.activity_id] = known
        return known

    def stored(self, person: int, room: int, kind: str, **more: Any) -> Known:
        said: dict[str, dict[str, Any]] = {
            "message": {"type": "chat_message", "payload": {"text": f"Message {len(self.known)}"}},
            "event": {"type": "system_event", "payload": {"description": f"Event {len(self.known)}"}},
            "move": {"type": "game_action", "payload": {"type": "jump"}},
        }
        stored = post_activity(
            self.people[person],
            conversation_id=self.rooms[person][room],
            recipes=self.recipes,
            database=self.database,
            **said[kind],
            **more,
        )
        return Known(
            activity_id=stored.activity_id,
            owner=self.people[person],
            room=stored.conversation_id,
            is_message=kind == "message",
            parent=stored.reply_to_id,
            thread=stored.thread_id,
            short_ids={stored.conversation_id: stored.short_id},
        )

    def replied(self, parent: Known, made: Known) -> None:
        assert made.parent == parent.activity_id
        assert made.thread is not None
        assert parent.thread in (None, made.thread)
        parent.thread = made.thread

    def exported(self, email: str, *, room: str, database: Database | None = None) -> dict[str, Any]:
        made = export(
            email, database=database or self.database, recipes=self.recipes, room=room, include=INCLUDED, fmt="json"
        )
        whole: dict[str, Any] = json.loads(b"".join(made.chunks))
        return whole

    def put_in(self, database: Database, whole: dict[str, Any], email: str) -> None:
        import_export(json.dumps(whole).encode(), database=database, user_email=email)


def chosen(data: st.DataObject, known: list[Known]) -> Known:
    """One of them. The number is drawn from the same range whatever there is, since two at once may end either way."""
    return known[data.draw(st.integers(0, 999)) % len(known)]


def flat(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """The activities of a file, in order of their positions."""

    def below(items: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        for each in items:
            yield each
            yield from below(each["replies"])

    return sorted(below(whole["activities"]), key=lambda each: each["position"])


def said_by(whole: dict[str, Any]) -> tuple[list[str], list[tuple[Any, ...]]]:
    """What a file says, and of which activities."""
    return [each["id"] for each in flat(whole)], shape_of(whole)


def shape_of(whole: dict[str, Any]) -> list[tuple[Any, ...]]:
    """What a file says, without ids: a parent by its place in the file, a thread by that of its first activity."""
    told = flat(whole)
    places = {each["id"]: place for place, each in enumerate(told)}
    first: dict[str, int] = {}
    for place, each in enumerate(told):
        first.setdefault(each["thread_id"], place)
    return [
        (
            *(each[name] for name in ("short_id", "type", "recipe", "content", "payload", "created_at", "session_id")),
            each["actor"]["type"],
            places.get(each["reply_to_id"]),
            each["thread_id"] and first[each["thread_id"]],
        )
        for each in told
    ]


@pytest.mark.contract
@pytest.mark.hypothesis
def test_whatever_people_do_and_give_each_other_stays_whole(database: Database) -> None:
    run_state_machine_as_test(lambda: Exchanges(database), settings=examples(5, steps=16))
