"""What people may use within a day and a month, and for how much of it there is room at once."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from flask import Flask
from sqlalchemy import select, update

from database.accounts.quotas import Quota, UsedUp, bytes_of_each, take_message, usage_of
from database.accounts.users import create_user
from database.engine.database import Database
from database.schema import usage_days
from database.turns.turns import accept_turn, finish_turn
from endpoints.administration.models import OwnUsage, PersonItem
from endpoints.http.scope import EXTENSION
from language_models.testing import ScriptedChatModel
from settings import MappedFolder
from tests.endpoints.conftest import PASSWORD, Person, refused, told
from tests.midnight import away_from_midnight
from vault.documents import Vaults

pytestmark = pytest.mark.contract


@pytest.fixture(autouse=True)
def within_one_day() -> None:
    """No test begins in the last seconds of a day, by which is counted."""
    away_from_midnight(20)


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


@pytest.fixture
def store(app: Flask) -> Database:
    """The store behind the server."""
    database: Database = app.extensions[EXTENSION].database
    return database


def limit(grace: Person, whom: Person, **quota: int) -> None:
    assert grace.put(f"/admin/people/{whom.email}/quota", json=quota).status_code == 200


def test_a_message_beyond_the_quota_is_refused_until_midnight(grace: Person, ada: Person) -> None:
    limit(grace, ada, messages_a_day=2)
    conversation = ada.new_conversation()
    for number in range(2):
        ada.say(conversation, f"Message {number}")
    answer = ada.post(f"/send_message/{conversation}", json={"messageText": "One more"})
    assert refused(answer) == (429, "quota_reached")
    (said,) = answer.json["said"]
    assert (said["code"], said["values"]["most"]) == ("quota_messages_a_day", 2)
    assert said["values"]["until"].endswith(" 00:00 UTC")
    assert 0 < int(answer.headers["Retry-After"]) <= 24 * 60 * 60
    assert len(ada.get(f"/list_messages_by_conversation/{conversation}").json) == 4


def test_temporary_conversations_tokens_and_answers_made_again_count(app: Flask, grace: Person, ada: Person) -> None:
    limit(grace, ada, messages_a_day=3)
    temporary = ada.post("/create_temporary_conversation/assistant", json={}).json["conversation_id"]
    ada.put(f"/make_conversation_stateless/{temporary}")
    ada.say(temporary, "Nothing of this is kept")
    kept = ada.new_conversation()
    events = ada.say(kept, "By the page")
    answer = next(event["message_ids"]["response_message_id"] for event in events if "message_ids" in event)
    again = ada.post(f"/regenerate/{kept}/{answer}")
    assert again.status_code == 200
    assert again.get_data()  # to its end
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    program = app.test_client()
    sent = program.post(
        f"/send_message/{kept}", json={"messageText": "By a token"}, headers={"Authorization": f"Bearer {token}"}
    )
    assert refused(sent) == (429, "quota_reached")
    assert told(ada.get("/usage"), OwnUsage).usage.messages_today == 3


def test_a_message_that_was_accepted_before_is_answered_beyond_the_quota(grace: Person, ada: Person) -> None:
    limit(grace, ada, messages_a_day=1)
    conversation = ada.new_conversation()
    ada.say(conversation, "Once", client_message_id="m1")
    again = ada.post(f"/send_message/{conversation}", json={"messageText": "Once", "client_message_id": "m1"})
    assert again.status_code == 200
    assert told(ada.get("/usage"), OwnUsage).usage.messages_today == 1


def test_of_messages_at_once_as_many_are_accepted_as_there_is_room_for(
    grace: Person, ada: Person, store: Database
) -> None:
    limit(grace, ada, messages_a_day=5)

    # Two writers over one store, as two processes have.
    other = Database(store.backend, folder=store.folder)

    def take(number: int) -> UsedUp | None:
        writer = (store, other)[number % 2]
        return writer.write(partial(take_message, user_email=ada.email, defaults=Quota()))

    with ThreadPoolExecutor(8) as threads:
        refusals = [used_up for used_up in threads.map(take, range(20)) if used_up is not None]
    other.close()
    assert len(refusals) == 15
    assert usage_of(database=store, user_email=ada.email).messages_today == 5


def test_tokens_count_by_the_day_and_by_the_month(grace: Person, ada: Person, store: Database) -> None:
    conversation = ada.new_conversation()
    ada.say(conversation, "How many tokens does this take?")
    used = told(ada.get("/usage"), OwnUsage).usage
    assert used.tokens_today == used.tokens_this_month > 0
    limit(grace, ada, tokens_a_day=used.tokens_today)
    answer = ada.post(f"/send_message/{conversation}", json={"messageText": "More"})
    assert (refused(answer), answer.json["said"][0]["code"]) == ((429, "quota_reached"), "quota_tokens_a_day")
    limit(grace, ada, tokens_a_month=used.tokens_today)
    answer = ada.post(f"/send_message/{conversation}", json={"messageText": "More"})
    assert answer.json["said"][0]["code"] == "quota_tokens_a_month"
    limit(grace, ada, tokens_a_month=used.tokens_today + 1)
    ada.say(conversation, "There is room again")


def test_what_memories_ask_a_model_takes_tokens_and_is_refused_without_them(
    grace: Person, ada: Person, cheap_model: ScriptedChatModel
) -> None:
    ada.post("/pkb/analyze_statement", json={"statement": "I like tea in the morning"})
    ada.put("/get_user_info", json={"name": "Ada"})  # what counts is written before that
    used = told(ada.get("/usage"), OwnUsage).usage
    asked = cheap_model.started_streams
    assert (used.messages_today, used.tokens_today > 0, asked > 0) == (0, True, True)
    limit(grace, ada, tokens_a_day=used.tokens_today)
    by_rules = ada.post("/pkb/analyze_statement", json={"statement": "I like tea in the morning"})
    assert by_rules.json["by"] == "rules"
    refused_text = ada.post("/pkb/ingest_text", json={"text": "I like tea. My sister is called Anna."})
    assert f"limit of tokens within a day, {used.tokens_today:,}" in refused_text.get_data(as_text=True)
    assert cheap_model.started_streams == asked
    assert told(ada.get("/usage"), OwnUsage).usage.tokens_today == used.tokens_today


def test_a_new_day_begins_with_nothing_used(grace: Person, ada: Person, store: Database) -> None:
    limit(grace, ada, messages_a_day=1)
    conversation = ada.new_conversation()
    ada.say(conversation, "Yesterday")
    yesterday = update(usage_days).values(day="2020-02-29")
    store.write(lambda connection: connection.execute(yesterday).rowcount)
    ada.say(conversation, "Today")
    with store.reading() as connection:
        days = connection.execute(select(usage_days.c.messages).order_by(usage_days.c.day)).scalars().all()
    assert days == [1, 1]


def test_what_was_imported_was_not_used(ada: Person, store: Database) -> None:
    conversation = ada.new_conversation()
    who = {"database": store, "user_email": ada.email, "conversation_id": conversation}
    accepted = accept_turn(**who, text="Long ago", config={})
    config = {"usage": {"prompt_tokens": 100, "completion_tokens": 100}}
    answer = {"response_message_id": accepted.response_message_id, "text": "It was so", "config": config}
    finish_turn(**who, **answer, status="complete")
    assert usage_of(database=store, user_email=ada.email).tokens_this_month == 0


def test_the_default_holds_where_nothing_else_is_set(grace: Person, ada: Person) -> None:
    limit(grace, ada, messages_a_day=7, file_megabytes=1)
    people = {each["user_email"]: PersonItem(**each) for each in grace.get("/admin/people").json}
    assert (people[ada.email].own.messages_a_day, people[ada.email].quota.file_megabytes) == (7, 1)
    assert (people[grace.email].own.file_megabytes, people[grace.email].quota.file_megabytes) == (None, 5_000)
    limit(grace, ada)
    assert told(ada.get("/usage"), OwnUsage).quota == people[grace.email].quota


def test_files_have_the_room_that_was_set_for_the_account(grace: Person, ada: Person) -> None:
    limit(grace, ada, file_megabytes=0)
    file = {"data": b"some text", "content_type": "application/octet-stream"}
    assert refused(ada.post("/attachments?name=a.txt", **file)) == (507, "quota_exceeded")
    limit(grace, ada)
    assert ada.post("/attachments?name=a.txt", **file).status_code == 201
    assert told(ada.get("/usage"), OwnUsage).file_bytes == 9


def test_documents_share_the_room_of_files(grace: Person, ada: Person) -> None:
    limit(grace, ada, file_megabytes=1)
    half = "x" * 600_000
    at = "/api/vault/document?path="
    written = ada.put(f"{at}a.md", json={"text": half})
    assert written.status_code == 200
    assert told(ada.get("/usage"), OwnUsage).file_bytes == len(half)
    people = {each["user_email"]: PersonItem(**each) for each in grace.get("/admin/people").json}
    assert (people[ada.email].file_bytes, people[grace.email].file_bytes) == (len(half), 0)
    assert refused(ada.put(f"{at}b.md", json={"text": half})) == (507, "quota_exceeded")
    assert [each["path"] for each in ada.get("/api/vault/documents").json["documents"]] == ["a.md"]
    file = {"data": half.encode(), "content_type": "application/octet-stream"}
    assert refused(ada.post("/attachments?name=a.txt", **file)) == (507, "quota_exceeded")
    # Without any room left, what is there can be made shorter.
    limit(grace, ada, file_megabytes=0)
    version = {"If-Match": written.headers["ETag"]}
    assert ada.put(f"{at}a.md", json={"text": "short"}, headers=version).status_code == 200
    assert grace.put(f"{at}b.md", json={"text": half}).status_code == 200


def test_documents_in_a_folder_of_the_operators_take_no_room(store: Database, tmp_path: Path) -> None:
    folder = MappedFolder(tmp_path / "notes", read_only=False)
    folder.folder.mkdir()
    everybody = {"ada@example.org": folder}
    asked: list[tuple[str, int]] = []
    vaults = Vaults(database=store, mapped=everybody, require_room=lambda *room: asked.append(room))
    for email in ("ada@example.org", "eve@example.org"):
        create_user(database=store, user_email=email, password=PASSWORD)
        vaults.of(email).write("a.md", "12345")
    assert asked == [("eve@example.org", 5)]
    people = {"database": store, "user_emails": ["ada@example.org", "eve@example.org"]}
    assert bytes_of_each(**people) == {"ada@example.org": 5, "eve@example.org": 5}
    assert bytes_of_each(**people, unmetered=everybody) == {"ada@example.org": 0, "eve@example.org": 5}


@pytest.mark.parametrize(
    "quota", [{"messages_a_day": -1}, {"tokens_a_day": "many"}, {"messages": 1}, {"tokens_a_month": 1.5}]
)
def test_a_quota_is_a_number_of_something_known(grace: Person, ada: Person, quota: dict[str, object]) -> None:
    assert refused(grace.put(f"/admin/people/{ada.email}/quota", json=quota)) == (400, "bad_request")
    assert refused(grace.put("/admin/people/nobody@example.org/quota", json={})) == (404, "user_not_found")


def test_what_agents_answer_from_their_inboxes_counts_and_waits_for_room(grace: Person, ada: Person) -> None:
    limit(grace, ada, messages_a_day=1)
    room = ada.new_conversation()
    message = {"recipe": "general-discussion", "type": "chat_message"}
    rule = {**message, "conversation_id": room}
    assert ada.post("/api/agents", json={"title": "Helper", "service": "later", "rules": [rule]}).status_code == 201
    for text in ("One?", "Two?"):
        body = {**message, "payload": {"text": text}}
        assert ada.post(f"/api/conversations/{room}/activities", json=body).status_code == 201
    assert ada.post("/api/inbox/helper/service").json["answer"] is not None
    assert refused(ada.post("/api/inbox/helper/service")) == (429, "quota_reached")
    assert ada.get("/api/inbox/helper").json["pending"] == 1
    used = told(ada.get("/usage"), OwnUsage).usage
    assert (used.messages_today, used.tokens_today > 0) == (1, True)
    limit(grace, ada, messages_a_day=2)
    assert ada.post("/api/inbox/helper/service").json["answer"] is not None
