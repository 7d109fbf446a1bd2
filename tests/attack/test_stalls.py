"""Nobody waits for another's kind of work: what hangs keeps its own pool busy, and no other."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import product
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import numpy as np
import orjson
import pytest
from flask import Flask
from numpy.typing import NDArray

from endpoints.accounts import openid
from endpoints.http import validation
from endpoints.http.errors import InvalidRequestError, ProviderUnavailableError
from endpoints.http.guards import is_public
from endpoints.http.openapi import routes
from endpoints.http.scope import EXTENSION, SETTINGS
from endpoints.serving.asgi_server import OF_STRANGERS, Bridge
from endpoints.serving.work_queues import Work, work_of
from language_models.circuit_breaker import settled
from language_models.testing import Hold, Reply, ScriptedChatModel
from settings import Settings
from tests.attachments.made_files import picture_of
from tests.endpoints.conftest import Person
from tests.endpoints.serving.test_bridge import Connection
from tests.search.thesaurus import Thesaurus
from truth_management_system import StructuredAPI
from truth_management_system.interface.structured_api import KnowledgeModels, KnowledgeUnavailableError

pytestmark = pytest.mark.in_process("the threads and places of one process are what is looked at")
JSON = (b"content-type", b"application/json")
MODEL_THREADS = 3


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Few threads, so that a few requests take them all."""
    return settings.model_copy(
        update={"threads": 1, "model_threads": MODEL_THREADS, "search_threads": 1, "long_threads": 1}
    )


@pytest.fixture
def hold() -> Hold:
    """What the cheap model waits for."""
    return Hold()


@pytest.fixture
def cheap_model(hold: Hold) -> ScriptedChatModel:
    """A model that hangs."""
    return ScriptedChatModel(replies=lambda _prompt: Reply(hold, '{"facts": []}'))


def request(person: Person | None, method: str, path: str, body: Any = None) -> Connection:
    """A request as a person's browser sends it."""
    headers = [JSON] if body is not None else []
    if person is not None:
        cookie = person.client.get_cookie("anaphora_session")
        assert cookie is not None
        headers.append((b"cookie", f"anaphora_session={cookie.value}".encode()))
    path, _, query = path.partition("?")
    connection = Connection(method, path, body=[b"" if body is None else json.dumps(body).encode()], headers=headers)
    connection.scope["query_string"] = query.encode()
    return connection


async def answered(bridge: Bridge, connection: Connection) -> Connection:
    await bridge(connection.scope, connection.receive, connection.send)
    return connection


async def until(condition: Callable[[], object]) -> None:
    async with asyncio.timeout(60):
        while not condition():
            await asyncio.sleep(0.005)


def taken(bridge: Bridge, kind: Work) -> int:
    return bridge._pools[kind]._taken


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 120))


def test_a_hanging_model_keeps_nobody_else_waiting(
    app: Flask, person: Callable[[str], Person], hold: Hold, cheap_model: ScriptedChatModel
) -> None:
    people = [person(f"waiting{n}@example.org") for n in range(9)]
    other = person("other@example.org")
    conversation_id = other.new_conversation()
    asking: list[tuple[str, str, Any]] = [
        ("POST", "/pkb/analyze_statement", {"statement": "I like tea"}),
        ("POST", "/pkb/ingest_text", {"text": "I like tea."}),
        ("GET", "/pkb/search?q=tea&strategy=rewrite", None),
    ]

    def statement(number: int) -> Connection:
        method, path, body = asking[number % len(asking)]
        return request(people[number], method, path, body)

    async def scene() -> None:
        bridge = Bridge(app)
        waiting = [asyncio.create_task(answered(bridge, statement(number))) for number in range(9)]
        await until(lambda: taken(bridge, Work.MODEL) == 9 and cheap_model.started_streams == MODEL_THREADS)
        for address, more in (("?use_model=false", {}), ("", {"use_model": False})):
            by_rules = request(other, "POST", f"/pkb/analyze_statement{address}", {"statement": "I like tea", **more})
            assert json.loads((await answered(bridge, by_rules)).body)["by"] == "rules"
        for path in ("/healthz", "/interface/", "/list_conversation_by_user/assistant", "/search?q=tea", "/pkb/claims"):
            assert (await answered(bridge, request(other, "GET", path))).status == 200, path
        sending = request(other, "POST", f"/send_message/{conversation_id}", {"messageText": "What is it?"})
        watching = asyncio.create_task(answered(bridge, sending))
        await until(lambda: b'"references"' in sending.body)
        sending.hung_up.set()
        await watching
        one_more = await answered(bridge, request(other, "POST", "/pkb/analyze_statement", {"statement": "I like tea"}))
        assert (one_more.status, json.loads(one_more.body)["code"]) == (503, "server_busy")
        assert int(dict(one_more.sent[0]["headers"])[b"retry-after"]) > 0
        assert not any(task.done() for task in waiting)
        hold.release()
        assert {connection.status for connection in await asyncio.gather(*waiting)} == {200}

    run(scene())


class HangingEmbeddings(Thesaurus):
    """A model that answers nobody until it is released."""

    def __init__(self) -> None:
        super().__init__()
        self.released = Event()
        self.asked = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.asked += 1
        assert self.released.wait(60)
        return super().embed(texts)


def with_embeddings(app: Flask, model: Thesaurus, *, patience: float) -> None:
    """Have memories and messages searched by what `model` makes of them; turns wait for it for `patience` seconds."""
    state = app.extensions[EXTENSION]
    chat = state.services.models.cheap()
    state.knowledge._models = lambda: KnowledgeModels(chat=chat, embedding=model)
    app.extensions[EXTENSION] = replace(state, services=replace(state.services, embedding_patience=patience))


async def sent(bridge: Bridge, person: Person, text: str, *, until_said: bytes) -> Connection:
    """A message whose answer was watched until it said something."""
    sending = request(person, "POST", f"/send_message/{person.new_conversation()}", {"messageText": text})
    watching = asyncio.create_task(answered(bridge, sending))
    await until(lambda: until_said in sending.body)
    sending.hung_up.set()
    await watching
    return sending


def test_the_first_event_of_a_turn_does_not_wait_for_embeddings(app: Flask, ada: Person, hold: Hold) -> None:
    model = HangingEmbeddings()
    hold.release()
    ada.remember("Tea is good in the morning")
    with_embeddings(app, model, patience=60)

    async def scene() -> None:
        bridge = Bridge(app)
        told = await sent(bridge, ada, "Which tea is good in the morning?", until_said=b'"message_ids"')
        assert b'"references"' in told.body
        assert app.extensions[EXTENSION].turns.running() == 1
        model.released.set()
        await until(lambda: not app.extensions[EXTENSION].turns.running())

    try:
        run(scene())
    finally:
        model.released.set()


def test_turns_give_up_embeddings_that_hang_and_those_that_follow_do_not_wait_for_them(
    app: Flask, ada: Person, main_model: ScriptedChatModel, hold: Hold, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = HangingEmbeddings()
    hold.release()
    ada.remember("Tea is good in the morning")
    with_embeddings(app, model, patience=0.05)

    async def settled_once_asked(*begun: Any, within: float) -> None:
        await until(lambda: model.asked)
        await settled(*begun, within=within)

    monkeypatch.setattr("chat.context.related.settled", settled_once_asked)

    async def scene() -> None:
        bridge = Bridge(app)
        first = await sent(bridge, ada, "Which tea is good in the morning?", until_said=b'"done"')
        assert b"the embedding model did not answer in time" in first.body
        with_embeddings(app, model, patience=3_600)
        for number in range(3):
            await sent(bridge, ada, f"Which tea is good in the evening, number {number}?", until_said=b'"done"')
        assert (model.asked, model.released.is_set()) == (1, False)
        prompts = [prompt[-1]["content"] for prompt in main_model.prompts]
        assert (len(prompts), all("Tea is good in the morning" in prompt for prompt in prompts)) == (4, True)

    try:
        run(scene())
    finally:
        model.released.set()


def test_one_person_cannot_take_all_places_of_the_model(
    app: Flask, ada: Person, eve: Person, hold: Hold, cheap_model: ScriptedChatModel
) -> None:
    async def scene() -> None:
        bridge = Bridge(app)

        def asked(person: Person) -> asyncio.Task[Connection]:
            connection = request(person, "POST", "/pkb/analyze_statement", {"statement": "I like tea"})
            return asyncio.create_task(answered(bridge, connection))

        own = [asked(eve) for _ in range(2)]
        await until(lambda: cheap_model.started_streams == 2)
        refused = await asked(eve)
        assert (refused.status, json.loads(refused.body)["code"]) == (429, "rate_limited")
        other = asked(ada)
        await until(lambda: cheap_model.started_streams == 3)
        hold.release()
        assert [(await each).status for each in (*own, other)] == [200, 200, 200]

    run(scene())


def test_no_password_is_hashed_for_clients_that_have_hung_up(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    hashed, reached, go_on = list[str](), asyncio.Event(), asyncio.Event()

    async def scene() -> None:
        bridge, loop = Bridge(app), asyncio.get_running_loop()

        def waits(password: str, _hash: str | None) -> bool:
            hashed.append(password)
            loop.call_soon_threadsafe(reached.set)
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result(30)
            return False

        monkeypatch.setattr("database.accounts.users.password_matches", waits)
        guesses = [
            request(None, "POST", "/login", {"email": f"a{n}@example.org", "password": f"guess {n}"}) for n in range(40)
        ]
        for number, guess in enumerate(guesses):
            guess.scope["client"] = (f"192.0.2.{number}", 40_000)
        tasks = [asyncio.create_task(answered(bridge, guess)) for guess in guesses]
        pool = bridge._pools[Work.PASSWORD]
        await reached.wait()
        await until(lambda: sum(task.done() for task in tasks) == len(tasks) - pool.places)
        refused = [json.loads(guess.body)["code"] for guess, task in zip(guesses, tasks, strict=True) if task.done()]
        assert set(refused) == {"server_busy"}
        assert (await answered(bridge, request(None, "GET", "/login"))).status in (200, 302)
        for guess in guesses:
            guess.hung_up.set()
        await until(lambda: taken(bridge, Work.PASSWORD) <= 2)
        go_on.set()
        await asyncio.gather(*tasks)

    run(scene())
    assert len(hashed) <= app.extensions[EXTENSION].settings.password_threads


def test_strangers_take_no_place_of_long_work(app: Flask) -> None:
    async def scene() -> None:
        bridge = Bridge(app)
        bridge._pools[Work.LONG].places = 0
        answer = await answered(bridge, request(None, "GET", "/pkb/export"))
        assert (answer.status, json.loads(answer.body)["code"]) == (401, "unauthorized")

    run(scene())


def test_a_provider_that_hangs_keeps_nobody_waiting_but_those_who_log_in_by_it(
    app: Flask, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    go_on, asked = Event(), list[str]()
    named = {"oidc_issuer": "https://login.example.org", "oidc_client_id": "anaphora"}
    app.extensions[SETTINGS] = app.extensions[SETTINGS].model_copy(update=named)

    def hangs(_method: str, url: str, **_: Any) -> dict[str, Any]:
        asked.append(url)
        assert go_on.wait(60)
        raise ProviderUnavailableError

    monkeypatch.setattr(openid, "_answer", hangs)

    async def scene() -> None:
        bridge = Bridge(app)
        begun = [asyncio.create_task(answered(bridge, request(None, "GET", "/oidc/start"))) for _ in range(6)]
        await until(lambda: taken(bridge, Work.PROVIDER) == 6 and asked)
        for person, path in ((None, "/login"), (ada, "/get_user_info"), (ada, "/interface/")):
            assert (await answered(bridge, request(person, "GET", path))).status == 200, path
        assert not any(task.done() for task in begun)
        go_on.set()
        assert {connection.status for connection in await asyncio.gather(*begun)} == {503}

    try:
        run(scene())
    finally:
        go_on.set()


def test_when_no_thread_is_free_that_is_said_on_the_loop(app: Flask, ada: Person) -> None:
    async def scene() -> None:
        bridge = Bridge(app)
        bridge._pools[Work.SHORT].places = 0
        refused = await answered(bridge, request(ada, "GET", "/get_user_info"))
        assert (refused.status, json.loads(refused.body)["code"]) == (503, "server_busy")
        assert (await answered(bridge, request(None, "GET", "/healthz"))).status == 200

    run(scene())


def test_a_form_that_finds_the_queue_for_passwords_full_is_shown_again(app: Flask, ada: Person) -> None:
    form = Connection(
        "POST",
        "/login",
        body=[b"email=ada%40example.org&password=long+enough&next=%2Fshares"],
        headers=[(b"content-type", b"application/x-www-form-urlencoded")],
    )

    async def scene() -> None:
        bridge = Bridge(app)
        bridge._pools[Work.PASSWORD].places = 0
        page = await answered(bridge, form)
        headers = dict(page.sent[0]["headers"])
        assert (page.status, headers[b"content-type"]) == (503, b"text/html; charset=utf-8")
        assert int(headers[b"retry-after"]) > 0
        for shown in (b"The server has too much to do just now.", b'value="ada@example.org"', b'value="/shares"'):
            assert shown in page.body
        program = await answered(bridge, request(None, "POST", "/login", {"email": ada.email, "password": "secret 1"}))
        assert (program.status, json.loads(program.body)["code"]) == (503, "server_busy")

    run(scene())


def test_every_view_that_takes_a_password_runs_in_the_pool_for_passwords(app: Flask) -> None:
    def takes_password(view: Callable[..., Any]) -> bool:
        fields = getattr(getattr(view, "body_model", None), "model_fields", {})
        return any("password" in field for field in fields)

    views = {path: view for path, _, view in routes(app) if takes_password(view)}
    assert {"/login", "/setup", "/users", "/password"} <= views.keys()
    wrong = {path for path, view in views.items() if work_of(view) is not Work.PASSWORD}
    assert wrong == set(), "mark these views with @works(Work.PASSWORD)"


def test_what_strangers_may_ask_for_waits_in_a_pool_for_strangers(app: Flask) -> None:
    public = {path: view for path, _, view in routes(app) if is_public(view)}
    assert {"/login", "/oidc/start", "/oidc/callback", "/oidc/log_out", "/invite/<token>"} <= public.keys()
    # Any other kind of work is done in the threads of short requests where a stranger asks for it.
    wrong = {path for path, view in public.items() if work_of(view) not in OF_STRANGERS}
    assert wrong == set()


def test_changes_of_memories_wait_for_a_large_import_and_nothing_else_does(
    app: Flask, ada: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = app.extensions[EXTENSION].knowledge.database()
    monkeypatch.setattr(database, "config", replace(database.config, write_timeout=0.05))
    writing, done = Event(), Event()

    def import_much() -> None:
        with database.transaction():
            writing.set()
            assert done.wait(60)

    async def scene() -> None:
        bridge = Bridge(app)
        importing = asyncio.get_running_loop().run_in_executor(None, import_much)
        assert await asyncio.to_thread(writing.wait, 30)
        changes = [request(eve, "POST", "/pkb/claims", {"statement": f"Tea number {number}"}) for number in range(8)]
        waiting = [asyncio.create_task(answered(bridge, change)) for change in changes]
        for path in ("/interface/", "/list_conversation_by_user/assistant", "/pkb/claims", "/search?q=tea"):
            assert (await answered(bridge, request(ada, "GET", path))).status == 200, path
        answers = await asyncio.gather(*waiting)
        assert {(answer.status, json.loads(answer.body)["code"]) for answer in answers} == {(503, "storage_busy")}
        done.set()
        await importing
        monkeypatch.setattr(database, "config", replace(database.config, write_timeout=60))
        again = await answered(bridge, request(eve, "POST", "/pkb/claims", {"statement": "Tea is good"}))
        assert again.status == 201

    try:
        run(scene())
    finally:
        done.set()


class HangingGit:
    """A commit that takes until it is let go."""

    def __init__(self) -> None:
        self.vaults = list[str]()
        self.go_on = Event()

    def commit(self, root: Path, _changed: Sequence[str], **_: Any) -> bool:
        self.vaults.append(root.name)
        assert self.go_on.wait(60)
        return True


def test_changes_of_one_person_s_documents_that_hang_hold_up_nobody_else(
    app: Flask, ada: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A vault has one writer, which commits: its other changes wait without a thread."""
    settings = app.extensions[EXTENSION].settings.model_copy(update={"search_threads": 2, "threads": 2})
    app.extensions[EXTENSION] = replace(app.extensions[EXTENSION], settings=settings)
    assert ada.put("/api/vault/document?path=c.md", json={"text": "Coffee"}).status_code == 200
    git = HangingGit()
    monkeypatch.setattr("vault.writing.history.commit", git.commit)

    def changes() -> list[Connection]:
        return [
            *(
                request(ada, "PUT", f"/api/vault/document?path={number}.md", {"text": f"Tea {number}"})
                for number in range(6)
            ),
            request(ada, "POST", "/api/vault/rename", {"path": "c.md", "new_path": "d.md"}),
            request(ada, "DELETE", "/api/vault/document?path=0.md"),
            request(ada, "POST", "/api/vault/restore", {"kept_at": "nowhere"}),
        ]

    async def scene() -> None:
        bridge = Bridge(app)
        waiting = [asyncio.create_task(answered(bridge, change)) for change in changes()]
        await until(lambda: git.vaults and taken(bridge, Work.DOCUMENTS) == len(waiting))
        assert bridge._pools[Work.DOCUMENTS].running == 1
        paths = ("/interface/", "/list_conversation_by_user/assistant", "/api/vault/document?path=c.md", "/pkb/claims")
        for person, path in product((ada, eve), paths):
            answer = await answered(bridge, request(person, "GET", path))
            assert answer.status == (404 if person is eve and "path=" in path else 200), path
        theirs = request(eve, "PUT", "/api/vault/document?path=tea.md", {"text": "Tea"})
        other = asyncio.create_task(answered(bridge, theirs))
        await until(lambda: len(set(git.vaults)) == 2)
        assert not any(task.done() for task in waiting)
        git.go_on.set()
        assert (await other).status == 200
        statuses = [connection.status for connection in await asyncio.gather(*waiting)]
        assert statuses == [*[200] * 8, 400]

    try:
        run(scene())
    finally:
        git.go_on.set()


def test_a_change_of_a_document_that_waits_for_long_is_told_when_to_come_again(
    ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    git = HangingGit()
    monkeypatch.setattr("vault.writing.history.commit", git.commit)
    monkeypatch.setattr("vault.writing._PATIENCE", 0.02)
    with ThreadPoolExecutor(1) as threads:
        first = threads.submit(ada.put, "/api/vault/document?path=a.md", json={"text": "Tea"})
        try:
            while not git.vaults:
                assert not first.done()
            busy = ada.put("/api/vault/document?path=b.md", json={"text": "Tea"})
        finally:
            git.go_on.set()
        assert first.result().status_code == 200
    assert (busy.status_code, busy.json["code"], busy.headers["Retry-After"]) == (503, "storage_busy", "1")
    assert ada.put("/api/vault/document?path=b.md", json={"text": "Tea"}).status_code == 200


def test_a_script_of_many_short_requests_holds_up_nobody_else(
    app: Flask, ada: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = app.extensions[EXTENSION].settings.model_copy(update={"threads": 3})
    app.extensions[EXTENSION] = replace(app.extensions[EXTENSION], settings=settings)
    reading, go_on = list[str](), Event()

    def hangs(*, user_email: str, **_: Any) -> list[Any]:
        reading.append(user_email)
        assert go_on.wait(60)
        return []

    monkeypatch.setattr("endpoints.workspaces.views.workspaces.load_workspaces", hangs)

    def asked() -> Connection:
        connection = request(eve, "GET", "/list_workspaces/assistant")
        connection.scope["client"] = ("192.0.2.1", 40_000)
        return connection

    async def scene() -> None:
        bridge = Bridge(app)
        script = [asyncio.create_task(answered(bridge, asked())) for _ in range(200)]
        await until(lambda: len(reading) == 2 and taken(bridge, Work.SHORT) == 200)
        for path in ("/interface/", "/list_conversation_by_user/assistant", "/get_user_info"):
            assert (await answered(bridge, request(ada, "GET", path))).status == 200, path
        sent_one = request(ada, "POST", "/create_conversation/assistant/", {})
        assert (await answered(bridge, sent_one)).status == 201
        assert (len(reading), any(task.done() for task in script)) == (2, False)
        go_on.set()
        assert {connection.status for connection in await asyncio.gather(*script)} == {200}

    try:
        run(scene())
    finally:
        go_on.set()


def test_files_are_shown_and_stored_while_imports_hold_all_threads_for_long_work(
    app: Flask, ada: Person, eve: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = app.extensions[EXTENSION].settings.model_copy(update={"long_threads": 2, "search_threads": 2})
    app.extensions[EXTENSION] = replace(app.extensions[EXTENSION], settings=settings)
    octets = [(b"content-type", b"application/octet-stream")]
    picture = ada.post("/attachments?name=dot.png", data=picture_of(), content_type="application/octet-stream")
    address = f"/attachments/{picture.json['attachment_id']}"
    importing, go_on = list[str](), Event()

    def hangs(api: StructuredAPI, *_: Any, **__: Any) -> Any:
        importing.append(api.user_email)
        assert go_on.wait(60)
        raise KnowledgeUnavailableError

    monkeypatch.setattr(StructuredAPI, "import_data", hangs)

    def imported(person: Person) -> asyncio.Task[Connection]:
        return asyncio.create_task(answered(bridge_of[0], request(person, "POST", "/pkb/import", {"payload": {}})))

    bridge_of = list[Bridge]()

    async def scene() -> None:
        bridge_of.append(bridge := Bridge(app))
        own = [imported(eve) for _ in range(3)]
        await until(lambda: taken(bridge, Work.LONG) == 3 and importing)
        assert importing == [eve.email]
        other = imported(ada)
        await until(lambda: len(importing) == 2)
        assert importing == [eve.email, ada.email]
        for form in ("picture", "original"):
            shown = request(ada, "GET", f"{address}?form={form}")
            assert (await answered(bridge, shown)).status == 200
        stored = request(ada, "POST", "/attachments?name=notes.txt")
        stored.scope["headers"] += octets
        stored.unsent = [b"Tea is good."]
        assert (await answered(bridge, stored)).status == 201
        named = f"/attachments/{json.loads(stored.body)['attachment_id']}"
        assert (await answered(bridge, request(ada, "GET", f"{named}/text"))).status == 200
        assert (await answered(bridge, request(ada, "DELETE", named))).status == 200
        assert not any(task.done() for task in (*own, other))
        go_on.set()
        await asyncio.gather(*own, other)

    try:
        run(scene())
    finally:
        go_on.set()


WELL_FORMED = [
    b'{"payload": {"data": {"claims": [{"a": "\xc3\xa4 ]}", "b": [1, {"c": null}]}, {}]}}, "mode": "merge"}',
    b' [ 1 , -2.5e3 , "x\\u00e9\\n" , true , [ ] , { } , [[[[[1]]]]] , 18446744073709551615 ] ',
    b'{"a": 1, "a": {"b": "\\ud83d\\ude00"}}',
    b'"only text"',
]
MALFORMED = [
    b"",
    b'{"a": 1,}',
    b"[1,]",
    b"[1 2]",
    b"[,]",
    b'{"a" 1}',
    b'{1: "a"}',
    b"[1}",
    b'{"a": [1, 2}',
    b"[1] 2",
    b"[NaN]",
    b"[01]",
    b'["\\ud800"]',
    b'["\xff"]',
    b'["a\nb"]',
    b"[" * 100_000,
    b'{"a":' * 100_000,
]


@pytest.mark.parametrize("text", WELL_FORMED)
def test_a_long_body_says_the_same_when_it_is_parsed_in_steps(text: bytes) -> None:
    assert validation._JsonInSteps(text).parsed() == orjson.loads(text)


@pytest.mark.parametrize("text", MALFORMED)
def test_a_long_malformed_body_is_refused_as_a_short_one(text: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    def outcome() -> str:
        with pytest.raises(InvalidRequestError) as raised:
            validation._decoded(text)
        return str(raised.value.details)

    whole = outcome()
    with pytest.raises((ValueError, RecursionError)):
        validation._JsonInSteps(text).parsed()
    monkeypatch.setattr(validation, "_WHOLE_BYTES", -1)
    assert outcome() == whole


def test_a_large_import_is_parsed_memory_by_memory(ada: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    pieces, loads = list[int](), orjson.loads

    def counted(piece: bytes) -> Any:
        pieces.append(len(piece))
        return loads(piece)

    monkeypatch.setattr(validation, "orjson", SimpleNamespace(loads=counted, JSONDecodeError=orjson.JSONDecodeError))
    monkeypatch.setattr(validation, "_WHOLE_BYTES", 10_000)
    row = {"statement": "Tea is good", "claim_type": "fact", "context_domain": "personal"}
    rows = [row | {"claim_id": f"c{number}"} for number in range(200)]
    body = orjson.dumps({"payload": {"pkb_export_version": 1, "data": {"claims": rows}}})
    answer = ada.post("/pkb/import", data=body, content_type="application/json")
    assert (answer.status_code, len(body) > 10_000) == (200, True)
    assert answer.json["counts"]["claims"] == 200
    assert max(pieces) < 200
