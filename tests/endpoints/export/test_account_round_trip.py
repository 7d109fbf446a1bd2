"""Whatever an account holds, an empty server that imports its archive has the same, and references mean the same."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from hypothesis import example, given
from hypothesis import strategies as st

from activity.export import INCLUDED
from database.agents.repository import GLOBAL_SLUG
from endpoints.http.scope import EXTENSION, AppState
from language_models.testing import Reply, ScriptedChatModel
from tests.attachments.made_files import pdf_of
from tests.endpoints.conftest import Person, account, running_app, settings_in
from tests.endpoints.export.test_archive_imported import archive_of, imported
from tests.postgresql import PostgreSQLServer
from tests.tiers import examples
from truth_management_system import StructuredAPI

pytestmark = [pytest.mark.contract, pytest.mark.hypothesis]
_numbers = itertools.count(1)
_REFERENCED = re.compile(r'<pkb_item [^>]*source="(?:referenced|attached)".*?</pkb_item>', re.DOTALL)
_OF_ONE_SERVER = {"attachment_id", "exported_at", "workspace_id"}
"""What names something by an id that only one server knows."""
KINDS = (
    "conversation",
    "say",
    "say_with_file",
    "again",
    "branch",
    "event",
    "reply",
    "memory",
    "pin",
    "document",
    "tag",
    "alias",
    "agent",
)
steps = st.lists(st.tuples(st.sampled_from(KINDS), st.integers(0, 7), st.integers(0, 7)), min_size=4, max_size=12).map(
    lambda found: [("conversation", 0, 0), ("say", 0, 0), *found]
)


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """A model whose answers differ."""
    return ScriptedChatModel(replies=lambda _prompt: Reply(f"Answer {next(_numbers)}."), context_window=64_000)


@pytest.fixture
def elsewhere_model() -> ScriptedChatModel:
    """The model of the other server."""
    return ScriptedChatModel(replies=lambda _prompt: Reply("Noted."), context_window=64_000)


@pytest.fixture
def elsewhere(
    tmp_path: Path,
    database_url: str | None,
    request: pytest.FixtureRequest,
    elsewhere_model: ScriptedChatModel,
    cheap_model: ScriptedChatModel,
) -> Iterator[Flask]:
    """Another server on the same engine, with an empty store."""
    url, server = None, None
    if database_url is not None:
        server = request.getfixturevalue("postgresql_server")
        assert isinstance(server, PostgreSQLServer)
        url = server.empty_store()
    with running_app(
        settings_in(tmp_path / "elsewhere", database_url=url), main=elsewhere_model, cheap=cheap_model
    ) as application:
        yield application
    if server is not None and url is not None:
        server.take_back(url)


@dataclass
class Account:
    """What a person does, step by step; `names`: all that can be referred to."""

    person: Person
    knowledge: StructuredAPI
    rooms: list[str] = field(default_factory=list)
    documents: list[str] = field(default_factory=list)
    memories: list[str] = field(default_factory=list)
    claims: list[str] = field(default_factory=list)
    activities: list[str] = field(default_factory=list)
    aliases: list[str] = field(default_factory=list)
    agents: list[str] = field(default_factory=list)

    @property
    def names(self) -> list[str]:
        """References to everything."""
        documents = [f"[[{each}]]" for each in self.documents]
        return [*self.message_names(), *self.memories, *documents, *self.activities, *self.aliases]

    def do(self, kind: str, one: int, other: int) -> None:
        steps = (
            self._conversation,
            self._say,
            self._say_with_file,
            self._again,
            self._branch,
            self._event,
            self._reply,
            self._memory,
            self._pin,
            self._document,
            self._tag,
            self._alias,
            self._agent,
        )
        next(step for step in steps if step.__name__ == f"_{kind}")(one, other)

    def messages(self, room: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.person.get(f"/list_messages_by_conversation/{room}").json
        return found

    def message_names(self) -> list[str]:
        """References to all messages of the active paths, and to their files."""
        found = []
        for room in self.rooms:
            fid = self.person.get(f"/get_conversation_details/{room}").json["conversation_friendly_id"]
            for message in self.messages(room):
                name = f"@conversation_{fid}_message_{message['message_short_hash']}"
                files = [part for part in message["parts"] if part["kind"] == "file"]
                found += [name, *(f"{name}_file_{number}" for number in range(1, len(files) + 1))]
                found += [f"{name}_file_{n}_pages_2-3" for n, part in enumerate(files, 1) if part.get("pages")]
        return found

    def _some_name(self, number: int) -> str:
        names = self.names
        return names[number % len(names)] if names else "nothing"

    def _room(self, number: int) -> str:
        return self.rooms[number % len(self.rooms)]

    def _conversation(self, _one: int, _other: int) -> None:
        if len(self.rooms) < 3:
            self.rooms.append(self.person.new_conversation())

    def _say(self, one: int, other: int) -> None:
        self.person.say(self._room(one), f"Question {next(_numbers)} about {self._some_name(other)}")

    def _say_with_file(self, one: int, _other: int) -> None:
        files = []
        contents = {name: f"{name}, {next(_numbers)}\nsecond line".encode() for name in ("notes.txt", "table.csv")}
        contents["pages.pdf"] = pdf_of([f"Page {number} of {next(_numbers)}" for number in range(1, 5)])
        for name, content in contents.items():
            sent = self.person.post(f"/attachments?name={name}", data=content, content_type="application/octet-stream")
            files.append(sent.json["attachment_id"])
        self.person.say(self._room(one), f"Read {next(_numbers)}.", files=files)

    def _again(self, one: int, other: int) -> None:
        answers = [each for each in self.messages(self._room(one)) if each["sender"] == "model"]
        if answers:
            chosen = answers[other % len(answers)]["message_id"]
            assert self.person.post(f"/regenerate/{self._room(one)}/{chosen}", json={}).get_data()

    def _branch(self, one: int, other: int) -> None:
        questions = [each for each in self.messages(self._room(one)) if each["sender"] == "user"]
        if questions:
            chosen = questions[other % len(questions)]["message_id"]
            body = {"text": f"Rather {next(_numbers)}"}
            assert self.person.post(f"/branch/{self._room(one)}/{chosen}", json=body).get_data()

    def _event(self, one: int, _other: int) -> None:
        event = {"recipe": "system-monitoring", "type": "system_event"}
        self._post(one, {**event, "payload": {"description": f"Event {next(_numbers)}"}})

    def _reply(self, one: int, other: int) -> None:
        replied = self.messages(self._room(other))
        if replied:
            said = {"type": "chat_message", "payload": {"text": f"Reply {next(_numbers)}"}}
            self._post(one, {**said, "reply_to": replied[0]["message_id"]})

    def _post(self, room: int, body: dict[str, Any]) -> None:
        answer = self.person.post(f"/api/conversations/{self._room(room)}/activities", json=body)
        assert answer.status_code == 201, answer.text
        self.activities.append(f"#{answer.json['short_id'].removeprefix('#')}")

    def _memory(self, one: int, other: int) -> None:
        fields = {"tags": [f"tag{one}"], "friendly_id": f"fact_of_garden_{next(_numbers)}"}
        added = self.person.remember(f"Fact {next(_numbers)} of {other}", **fields)
        self.memories += [f"@{added.friendly_id}", f"@claim_{added.claim_number}"]
        self.claims.append(added.claim_id)

    def _pin(self, one: int, other: int) -> None:
        if self.claims:
            body = {"claim_id": self.claims[other % len(self.claims)]}
            answer = self.person.put(f"/pkb/conversation/{self._room(one)}/pin", json=body)
            assert answer.status_code == 200, answer.text

    def _document(self, one: int, other: int) -> None:
        path = f"folder {one % 2}/note {next(_numbers)}.md"
        linked = self.documents[other % len(self.documents)] if self.documents else "nowhere"
        text = f"# Note {next(_numbers)}\n\nSee [[{linked}]] and #tag{one}.\n"
        answer = self.person.put("/api/vault/document", query_string={"path": path}, json={"text": text})
        assert answer.status_code < 300, answer.text
        self.documents.append(path.removesuffix(".md"))

    def _tag(self, one: int, other: int) -> None:
        room = self._room(one)
        assert self.person.put(f"/conversations/{room}/tags", json={"tags": [f"t{other}"]}).status_code == 200

    def _alias(self, one: int, _other: int) -> None:
        """An entity that became part of another, which keeps its name."""
        name = f"alias_{next(_numbers)}"
        about = {"entities": [{"name": name, "type": "person", "role": "subject"}]}
        self.claims.append(self.person.remember(f"Fact {next(_numbers)} of somebody", **about).claim_id)
        (former,) = self.knowledge.entities.find_by_name(name)
        heir = self.knowledge.add_entity(f"Somebody {one} {next(_numbers)}", "person").data
        assert self.knowledge.merge_entities(former.entity_id, heir.entity_id).success
        self.aliases.append(f"@{name}")

    def _agent(self, one: int, other: int) -> None:
        """An agent that answers in a conversation from now on."""
        body = {"title": f"Agent {next(_numbers)}", "system_prompt": f"Rule {other}"}
        made = self.person.post("/api/agents", json=body).json
        self.agents.append(made["agent_id"])
        assigned = self.person.put(f"/conversations/{self._room(one)}/agent", json={"agent": made["slug"]})
        assert assigned.status_code == 200, assigned.text


def told(person: Person, rooms: list[str]) -> dict[str, Any]:
    """All that the person has: transcripts, memories, documents, contents of files."""
    query = {"format": "json", "include": ",".join(INCLUDED)}
    exported = [person.get("/api/export", query_string={**query, "room": room}).json for room in rooms]
    listed = person.get("/api/vault/documents").json["documents"]
    documents = {
        each["path"]: person.get("/api/vault/document", query_string={"path": each["path"]}).json["text"]
        for each in listed
    }
    claims = person.get("/pkb/export?format=json").json
    agents = [without(each, {"updated_at", "created_at"}) for each in person.get("/api/agents").json]
    files = [
        person.get(f"/attachments/{part['attachment_id']}").get_data()
        for room in rooms
        for message in person.get(f"/list_messages_by_conversation/{room}").json
        for part in message["parts"]
        if "attachment_id" in part
    ]
    return {
        "transcripts": [without(each, _OF_ONE_SERVER) for each in exported],
        "documents": documents,
        "memories": without(claims, _OF_ONE_SERVER),
        "files": files,
        "agents": [each for each in agents if each["slug"] != GLOBAL_SLUG],
    }


def without(value: Any, names: set[str]) -> Any:
    """A JSON value without the fields of these names, at any depth."""
    if isinstance(value, dict):
        return {name: without(each, names) for name, each in value.items() if name not in names}
    return [without(each, names) for each in value] if isinstance(value, list) else value


def texts_of(person: Person, names: list[str], model: ScriptedChatModel) -> list[str]:
    """What a model gets of these references, each item as it stands in the prompt."""
    found = []
    room = person.new_conversation()
    for start in range(0, len(names), 10):
        person.say(room, f"Compare {' and '.join(names[start : start + 10])} now")
        found += sorted(_REFERENCED.findall(str(model.prompts[-1][-1]["content"])))
    return found


@examples(5)
@given(steps=steps)
@example(steps=[("conversation", 0, 0)])
@example(steps=[("conversation", 0, 0), ("say", 0, 0), ("conversation", 0, 0), ("reply", 1, 0), ("reply", 0, 0)])
@example(
    steps=[
        ("conversation", 0, 0),
        ("say", 0, 0),
        *[(kind, place, place) for place, kind in enumerate(KINDS)],
        ("say", 0, 9),
    ]
)
def test_an_account_is_the_same_on_an_empty_server_and_its_references_lead_to_the_same_texts(
    app: Flask,
    elsewhere: Flask,
    main_model: ScriptedChatModel,
    elsewhere_model: ScriptedChatModel,
    tmp_path: Path,
    steps: list[tuple[str, int, int]],
) -> None:
    email = f"ann{next(_numbers)}@example.org"
    state: AppState = app.extensions[EXTENSION]
    made = Account(account(app, email), state.knowledge.for_user(email))
    for each in steps:
        made.do(*each)
    names = made.names
    file = archive_of(app, made.person, tmp_path / f"{email}.zip")
    again = account(elsewhere, email)
    came = imported(elsewhere, again, file)
    assert (came["state"], came["failures"]) == ("done", [])
    assert told(again, made.rooms) == told(made.person, made.rooms)
    texts = texts_of(again, names, elsewhere_model)
    assert texts == texts_of(made.person, names, main_model)
    assert len(texts) >= len(made.message_names())
    for alias in made.aliases:
        assert any(alias in text for text in texts)
    assert imported(elsewhere, again, file)["imported"] == 0
