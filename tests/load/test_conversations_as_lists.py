"""Whatever is done to conversations, in whatever order: they stay what plain lists of texts would be.

And whoever kept a reference to a message gets that message: through the cache that servers read through, too.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from chat.context.conversations import ConversationReferences
from chat.context.gather import stored_lookup
from chat.exchange.report import Resolution
from chat.runtime.cache import DefaultDictQueue
from Conversation import Conversation
from database.connection import close_store, open_store
from database.conversations.repository import (
    create_conversation,
    delete_conversation,
    restore_conversation,
    update_conversation,
)
from database.engine.errors import ConversationNotFoundError, StaleIndexError, TurnInProgressError
from database.history import editing, reading
from database.sharing.copying import clone_conversation
from database.turns.turns import accept_turn, finish_turn
from tests.load.invariants import broken_invariants
from tests.tiers import examples

ADA = "ada@example.org"
# Few, so that they are said again and again.
TEXTS = st.sampled_from(["yes", "no", "Yes", "a longer answer\nof two lines", "@conversation_yes_message_1", "7"])
ENDS = st.sampled_from(["complete", "cancelled", "interrupted", "failed"])


@dataclass
class Said:
    """A message as it should be."""

    message_id: str
    text: str
    status: str = "complete"
    short_hash: str | None = None


@dataclass
class Talk:
    """A conversation as it should be. gone: what was deleted of it. running: the answer being written."""

    conversation_id: str
    title: str = ""
    by_hand: bool = False
    friendly_id: str | None = None
    said: list[Said] = field(default_factory=list)
    gone: list[Said] = field(default_factory=list)
    running: Said | None = None
    binned: bool = False


class ConversationsAsLists(RuleBasedStateMachine):
    """Does things to real conversations and to lists, and compares."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.own: dict[str, Any] = {"database": open_store(self.folder.name), "user_email": ADA}
        self.talks: list[Talk] = []
        self.count = itertools.count(1)
        store = open_store(self.folder.name)
        self.cache = DefaultDictQueue[str, Conversation](
            maxsize=3,
            factory=lambda conversation_id: Conversation(ADA, store, conversation_id),
            is_current=lambda _, conversation: conversation.keep_up(),
        )

    def teardown(self) -> None:
        close_store(self.folder.name)
        broken = broken_invariants(self.folder.name, at_rest=not any(talk.running for talk in self.talks))
        self.folder.cleanup()
        assert broken == {}

    # ------------------------------------------------------------------ what people do

    @precondition(lambda self: len(self.talks) < 5)
    @rule()
    def begin(self) -> None:
        row = create_conversation(**self.own, domain="assistant")
        self.talks.append(Talk(row.conversation_id))

    @precondition(lambda self: self.talks)
    @rule(data=st.data(), text=TEXTS)
    def send(self, data: st.DataObject, text: str) -> None:
        talk = self._one(data)
        if talk.binned or talk.running:
            with pytest.raises(ConversationNotFoundError if talk.binned else TurnInProgressError):
                accept_turn(**self.own, conversation_id=talk.conversation_id, text=text, config={})
            return
        accepted = accept_turn(**self.own, conversation_id=talk.conversation_id, text=text, config={})
        assert accepted.user_message_index == len(talk.said) + 1
        assert accepted.response_message_index == len(talk.said) + 2
        assert bool(accepted.user_message_short_hash) == bool(talk.friendly_id)
        talk.running = Said(accepted.response_message_id, "", "streaming")
        question = Said(accepted.user_message_id, text, short_hash=accepted.user_message_short_hash)
        talk.said += [question, talk.running]

    @precondition(lambda self: any(talk.running for talk in self.talks))
    @rule(data=st.data(), text=TEXTS | st.just(""), status=ENDS, again=st.booleans())
    def finish(self, data: st.DataObject, text: str, status: str, again: bool) -> None:
        talk = data.draw(st.sampled_from([talk for talk in self.talks if talk.running]))
        answer, talk.running = talk.running, None
        assert answer is not None
        answer.text, answer.status = text, status
        end: dict[str, Any] = {"text": text, "status": status, "config": {}, "title": f"Title {next(self.count) % 3}"}
        which = {"conversation_id": talk.conversation_id, "response_message_id": answer.message_id}
        finished = finish_turn(**self.own, **which, **end)
        if again:
            assert finish_turn(**self.own, **which, **(end | {"text": "too late"})) == finished
        if talk.friendly_id is None:
            talk.title = talk.title if talk.by_hand else end["title"]
            talk.friendly_id = finished.conversation_friendly_id
        assert (finished.title, finished.conversation_friendly_id) == (talk.title, talk.friendly_id)
        assert finished.response_message_index == talk.said.index(answer) + 1
        assert finished.response_message_short_hash
        answer.short_hash = finished.response_message_short_hash
        for message in (*talk.said, *talk.gone):
            if message.message_id == finished.user_message_id:
                assert message.short_hash in {None, finished.user_message_short_hash}
                message.short_hash = finished.user_message_short_hash

    @precondition(lambda self: any(talk.said for talk in self.talks))
    @rule(data=st.data(), text=TEXTS, off=st.sampled_from([0, 0, 0, 1]))
    def edit(self, data: st.DataObject, text: str, off: int) -> None:
        talk, place = self._message(data)
        message = talk.said[place]
        which = {"conversation_id": talk.conversation_id, "message_id": message.message_id, "index": place + 1 + off}
        if self._refused(talk, message, off, lambda: editing.edit_message(**self.own, **which, text=text)):
            return
        message.text = text

    @precondition(lambda self: any(talk.said for talk in self.talks))
    @rule(data=st.data(), off=st.sampled_from([0, 0, 0, 1]))
    def delete(self, data: st.DataObject, off: int) -> None:
        talk, place = self._message(data)
        message = talk.said[place]
        which = {"conversation_id": talk.conversation_id, "message_id": message.message_id, "index": place + 1 + off}
        if self._refused(talk, message, off, lambda: editing.delete_message(**self.own, **which)):
            return
        talk.gone.append(talk.said.pop(place))

    @precondition(lambda self: any(talk.said for talk in self.talks))
    @rule(data=st.data(), up=st.booleans())
    def move(self, data: st.DataObject, up: bool) -> None:
        talk, place = self._message(data)
        if talk.binned:
            return
        message = talk.said[place]
        editing.move_messages(
            **self.own,
            conversation_id=talk.conversation_id,
            message_ids=[message.message_id],
            direction="up" if up else "down",
        )
        talk.said.pop(place)
        talk.said.insert(max(0, place - 1) if up else place + 1, message)

    @precondition(lambda self: 0 < len(self.talks) < 5)
    @rule(data=st.data())
    def clone(self, data: st.DataObject) -> None:
        source = self._one(data)
        if source.binned:
            return
        row = clone_conversation(**self.own, conversation_id=source.conversation_id)
        rows = reading.list_messages(**self.own, conversation_id=row.conversation_id)
        copies = [Said(row.message_id, row.text, row.status, row.message_short_hash) for row in rows]
        assert [copy.text for copy in copies] == [message.text for message in source.said]
        ends = ["interrupted" if message is source.running else message.status for message in source.said]
        assert [copy.status for copy in copies] == ends
        assert row.conversation_friendly_id != source.friendly_id or source.friendly_id is None
        assert not {copy.message_id for copy in copies} & {message.message_id for message in source.said}
        fid, title = row.conversation_friendly_id, row.title
        self.talks.append(Talk(row.conversation_id, title, row.title_force_set, fid, copies))

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def rename(self, data: st.DataObject) -> None:
        talk = self._one(data)
        if talk.binned:
            return
        talk.title, talk.by_hand = f"Named {next(self.count)}", True
        self.cache[talk.conversation_id].set_field("title", talk.title)

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def bin_or_restore(self, data: st.DataObject) -> None:
        talk = self._one(data)
        change = restore_conversation if talk.binned else delete_conversation
        change(**self.own, conversation_id=talk.conversation_id)
        talk.binned = not talk.binned

    @precondition(lambda self: self.talks)
    @rule(data=st.data())
    def change_behind_the_cache(self, data: st.DataObject) -> None:
        """Another process changes a conversation that this one has in its cache."""
        talk = self._one(data)
        if not talk.binned:
            update_conversation(**self.own, conversation_id=talk.conversation_id, changes={"flag": "red"})

    # ------------------------------------------------------------------ what must hold

    @invariant()
    def each_is_as_its_list(self) -> None:
        for talk in self.talks:
            if talk.binned:
                continue
            conversation = self.cache[talk.conversation_id]
            metadata = conversation.get_metadata()
            assert metadata["message_count"] == len(talk.said)
            assert (metadata["title"], metadata["conversation_friendly_id"]) == (talk.title, talk.friendly_id or "")
            rows = conversation.get_message_list()
            found = [(row["message_id"], row["text"], row["status"], row["message_short_hash"]) for row in rows]
            assert found == [(each.message_id, each.text, each.status, each.short_hash) for each in talk.said]
            assert [row["message_index"] for row in rows] == list(range(1, len(rows) + 1))

    @invariant()
    def names_are_given_once(self) -> None:
        named = [talk.friendly_id for talk in self.talks if talk.friendly_id]
        assert len(named) == len(set(named))
        for talk in self.talks:
            hashes = [each.short_hash for each in (*talk.said, *talk.gone) if each.short_hash]
            assert len(hashes) == len(set(hashes))
            assert not any(each.isdigit() for each in hashes)

    @invariant()
    def references_lead_to_what_they_were_copied_from(self) -> None:
        for talk in self.talks:
            if talk.friendly_id is None:
                continue
            prefix = f"@conversation_{talk.friendly_id}_message_"
            by_hash = [each for each in (*talk.said, *talk.gone) if each.short_hash]
            for each, found in zip(by_hash, self._resolved(f"{prefix}{m.short_hash}" for m in by_hash), strict=True):
                assert_is(found, each, binned=talk.binned, gone=each in talk.gone)
            by_index = self._resolved(f"{prefix}{place + 1}" for place in range(len(talk.said)))
            for each, found in zip(talk.said, by_index, strict=True):
                assert_is(found, each, binned=talk.binned, gone=False)

    # ------------------------------------------------------------------ helpers

    def _one(self, data: st.DataObject) -> Talk:
        return data.draw(st.sampled_from(self.talks))

    def _message(self, data: st.DataObject) -> tuple[Talk, int]:
        talk = data.draw(st.sampled_from([talk for talk in self.talks if talk.said]))
        return talk, data.draw(st.integers(0, len(talk.said) - 1))

    def _refused(self, talk: Talk, message: Said, off: int, change: Callable[[], object]) -> bool:
        """Whether `change` must be refused, and is, for the right reason; otherwise it is made."""
        reason: type[Exception] | None = None
        if talk.binned:
            reason = ConversationNotFoundError
        elif off:
            reason = StaleIndexError
        elif message is talk.running:
            reason = TurnInProgressError
        if reason is None:
            change()
            return False
        with pytest.raises(reason):
            change()
        return True

    def _resolved(self, references: Iterable[str]) -> list[Resolution]:
        resolver = ConversationReferences(lookup=stored_lookup(self.own["database"], ADA), load=self.cache.__getitem__)
        return resolver.resolve(list(references))


def assert_is(found: Resolution, said: Said, *, binned: bool, gone: bool) -> None:
    """The reference brings just this message, word for word, or says why it doesn't."""
    if binned or gone:
        assert (found.entry.status, found.items) == ("deleted", ())
    elif said.status == "streaming":
        assert (found.entry.status, found.items) == ("streaming", ())
    else:
        assert found.entry.status == ("resolved" if said.text else "empty")
        assert [item.body for item in found.items] == [said.text]
        assert found.entry.target is not None
        assert found.entry.target["message_id"] == said.message_id


TestConversationsAsLists = ConversationsAsLists.TestCase
TestConversationsAsLists.settings = examples(25, steps=30)
