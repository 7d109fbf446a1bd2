"""What the store is asked on the way from a request to its model, and how often a database server is waited for."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from psycopg.pq import PipelineStatus

from Conversation import Conversation
from database.accounts import sessions
from database.accounts.sessions import end_session
from database.conversations.repository import update_conversation
from database.engine.pipeline import Sender, _Cursor
from database.history import reading
from endpoints.http.guards import SESSION_COOKIE
from endpoints.http.scope import EXTENSION
from language_models.testing import ScriptedChatModel
from tests.endpoints.conftest import Person, account, refused, running_app, settings_in
from tests.postgresql import PostgreSQLServer


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The thread of each wait for an answer of PostgreSQL from now on."""
    threads = list[int]()
    settle, execute = Sender.settle, _Cursor.execute

    def settling(sender: Sender) -> None:
        if sender._connection.pgconn.pipeline_status != PipelineStatus.OFF:
            threads.append(threading.get_ident())
        settle(sender)

    def executing(cursor: _Cursor, *arguments: Any, **options: Any) -> Any:
        if not str(arguments[0]).startswith("BEGIN"):  # as a connection is used that others have not used before
            threads.append(threading.get_ident())
        return execute(cursor, *arguments, **options)

    monkeypatch.setattr(Sender, "settle", settling)
    monkeypatch.setattr(_Cursor, "execute", executing)
    return threads


@pytest.fixture
def app_on_postgresql(
    postgresql_server: PostgreSQLServer, tmp_path: Path, main_model: ScriptedChatModel, cheap_model: ScriptedChatModel
) -> Iterator[Flask]:
    """The application, whatever engine the tests run on."""
    url = postgresql_server.empty_store()
    with running_app(settings_in(tmp_path, database_url=url), main=main_model, cheap=cheap_model) as application:
        yield application
    postgresql_server.take_back(url)


def test_a_plain_message_waits_four_times_before_its_model_is_asked(
    app_on_postgresql: Flask, main_model: ScriptedChatModel, waits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_SEEN_EVERY", timedelta(days=1))
    ada = account(app_on_postgresql, "ada@example.org")
    room = ada.new_conversation()
    for text in ("Does it rain?", "And now?"):  # the first messages open the knowledge base, and cache the conversation
        ada.say(room, text)
    turns = app_on_postgresql.extensions[EXTENSION].turns
    turns.in_background(turns.finish()).result(60)  # what it stores last would go before
    waits.clear()
    ada.say(room, "And tomorrow?")
    # Who asks and the conversation; all that accepting asks; its commit; whether there are memories.
    assert waits.count(threading.get_ident()) == 4
    said = [message["content"] for message in main_model.calls[-1].prompt]
    assert said[-5:] == ["Does it rain?", "It is forty-two.", "And now?", "It is forty-two.", "And tomorrow?"]


def test_a_conversation_that_is_not_cached_is_read_together_with_finding_out_who_asks(
    app_on_postgresql: Flask, waits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_SEEN_EVERY", timedelta(days=1))
    ada = account(app_on_postgresql, "ada@example.org")
    ada.say(ada.new_conversation(), "Does it rain?")
    room = ada.new_conversation()
    cache = app_on_postgresql.extensions[EXTENSION].conversation_cache
    assert room not in cache
    turns = app_on_postgresql.extensions[EXTENSION].turns
    turns.in_background(turns.finish()).result(60)
    waits.clear()
    ada.say(room, "And now?")
    # As for one that is cached; and an answer of before is waited for by who uses its connection next.
    assert waits.count(threading.get_ident()) == 4
    assert room in cache


def test_long_messages_are_read_when_others_can_write_again(
    app_on_postgresql: Flask, main_model: ScriptedChatModel, waits: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "_SEEN_EVERY", timedelta(days=1))
    monkeypatch.setattr(reading, "_BYTES_WITH_OTHERS", 40)
    ada = account(app_on_postgresql, "ada@example.org")
    room = ada.new_conversation()
    for text in ("Does it rain?", "And now?"):
        ada.say(room, text)
    turns = app_on_postgresql.extensions[EXTENSION].turns
    turns.in_background(turns.finish()).result(60)
    waits.clear()
    ada.say(room, "And tomorrow?")
    assert waits.count(threading.get_ident()) == 5
    said = [message["content"] for message in main_model.calls[-1].prompt]
    assert said[-5:] == ["Does it rain?", "It is forty-two.", "And now?", "It is forty-two.", "And tomorrow?"]


@pytest.mark.contract
def test_a_message_opens_its_conversation_as_it_is_now_together_with_finding_out_who_asks(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = ada.new_conversation()
    ada.say(room, "Does it rain?")
    store = app.extensions[EXTENSION].database
    update_conversation(
        database=store, user_email=ada.email, conversation_id=room, changes={"settings": {"theme": "dark"}}
    )
    with monkeypatch.context() as apart:
        apart.setattr(Conversation, "keep_up", _ask_for_it_apart)
        ada.say(room, "And now?")
    known = app.extensions[EXTENSION].conversation_cache.get(room)
    assert known.get_metadata()["conversation_settings"] == {"theme": "dark"}


def _ask_for_it_apart(_conversation: Conversation) -> bool:
    raise AssertionError("the conversation was asked for by itself")


@pytest.mark.contract
def test_a_cached_conversation_is_opened_for_its_owner_alone_and_no_more_once_it_is_deleted(
    app: Flask, ada: Person, eve: Person
) -> None:
    room = ada.new_conversation()
    ada.say(room, "Does it rain?")
    message = {"json": {"messageText": "What was said?"}}
    assert refused(eve.post(f"/send_message/{room}", **message)) == (404, "conversation_not_found")
    ada.delete(f"/delete_conversation/{room}")
    assert refused(ada.post(f"/send_message/{room}", **message)) == (404, "conversation_not_found")
    end_session(database=app.extensions[EXTENSION].database, token=ada.client.get_cookie(SESSION_COOKIE).value)
    assert refused(ada.post(f"/send_message/{room}", **message)) == (401, "unauthorized")


@pytest.mark.contract
def test_a_conversation_that_is_not_cached_is_opened_for_its_owner_alone(app: Flask, ada: Person, eve: Person) -> None:
    room = ada.new_conversation()
    cache = app.extensions[EXTENSION].conversation_cache
    message = {"json": {"messageText": "What was said?"}}
    assert refused(eve.post(f"/send_message/{room}", **message)) == (404, "conversation_not_found")
    cache.pop(room)
    assert refused(app.test_client().post(f"/send_message/{room}", **message)) == (401, "unauthorized")
    assert room not in cache
    ada.delete(f"/delete_conversation/{room}")
    assert refused(ada.post(f"/send_message/{room}", **message)) == (404, "conversation_not_found")
    for unknown in ("nobody", f"{ada.email}_%EF%BF%BE", "%F0%9F%90%8C", "a%00b"):
        assert refused(ada.post(f"/send_message/{unknown}", **message))[0] in {400, 404}


def test_a_conversation_that_another_request_opened_meanwhile_is_brought_up_to_date(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    room = ada.new_conversation()
    cache, store = app.extensions[EXTENSION].conversation_cache, app.extensions[EXTENSION].database
    older = cache[room]
    cache.pop(room)
    changes = {"settings": {"theme": "dark"}}
    update_conversation(database=store, user_email=ada.email, conversation_id=room, changes=changes)
    keep, reply, shown = cache.keep, Conversation.reply, list[Any]()

    def replying(conversation: Conversation, query: Any) -> Any:
        shown.append(conversation.get_metadata()["conversation_settings"])
        return reply(conversation, query)

    monkeypatch.setattr(cache, "keep", lambda key, loaded: keep(key, older) and keep(key, loaded))
    monkeypatch.setattr(Conversation, "reply", replying)
    ada.say(room, "Does it rain?")
    assert shown == [{"theme": "dark"}]
