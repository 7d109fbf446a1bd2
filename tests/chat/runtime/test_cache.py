"""The cache of conversations: small, shared, never stale."""

from __future__ import annotations

import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from chat.runtime.cache import DefaultDictQueue
from chat.turns import history
from Conversation import Conversation
from database.conversations import repository
from database.conversations.conversation import conversation_version
from database.conversations.repository import delete_conversation
from database.engine.database import Database
from database.engine.errors import ConversationNotFoundError
from endpoints.http.scope import OwnConversations
from tests.chat.conftest import EMAIL, Talk, fid
from tests.preloaded import start_preloaded

ROOT = Path(__file__).parents[3]


def test_it_keeps_the_values_used_last() -> None:
    cache = DefaultDictQueue[str, str](maxsize=2, factory=str.upper)
    for key in ("a", "b", "a", "c"):
        assert cache[key] == key.upper()
    assert ("a" in cache, "b" in cache, "c" in cache) == (True, False, True)
    assert (len(cache), cache.loads) == (2, 3)


def test_a_slow_load_blocks_nobody_who_wants_another_key() -> None:
    release = threading.Event()

    def load(key: str) -> str:
        if key == "slow":
            assert release.wait(60)
        return key

    cache = DefaultDictQueue[str, str](maxsize=8, factory=load)
    with ThreadPoolExecutor(1) as pool:
        slow = pool.submit(lambda: cache["slow"])
        assert cache["quick"] == "quick"
        assert not slow.done()
        release.set()
        assert slow.result() == "slow"


def test_many_who_want_one_key_load_it_once() -> None:
    together, two_loads = threading.Barrier(8), threading.Barrier(2)
    met: list[str] = []

    def load(key: str) -> str:
        # A second load of the key would meet the first one here; a single one waits in vain.
        with suppress(threading.BrokenBarrierError):
            two_loads.wait(0.5)
            met.append(key)
        return key.upper()

    def get(_: int) -> str:
        together.wait()
        return cache["a"]

    cache = DefaultDictQueue[str, str](maxsize=8, factory=load)
    with ThreadPoolExecutor(8) as pool:
        assert set(pool.map(get, range(8))) == {"A"}
    assert (cache.loads, met) == (1, [])


def test_a_value_that_is_not_current_is_made_again() -> None:
    current = {"a": True}
    cache = DefaultDictQueue[str, str](maxsize=8, factory=str.upper, is_current=lambda key, _: current[key])
    assert cache["a"] == cache["a"]
    current["a"] = False
    assert cache["a"] == "A"
    assert cache.loads == 2


def test_a_load_that_fails_leaves_nothing_behind() -> None:
    failures = [ValueError("first"), None]

    def load(key: str) -> str:
        failure = failures.pop(0)
        if failure:
            raise failure
        return key

    cache = DefaultDictQueue[str, str](maxsize=8, factory=load)
    with pytest.raises(ValueError, match="first"):
        cache["a"]
    assert cache["a"] == "a"


def test_what_was_told_of_a_version_is_not_asked_of_the_store_again(talk: Talk) -> None:
    conversation = talk.about("Shared Topic", ("question", "answer"))
    own: dict[str, Any] = {"database": talk.database, "user_email": EMAIL}
    own["conversation_id"] = conversation.conversation_id
    asked: list[str] = []

    def keep_up(key: str, value: Conversation) -> bool:
        asked.append(key)
        return value.keep_up()

    cache = DefaultDictQueue[str, Conversation](
        maxsize=8, factory=lambda key: Conversation(EMAIL, talk.store, key), is_current=keep_up
    )
    load, key = OwnConversations(EMAIL, cache), conversation.conversation_id
    before = conversation_version(**own)
    assert before is not None
    held = load.at_version(key, before)  # nothing is cached yet
    assert load.at_version(key, before) is held
    assert asked == []
    repository.update_conversation(**own, changes={"title": "Newer"})
    after = conversation_version(**own)
    assert after is not None
    assert load.at_version(key, after).get_metadata()["title"] == "Newer"
    assert asked == [key]
    assert load.at_version(key, before) is held
    assert asked == [key]
    with pytest.raises(ConversationNotFoundError):
        OwnConversations("eve@example.org", cache).at_version(key, before)


def test_what_was_read_before_a_change_is_not_shown_after_it(talk: Talk, monkeypatch: pytest.MonkeyPatch) -> None:
    made = talk.about("Shared Topic", ("question", "answer"))
    own: dict[str, Any] = {"database": talk.database, "user_email": EMAIL, "conversation_id": made.conversation_id}
    shown, read = history.History(**own), repository.get_conversation

    def read_slowly(**who: Any) -> Any:
        row = read(**who)
        repository.update_conversation(**own, changes={"title": "Newer"})
        assert shown.keep_up()
        return row

    monkeypatch.setattr(history.conversations, "get_conversation", read_slowly)
    since = shown.unsummarised(limit=1, max_chars=100)
    shown.store_summary("They talked.", since=since, read=1)
    assert shown.memory()["title"] == "Newer"


@pytest.mark.live
def test_what_another_process_changes_is_seen_at_the_next_access(talk: Talk) -> None:
    conversation = talk.about("Shared Topic", ("question", "answer"))
    cache = DefaultDictQueue[str, Conversation](
        maxsize=8,
        factory=lambda key: Conversation(EMAIL, talk.store, key),
        is_current=lambda _, value: value.keep_up(),
    )
    key = conversation.conversation_id
    assert cache[key].message_at(2)["text"] == "answer"
    for n in range(3):
        edit_in_another_process(talk.database, key, f"edited {n}")
        assert cache[key].message_at(2)["text"] == f"edited {n}"
        assert cache[key].get_metadata()["title"] == f"edited {n}"
    assert cache[key] is cache[key]
    assert fid(cache[key]) == fid(conversation)


def edit_in_another_process(database: Database, conversation_id: str, text: str) -> None:
    program = """
        import sys
        from database.connection import close_store, open_store
        from database.conversations.repository import update_conversation
        from database.history.editing import edit_message
        from database.history.reading import message_at
        users_dir, email, conversation_id, text = sys.argv[1:]
        who = {"database": open_store(users_dir), "user_email": email, "conversation_id": conversation_id}
        message = message_at(**who, index=2)
        edit_message(**who, message_id=message.message_id, index=2, text=text)
        update_conversation(**who, changes={"title": text})
        close_store(users_dir)
    """
    ended = start_preloaded(textwrap.dedent(program), database.folder, EMAIL, conversation_id, text).ended()
    assert ended.returncode == 0, ended.stderr


def test_an_older_state_that_another_thread_has_read_takes_back_no_newer_one(
    talk: Talk, monkeypatch: pytest.MonkeyPatch
) -> None:
    conversation = talk.about("Shared Topic", ("question", "answer"))
    own = {"database": talk.database, "user_email": EMAIL, "conversation_id": conversation.conversation_id}
    older = repository.get_conversation(**own)
    repository.update_conversation(**own, changes={"title": "Newer"})
    assert conversation.keep_up()
    monkeypatch.setattr(history, "conversation_since", lambda *_, **__: older)
    assert conversation.keep_up()
    assert conversation.get_metadata()["title"] == "Newer"


def test_a_conversation_that_is_gone_is_not_kept_up(talk: Talk) -> None:
    conversation = talk.about("Shared Topic", ("question", "answer"))
    delete_conversation(database=talk.database, user_email=EMAIL, conversation_id=conversation.conversation_id)
    assert not conversation.keep_up()


def test_a_value_that_its_caller_loaded_is_kept_unless_another_is_there() -> None:
    cache = DefaultDictQueue[str, str](maxsize=2, factory=str.upper)
    assert cache.keep("a", "loaded") == "loaded"
    assert cache.keep("a", "loaded again") == "loaded" == cache["a"]
    assert (cache["b"], cache.keep("c", "third")) == ("B", "third")
    assert len(cache) == 2
    assert "a" not in cache
