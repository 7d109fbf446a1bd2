"""A deleted account leaves nothing: no row, no file, no byte; and what is somebody else's stays as it was."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask, request
from sqlalchemy import inspect

from attachments.passages import index_pending as index_passages
from chat.context.knowledge import tell_changes
from chat.runtime.startup import held_data_folder
from chat.tools.registry import Tool, ToolContext
from database.accounts.audit import list_acts
from database.imports.repository import claim_import, release_imports
from database.jobs import add_job, claim_job, release_jobs
from database.schema import metadata
from database.search.indexing import index_pending
from endpoints.http.errors import ForbiddenError
from endpoints.http.scope import EXTENSION, AppState
from language_models.testing import Hold, Reply, ScriptedChatModel
from portability.imports.accepting import accept_file
from portability.imports.runner import FOLDER, ImportRunner
from settings import Settings
from tests.endpoints.conftest import PASSWORD, Person, refused
from truth_management_system.schema import metadata as knowledge_metadata
from truth_management_system.search.vector_cache import VectorSet

pytestmark = pytest.mark.contract

MARK = {"ada@example.org": "zqxada", "eve@example.org": "zqxeve"}


@pytest.fixture
def hold() -> Hold:
    """At this the model waits where a prompt says "wait"."""
    return Hold()


@pytest.fixture
def main_model(hold: Hold) -> ScriptedChatModel:
    """Says again what it was asked, and waits in the middle where a prompt says "wait"."""

    def reply(prompt: Any) -> Reply:
        said = str(prompt[-1]["content"])[-200:]
        return Reply("You said: ", hold, said) if "wait" in said else Reply("You said: ", said)

    return ScriptedChatModel(replies=reply)


@pytest.fixture
def state(app: Flask) -> AppState:
    """The parts of the server."""
    return app.extensions[EXTENSION]  # type: ignore[no-any-return]


@pytest.fixture
def grace(person: Callable[..., Person]) -> Person:
    """The administrator."""
    return person("grace@example.org", is_admin=True)


def fill(person: Person, state: AppState) -> None:
    """Something of every kind, each with the person's mark in it."""
    mark = MARK[person.email]
    person.put("/get_user_info", json={"name": f"{mark}name"})
    person.post("/modify_user_detail", json={"text": f"{mark}detail"})
    person.post("/modify_user_preference", json={"text": f"{mark}preference", "other": f"{mark}other"})
    person.post("/api_tokens", json={"name": f"{mark}token"})
    workspace = person.post(f"/create_workspace/assistant/{mark}workspace", json={}).json["workspace_id"]
    talk = person.post(f"/create_conversation/assistant/{workspace}").json["conversation_id"]
    person.put(f"/get_conversation_settings/{talk}", json={"tone": f"{mark}tone"})
    person.say(talk, f"{mark}question one two", client_message_id=f"{mark}sent")
    question, answer = person.get(f"/list_messages_by_conversation/{talk}").json
    person.post(f"/regenerate/{talk}/{answer['message_id']}").get_data()
    edit = {"text": f"{mark}edited " + "word " * 50}
    person.post(f"/edit_message_from_conversation/{talk}/{question['message_id']}/1", json=edit)
    friendly_id = person.get(f"/get_conversation_details/{talk}").json["conversation_friendly_id"]
    person.say(talk, f"{mark}referring to @conversation_{friendly_id}_message_1", reply_to=answer["message_id"])
    person.say(talk, f"{mark}doomed")
    doomed = person.get(f"/list_messages_by_conversation/{talk}").json[-2]
    path = f"/delete_message_from_conversation/{talk}/{doomed['message_id']}/{doomed['message_index']}"
    assert person.delete(path).status_code == 200
    person.put(f"/conversations/{talk}/title", json={"title": f"{mark}title"})
    person.post(f"/share/{talk}")
    person.post(f"/clone_conversation/{talk}")
    binned = person.new_conversation()
    person.say(binned, f"{mark}binned")
    person.delete(f"/delete_conversation/{binned}")
    temporary = person.post("/create_temporary_conversation/assistant").json["conversation_id"]
    person.say(temporary, f"{mark}temporary")
    claim = person.remember(f"{mark}memory of a thing", tags=[f"{mark}tag"])
    person.put(f"/pkb/claims/{claim.claim_id}", json={"statement": f"{mark}memory that was changed"})
    gone = person.remember(f"{mark}memory that was retracted")
    person.delete(f"/pkb/claims/{gone.claim_id}")
    person.post("/pkb/contexts", json={"name": f"{mark}context", "description": f"{mark}description"})
    person.post("/pkb/entities", json={"name": f"{mark}entity", "entity_type": "person"})
    person.post("/pkb/conflicts", json={"claim_ids": [claim.claim_id, person.remember(f"{mark}other").claim_id]})
    assert person.post("/pkb/ingest_text", json={"text": f"I like {mark}plans a lot."}).status_code == 200
    person.put(f"/conversations/{talk}/pin")
    person.put(f"/conversations/{talk}/tags", json={"tags": [f"{mark}tag of a conversation"]})
    person.post("/presets", json={"name": f"{mark}preset", "system_prompt": f"{mark}instructions"})
    person.post("/prompts", json={"name": f"{mark}prompt", "text": f"{mark}text {{{{field}}}}"})
    person.post("/api/agents", json={"title": f"{mark}agent", "system_prompt": f"{mark}instructions"})
    person.put(f"/pkb/conversation/{talk}/pin", json={"claim_id": claim.claim_id})
    tell_changes(database=state.database, knowledge=state.knowledge)
    while index_pending(database=state.database):
        pass
    write_documents(person)
    write_files(person, state, talk)
    bundle = state.database.folder / "bundles" / talk
    (bundle / "attachments" / "id").mkdir(parents=True)
    (bundle / "talk.json").write_text(f"{mark}bundle")
    (bundle / "attachments" / "id" / f"{mark}.txt").write_text(f"{mark}file of a bundle")
    vectors = VectorSet(db=state.knowledge.database(), user_email=person.email, model="m", dimensions=4)
    file = vectors.path()
    assert file is not None
    file.parent.mkdir(exist_ok=True)
    file.write_text(f"{mark}vectors")


def write_files(person: Person, state: AppState, talk: str) -> None:
    """An event, a tool server with its key, files, an import that has ended, and the upload of another.

    Of the files one is in a message, one in none, and a crash left one without a row.
    """
    mark = MARK[person.email]
    event = {"recipe": "system-monitoring", "type": "system_event", "payload": {"description": f"{mark}event"}}
    assert person.post(f"/api/conversations/{talk}/activities", json=event).status_code == 201
    state.tool_servers._reach = "private"
    key = {"Authorization": f"{mark}key"}
    state.tool_servers.add(person.email, name=f"{mark}-tools", url="http://127.0.0.1:9/mcp", headers=key)
    body = {"content_type": "application/octet-stream"}
    file = person.post(f"/attachments?name={mark}.txt", data=f"{mark}text of a file".encode(), **body)
    assert file.status_code == 201, file.get_data(as_text=True)
    sent = person.post(f"/attachments?name={mark}sent.csv", data=f"{mark},text\nof,a file".encode(), **body)
    person.say(talk, f"{mark}with a file", files=[sent.json["attachment_id"]])
    assert index_passages(state.attachments) == 2
    (stored,) = {state.attachments.original(each).parents[1] for each in state.attachments.list_of(person.email)}
    (stored / ("0" * 64)).mkdir()
    (stored / ("0" * 64) / "original").write_text(f"{mark}left by a crash")
    line = f'{{"conversation": "c", "role": "user", "text": "{mark}imported"}}\n'
    carry_out_import(person, state, f'{line}{{"conversation": "{mark}", "role": "{mark}nobody", "text": "x"}}\n')
    upload = person.post(f"/import?name={mark}.jsonl", data=line.encode(), **body)
    assert upload.status_code == 201, upload.get_data(as_text=True)


def carry_out_import(person: Person, state: AppState, lines: str) -> None:
    """Import `lines` to the end. A line of them can't be read, and the report says so."""
    uploads = state.database.folder.parent / FOLDER
    uploads.mkdir(exist_ok=True)
    file = uploads / "received"
    file.write_text(lines)
    own: dict[str, Any] = {"database": state.database, "user_email": person.email}
    accept_file(file, name=f"{MARK[person.email]}done.jsonl", **own, uploads=uploads, state="running")
    runner = ImportRunner(database=state.database, uploads=uploads, share=1.0)
    while (ran := runner.run_due()) is not None:
        done = ran
    runner.close()
    assert (done.state, done.imported, len(done.failures)) == ("done", 1, 1)


def write_documents(person: Person) -> None:
    """Documents of the person: one that was written and written again, one that was renamed, one in the bin."""
    mark, at = MARK[person.email], "/api/vault/document?path="
    made = person.put(f"{at}{mark}kept.md", json={"text": f"# {mark}title\n\nSee [[{mark}link]]. {mark}before"})
    changed = {"text": f"# {mark}title\n\nSee [[{mark}moved]]. {mark}after"}
    assert person.put(f"{at}{mark}kept.md", json=changed, headers={"If-Match": made.headers["ETag"]}).status_code == 200
    person.put(f"{at}{mark}moved.md", json={"text": f"{mark}text"})
    person.post("/api/vault/rename", json={"path": f"{mark}moved.md", "new_path": f"{mark}folder/{mark}new.md"})
    person.put(f"{at}{mark}binned.md", json={"text": f"{mark}thrown away"})
    assert person.delete(f"{at}{mark}binned.md").status_code == 200


def files_with(data_dir: Path, *marks: str) -> dict[str, set[str]]:
    """For each mark, the files of the data folder in whose bytes or name it is."""
    found: dict[str, set[str]] = {mark: set() for mark in marks}
    for file in data_dir.rglob("*"):
        content = file.name.encode() + (file.read_bytes() if file.is_file() else b"")
        for mark in marks:
            if mark.encode() in content.lower():
                found[mark].add(file.name)
    return found


def told(person: Person) -> list[Any]:
    """What a person sees of their things."""
    paths = ["/get_user_info", "/get_user_detail", "/api_tokens", "/list_conversation_by_user/assistant", "/shares"]
    paths += ["/list_workspaces/assistant", "/bin/assistant", "/pkb/claims?limit=100", "/pkb/audit", "/pkb/conflicts"]
    paths += [f"/search?q={MARK[person.email]}edited", "/api/vault/documents", "/api/vault/graph"]
    paths += [f"/api/vault/document?path={MARK[person.email]}kept.md"]
    answers = [person.get(path).json for path in paths]
    conversations = [each["conversation_id"] for each in answers[3]]
    found = person.get(f"/pkb/search?q={MARK[person.email]}memory").json["results"]
    answers.append([hit["claim"] for hit in found])  # how they are ranked depends on everybody's words
    return answers + [person.get(f"/list_messages_by_conversation/{each}").json for each in conversations]


@pytest.mark.only_sqlite
def test_no_file_of_the_data_folder_holds_a_byte_of_a_deleted_account(
    settings: Settings, state: AppState, ada: Person, eve: Person
) -> None:
    fill(ada, state)
    fill(eve, state)
    marks = MARK[ada.email], ada.email
    assert all(len(files) >= 3 for files in files_with(settings.data_dir, *marks).values())
    before = told(eve)

    answer = ada.delete("/account", json={"password": PASSWORD})
    assert (answer.status_code, answer.json) == (200, {"status": "ok", "compacts_itself": True})
    assert state.account_erasure.erase_closed() == 1

    assert files_with(settings.data_dir, *marks) == {mark: set() for mark in marks}
    assert told(eve) == before
    assert len(files_with(settings.data_dir, MARK[eve.email])[MARK[eve.email]]) >= 3
    assert state.account_erasure.erase_closed() == 0


def tables_with(state: AppState, *marks: str) -> dict[str, set[str]]:
    """For each mark, the tables of both stores in whose rows it is, those of the indexes too."""
    found: dict[str, set[str]] = {mark: set() for mark in marks}
    with state.database.reading() as connection:
        names = [*inspect(connection).get_table_names()]
        rows = {name: connection.exec_driver_sql(f'SELECT * FROM "{name}"').all() for name in names}
    memories = state.knowledge.database()
    rows |= {f"knowledge: {name}": memories.select(f'SELECT * FROM "{name}"') for name in knowledge_metadata.tables}
    for name, told_ in rows.items():
        said = "\n".join(repr(tuple(row)) for row in told_).lower()
        for mark in marks:
            if mark in said:
                found[mark].add(name)
    return found


def test_no_row_of_any_table_holds_a_word_of_a_deleted_account(state: AppState, ada: Person, eve: Person) -> None:
    fill(ada, state)
    fill(eve, state)
    marks = MARK[ada.email], ada.email
    before = tables_with(state, *marks, MARK[eve.email])
    assert len(before[ada.email]) >= 20
    assert len(before[MARK[ada.email]]) >= 15
    assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
    assert state.account_erasure.erase_closed() == 1
    after = tables_with(state, *marks, MARK[eve.email])
    assert {mark: after[mark] for mark in marks} == {mark: set() for mark in marks}
    # An index writes its words otherwise when others are gone.
    described = metadata.tables.keys() | {f"knowledge: {name}" for name in knowledge_metadata.tables}
    assert after[MARK[eve.email]] & described == before[MARK[eve.email]] & described


def test_from_the_first_moment_nobody_gets_in_or_sees_anything(
    app: Flask, state: AppState, grace: Person, ada: Person
) -> None:
    fill(ada, state)
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    shared = ada.get("/shares").json[0]["token"]
    link = grace.post(f"/users/{ada.email}/password_link", json={}).json["path"]
    answer = grace.delete(f"/users/{ada.email.upper()}")
    assert answer.status_code == 200
    stranger = app.test_client()
    assert ada.get("/get_user_info").status_code == 401
    assert stranger.get("/get_user_info", headers={"Authorization": f"Bearer {token}"}).status_code == 401
    assert stranger.get(f"/shared_chat/{shared}").status_code == 404
    assert stranger.get(link).status_code == 404
    assert stranger.post("/login", json={"email": ada.email, "password": PASSWORD}).status_code == 401
    assert [each["user_email"] for each in grace.get("/users").json] == [grace.email]
    assert refused(grace.put(f"/users/{ada.email}", json={"disabled": False})) == (404, "user_not_found")
    # The address is taken until all is erased; then it begins with nothing.
    account = {"email": ada.email, "password": PASSWORD}
    assert refused(grace.post("/users", json=account)) == (409, "conflict")
    state.account_erasure.erase_closed()
    assert grace.post("/users", json=account).status_code == 201
    stranger.post("/login", json=account)
    assert stranger.get("/list_conversation_by_user/assistant").json == []
    assert stranger.get("/pkb/claims").json["total_count"] == 0


def test_a_running_answer_is_stopped_before_anything_is_erased(
    settings: Settings, state: AppState, ada: Person, hold: Hold
) -> None:
    conversation_id = ada.new_conversation()
    running = ada.post(f"/send_message/{conversation_id}", json={"messageText": "wait zqxada"}, buffered=False)
    assert hold.wait_until_reached()
    state.turns._stop, stop = lambda *_: None, state.turns._stop  # type: ignore[method-assign]
    assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
    assert state.account_erasure.erase_closed() == 0
    state.turns._stop = stop  # type: ignore[method-assign]
    erased = threading.Event()
    while state.account_erasure.erase_closed() == 0:
        erased.wait(0.02)
    assert b'"answer_status":"cancelled"' in running.get_data()
    assert files_with(settings.data_dir, "zqxada") == {"zqxada": set()}


@pytest.mark.parametrize("late", ["conversation", "memory", "refused"])
def test_what_a_request_writes_that_was_authenticated_before_is_erased_too(
    late: str, app: Flask, settings: Settings, state: AppState, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    authenticated, closed = threading.Event(), threading.Event()

    def wait() -> None:
        if request.headers.get("X-Late"):
            authenticated.set()
            assert closed.wait(30)
            if late == "refused":
                raise ForbiddenError("no")

    monkeypatch.setitem(app.before_request_funcs, None, [*app.before_request_funcs[None], wait])
    client = app.test_client()
    client.set_cookie("anaphora_session", ada.client.get_cookie("anaphora_session").value)
    statuses: list[int] = []

    def ask() -> None:
        slow, header = Person(ada.email, client), {"X-Late": "1"}
        if late == "memory":
            answer = slow.post("/pkb/claims", json={"statement": "zqxlate is remembered"}, headers=header)
        else:
            answer = slow.post("/create_conversation/zqxlate/", headers=header)
        statuses.append(answer.status_code)

    asking = threading.Thread(target=ask)
    asking.start()
    assert authenticated.wait(30)
    assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
    assert state.account_erasure.erase_closed() == 0
    closed.set()
    asking.join()
    assert statuses == [{"conversation": 201, "memory": 201, "refused": 403}[late]]
    assert state.account_erasure.erase_closed() == 1
    assert files_with(settings.data_dir, "zqxlate", ada.email) == {"zqxlate": set(), ada.email: set()}


def test_a_tool_call_that_nobody_waits_for_any_more_ends_before_anything_is_erased(
    settings: Settings, state: AppState, ada: Person
) -> None:
    given_up, written = threading.Event(), threading.Event()

    def write(context: ToolContext) -> dict[str, Any]:
        assert given_up.wait(30)
        state.vaults.of(context.user_email).write("zqxlate.md", "zqxlate text")
        return {"success": True}

    tools = state.tools.with_tools([Tool(name="late", description="Write.", parameters={}, run=write)])
    context = ToolContext(user_email=ada.email, database=state.database, services=state.services, load=lambda _: None)  # type: ignore[arg-type, return-value]
    call = threading.Thread(target=lambda: (tools.call("late", {}, context), written.set()))
    call.start()
    while not tools.under_way.has_any(ada.email):
        written.wait(0.01)
    assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
    assert state.account_erasure.erase_closed() == 0
    given_up.set()
    assert written.wait(30)
    call.join()
    assert state.account_erasure.erase_closed() == 1
    assert files_with(settings.data_dir, "zqxlate", ada.email) == {"zqxlate": set(), ada.email: set()}


@pytest.mark.parametrize("work", ["import", "job"])
def test_an_import_or_a_job_that_is_worked_on_ends_before_anything_is_erased_and_none_begins(
    work: str, settings: Settings, state: AppState, ada: Person, tmp_path: Path
) -> None:
    uploads = settings.data_dir / FOLDER
    own: dict[str, Any] = {"database": state.database, "user_email": ada.email}
    if work == "import":
        for file in (tmp_path / "one.jsonl", tmp_path / "two.jsonl"):
            file.write_text('{"conversation": "c", "role": "user", "text": "zqxada"}\n')
            accept_file(file, name=file.name, **own, uploads=uploads)
        held = claim_import(database=state.database, owner="elsewhere")
        assert held is not None
    else:
        for _ in range(2):
            add_job(kind="step", **own)
        job = claim_job(database=state.database, kinds=["step"], owner="elsewhere")
        assert job is not None
    assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
    assert state.account_erasure.erase_closed() == 0
    assert claim_import(database=state.database, owner="another") is None
    assert claim_job(database=state.database, kinds=["step"], owner="another") is None
    if work == "import":
        release_imports(database=state.database, owner="elsewhere")
    else:
        release_jobs(database=state.database)
    assert state.account_erasure.erase_closed() == 1
    assert files_with(settings.data_dir, "zqxada") == {"zqxada": set()}


def test_an_import_that_is_cancelled_while_a_step_of_it_runs_ends_before_anything_is_erased(
    settings: Settings, state: AppState, ada: Person, tmp_path: Path
) -> None:
    uploads, file = settings.data_dir / FOLDER, tmp_path / "one.jsonl"
    file.write_text('{"conversation": "c", "role": "user", "text": "zqxada"}\n')
    own: dict[str, Any] = {"database": state.database, "user_email": ada.email}
    accept_file(file, name=file.name, **own, uploads=uploads, state="running")
    erased: list[int] = []

    class Files:
        """Stores files in the middle of a step, in which the person cancels the import and deletes the account."""

        def __call__(self, _email: str, conversation: Any, _file: Any, *, after_each: Any) -> tuple[Any, list[Any]]:
            (running,) = ada.get("/imports").json
            assert ada.post(f"/imports/{running['import_id']}/cancel").status_code == 200
            assert ada.delete("/account", json={"password": PASSWORD}).status_code == 200
            erased.append(state.account_erasure.erase_closed())
            return conversation, []

    runner = ImportRunner(database=state.database, uploads=uploads, store_files=Files(), share=1.0)  # type: ignore[arg-type]
    runner.run_until_idle()
    assert erased == [0]
    assert state.account_erasure.erase_closed() == 1
    assert files_with(settings.data_dir, "zqxada", ada.email) == {"zqxada": set(), ada.email: set()}


def test_the_password_is_asked_for_and_no_token_may(app: Flask, ada: Person) -> None:
    assert refused(ada.delete("/account", json={"password": "not the password"})) == (403, "forbidden")
    assert ada.delete("/account", json={}).status_code == 400
    token = ada.post("/api_tokens", json={"name": "script"}).json["token"]
    program = {"Authorization": f"Bearer {token}"}
    answer = app.test_client().delete("/account", json={"password": PASSWORD}, headers=program)
    assert refused(answer) == (403, "forbidden")
    assert ada.get("/get_user_info").status_code == 200


def test_the_last_administrator_stays_while_there_are_others(
    person: Callable[..., Person], app: Flask, state: AppState, grace: Person, ada: Person
) -> None:
    own = {"password": PASSWORD}
    answer = grace.delete("/account", json=own)
    assert refused(answer) == (409, "conflict")
    assert "another administrator" in answer.json["message"]
    assert refused(ada.delete(f"/users/{grace.email}")) == (403, "forbidden")
    assert refused(grace.delete(f"/users/{grace.email}")) == (400, "bad_request")
    assert refused(grace.delete("/users/nobody@example.org")) == (404, "user_not_found")

    second = person("second@example.org", is_admin=True)
    second.put(f"/users/{grace.email}", json={"disabled": True})
    assert refused(second.delete("/account", json=own)) == (409, "conflict")
    second.put(f"/users/{grace.email}", json={"disabled": False})
    assert second.delete(f"/users/{grace.email}").status_code == 200
    assert second.delete(f"/users/{ada.email}").status_code == 200
    assert second.delete("/account", json=own).status_code == 200
    state.account_erasure.erase_closed()
    assert app.test_client().get("/setup", headers={"Accept": "text/html"}).status_code == 200


def test_an_erasure_that_was_broken_off_is_finished_by_the_next(
    settings: Settings, state: AppState, ada: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(ada, state)
    ada.delete("/account", json={"password": PASSWORD})
    monkeypatch.setattr(
        "chat.runtime.account_erasure.erase_account", lambda **_: (_ for _ in ()).throw(OSError("power"))
    )
    with pytest.raises(OSError, match="power"):
        state.account_erasure.erase_closed()
    monkeypatch.undo()
    assert state.account_erasure.erase_closed() == 1
    assert files_with(settings.data_dir, MARK[ada.email]) == {MARK[ada.email]: set()}


def test_the_command_line_deletes_after_asking_and_compacts(
    app: Flask, settings: Settings, state: AppState, ada: Person, eve: Person
) -> None:
    fill(ada, state)

    def run(*arguments: str, typed: str = "") -> Any:
        return app.test_cli_runner().invoke(args=list(arguments), input=typed)

    assert run("users", "delete", "--email", ada.email, typed="n\n").exit_code == 1
    assert ada.get("/get_user_info").status_code == 200
    unknown = run("users", "delete", "--email", "nobody@example.org", "--yes")
    assert (unknown.exit_code, unknown.output) == (3, "Error: There is no such user.\n")
    with held_data_folder(settings.data_dir):
        closed = run("users", "delete", "--email", eve.email, "--yes")
    assert closed.output == f"{eve.email} is closed. The running server erases what it had.\n"
    erased = run("users", "delete", "--email", ada.email, "--yes")
    assert (erased.exit_code, erased.output) == (0, f"{ada.email} is erased.\n")
    assert files_with(settings.data_dir, MARK[ada.email], eve.email) == {MARK[ada.email]: set(), eve.email: set()}
    compacted = run("data", "compact")
    if settings.database_url is not None:
        assert (compacted.exit_code, "vacuumdb" in compacted.output) == (1, True)
        assert state.knowledge.database().select("SELECT 1 FROM claims WHERE user_email = ?", [ada.email]) == []
        return
    assert compacted.exit_code == 0, compacted.output
    assert "MB became" in compacted.output


@pytest.mark.only_sqlite
def test_retracted_memories_and_former_texts_are_erased_for_good(
    app: Flask, settings: Settings, state: AppState, ada: Person, eve: Person
) -> None:
    kept = ada.remember("A plain memory of many usual words goes on to zqxformer")
    ada.put(f"/pkb/claims/{kept.claim_id}", json={"statement": "What it says now"})
    gone = ada.remember("zqxgone and retracted", tags=["health"])
    assert ada.delete(f"/pkb/claims/{gone.claim_id}").status_code == 200
    hers = eve.remember("zqxhers and retracted")
    eve.delete(f"/pkb/claims/{hers.claim_id}")
    change = ada.get("/pkb/audit").json["entries"][0]["audit_id"]
    tell_changes(database=state.database, knowledge=state.knowledge)

    def forget(days: str) -> Any:
        arguments = ["data", "forget", "--older-than-days", days, "--email", ada.email]
        return app.test_cli_runner().invoke(args=arguments)

    assert forget("1").output.startswith("0 retracted memories were erased. 0 changes")
    done = forget("0")
    assert (done.exit_code, done.output.split(".")[0]) == (0, "1 retracted memories were erased")
    (act,) = list_acts(database=state.database, limit=10)
    assert (act["act"], act["subject"], act["details"]["memories"]) == ("memories_forgotten", ada.email, 1)
    found = files_with(settings.data_dir, "zqxgone", "zqxformer", "zqxhers")
    assert (found["zqxgone"], found["zqxformer"]) == (set(), set())
    assert found["zqxhers"] == {"pkb.sqlite", "users.db"}
    assert [claim["statement"] for claim in ada.get("/pkb/claims").json["claims"]] == ["What it says now"]
    assert refused(ada.post(f"/pkb/undo/{change}"))[0] == 409
