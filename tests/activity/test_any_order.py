"""Posting, replying, joining, deleting and erasing in any order, by two people: threads stay what they promise."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from activity.posting import post_activity
from activity.recipes import RecipeRegistry
from activity.recipes.builtin import BUILT_IN
from activity.resolving import resolve_activity
from database.activities.reading import NEWEST, activities_of_thread
from database.connection import close_store, open_store
from database.conversations.deletion import erase_binned
from database.conversations.repository import create_conversation, delete_conversation
from database.engine.errors import ActivityNotFoundError, ThreadMismatchError, ThreadNotFoundError
from database.history.editing import delete_message
from database.history.reading import list_messages
from database.history.threads import get_thread
from database.maintenance.verification import verify_file
from tests.stores import put_empty_store, restarted
from tests.tiers import examples

from .made import Game

ANN, BOB = "ann@example.org", "bob@example.org"
ROOMS = 2
people = st.sampled_from((ANN, BOB))
rooms = st.integers(0, ROOMS - 1)
kinds = st.sampled_from(("message", "event", "move"))


@dataclass
class Posted:
    """What the model knows of an activity."""

    activity_id: str
    owner: str
    room: str
    is_message: bool
    parent: str | None
    thread: str | None
    live: bool = True


class Happenings(RuleBasedStateMachine):
    """A model of what two people post to two conversations each."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.database = open_store(put_empty_store(self.folder.name))
        self.recipes = RecipeRegistry(BUILT_IN)
        self.recipes.register(Game(), source="a-game")
        self.rooms = {person: [self.new_room(person) for _ in range(ROOMS)] for person in (ANN, BOB)}
        self.posted: list[Posted] = []
        self.sessions: dict[tuple[str, str], str] = {}

    def teardown(self) -> None:
        found = [each for each in verify_file(Path(self.folder.name) / "users.db") if not each.fine]
        close_store(self.folder.name)
        self.folder.cleanup()
        assert found == []

    def new_room(self, person: str) -> str:
        return create_conversation(database=self.database, user_email=person, domain="assistant").conversation_id

    def live(self, person: str) -> list[Posted]:
        return [each for each in self.posted if each.owner == person and each.live]

    def by_id(self, activity_id: str) -> Posted:
        return next(each for each in self.posted if each.activity_id == activity_id)

    def post(self, person: str, room: int, kind: str, **more: Any) -> Posted:
        said: dict[str, dict[str, Any]] = {
            "message": {"type": "chat_message", "payload": {"text": f"Message {len(self.posted)}"}},
            "event": {"type": "system_event", "payload": {"description": f"Event {len(self.posted)}"}},
            "move": {"type": "game_action", "payload": {"type": "jump"}},
        }
        stored = post_activity(
            person,
            conversation_id=self.rooms[person][room],
            recipes=self.recipes,
            database=self.database,
            **said[kind],
            **more,
        )
        made = Posted(
            activity_id=stored.activity_id,
            owner=person,
            room=stored.conversation_id,
            is_message=kind == "message",
            parent=stored.reply_to_id,
            thread=stored.thread_id,
        )
        self.posted.append(made)
        return made

    @rule(person=people, room=rooms, kind=kinds)
    def begin(self, person: str, room: int, kind: str) -> None:
        made = self.post(person, room, kind)
        assert (made.parent, made.thread) == (None, None)

    @rule(person=people, room=rooms, kind=kinds, data=st.data())
    def reply(self, person: str, room: int, kind: str, data: st.DataObject) -> None:
        if not self.live(person):
            return
        parent = data.draw(st.sampled_from(self.live(person)))
        made = self.post(person, room, kind, reply_to=parent.activity_id)
        assert made.parent == parent.activity_id
        assert made.thread is not None
        assert parent.thread in (None, made.thread)
        parent.thread = made.thread

    @rule(person=people, room=rooms, kind=kinds, data=st.data())
    def join(self, person: str, room: int, kind: str, data: st.DataObject) -> None:
        threads = sorted({each.thread for each in self.live(person) if each.thread})
        if not threads:
            return
        thread = data.draw(st.sampled_from(threads))
        made = self.post(person, room, kind, thread_id=thread)
        assert (made.parent, made.thread) == (None, thread)
        other = ANN if person == BOB else BOB
        with pytest.raises(ThreadNotFoundError):
            self.post(other, room, kind, thread_id=thread)

    @rule(person=people, room=rooms, session=st.sampled_from("ab"))
    def play(self, person: str, room: int, session: str) -> None:
        made = self.post(person, room, "move", session_id=session)
        assert made.thread is not None
        known = self.sessions.get((person, session))
        if known is not None and any(each.thread == known for each in self.live(person)[:-1]):
            assert made.thread == known
        self.sessions[person, session] = made.thread

    @rule(person=people, room=rooms, data=st.data())
    def mistake(self, person: str, room: int, data: st.DataObject) -> None:
        other = ANN if person == BOB else BOB
        for unseen in [*self.live(other)[:1], *[each for each in self.posted if not each.live][:1]]:
            with pytest.raises(ActivityNotFoundError):
                self.post(person, room, "event", reply_to=unseen.activity_id)
        threads = {each.thread for each in self.live(person) if each.thread}
        if self.live(person) and threads:
            parent = data.draw(st.sampled_from(self.live(person)))
            for thread in sorted(threads - {parent.thread})[:1]:
                with pytest.raises(ThreadMismatchError):
                    self.post(person, room, "event", reply_to=parent.activity_id, thread_id=thread)

    @rule(data=st.data())
    def delete(self, data: st.DataObject) -> None:
        messages = [each for each in self.posted if each.is_message and each.live]
        if not messages:
            return
        gone = data.draw(st.sampled_from(messages))
        own = {"database": self.database, "user_email": gone.owner, "conversation_id": gone.room}
        delete_message(**own, message_id=gone.activity_id, index=None)
        gone.live = False

    @rule(person=people, room=rooms)
    def erase(self, person: str, room: int) -> None:
        gone = self.rooms[person][room]
        own = {"database": self.database, "user_email": person, "conversation_id": gone}
        delete_conversation(**own)
        erase_binned(**own)
        for each in self.posted:
            each.live = each.live and each.room != gone
        self.rooms[person][room] = self.new_room(person)

    @rule()
    def restart(self) -> None:
        self.database = restarted(self.database)

    @invariant()
    def threads_are_as_the_model_says(self) -> None:
        for person in (ANN, BOB):
            for thread in {each.thread for each in self.live(person) if each.thread}:
                members = [each.activity_id for each in self.live(person) if each.thread == thread]
                own = {"database": self.database, "user_email": person, "thread_id": thread}
                stored = activities_of_thread(**own, before=NEWEST, limit=500)
                assert [each.activity_id for each in stored] == members
                told = get_thread(**own)
                assert told.reply_count == len([each for each in members if each != told.root_activity_id])
                for each in stored:
                    has_parent = each.reply_to_id is not None and self.by_id(each.reply_to_id).live
                    assert (each.reply_to_short_id is not None) == has_parent

    @invariant()
    def messages_are_those_that_were_posted(self) -> None:
        for person in (ANN, BOB):
            for room in self.rooms[person]:
                found = list_messages(database=self.database, user_email=person, conversation_id=room)
                assert [row.message_id for row in found] == [
                    each.activity_id for each in self.live(person) if each.is_message and each.room == room
                ]

    @invariant()
    def nobody_finds_what_is_not_theirs(self) -> None:
        for each in self.posted[-1:]:
            stranger = ANN if each.owner == BOB else BOB
            with pytest.raises(ActivityNotFoundError):
                resolve_activity(stranger, each.activity_id, database=self.database)


TestHappenings = Happenings.TestCase
TestHappenings.settings = examples(8, steps=20)
