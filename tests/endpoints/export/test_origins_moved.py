"""What came from another program is known as that at another server, too: its later exports bring only what is new."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from Conversation import Conversation
from tests.endpoints.conftest import Person
from tests.endpoints.export.test_archive_imported import archive_of, imported, taken_back
from tests.portability.importers.exports import (
    chatgpt_conversation,
    chatgpt_node,
    chatgpt_talk,
    claude_conversation,
    claude_message,
    write_json,
    write_zip,
)
from tests.portability.imports.longer_exports import chatgpt, claude, json_lines, librechat, open_webui, zk_chat

pytestmark = pytest.mark.contract
Write = Callable[[Path, int], None]
SOURCES: list[tuple[Write, str]] = [
    (chatgpt, "conversations.json"),
    (claude, "conversations.json"),
    (open_webui, "chats.json"),
    (librechat, "librechat.json"),
    (zk_chat, "chat_sessions.json"),
    (json_lines, "lines.jsonl"),
]
NOTHING_NEW = {"imported": 0, "updated": 0, "skipped": 1, "failures": []}


@pytest.fixture
def sam(person: Callable[[str], Person]) -> Person:
    """Another one who moved there."""
    return person("sam@example.org")


@pytest.fixture
def source(tmp_path: Path) -> Callable[[int], Path]:
    """Writes an export of ChatGPT with so many turns."""

    def write(turns: int) -> Path:
        chatgpt(tmp_path / "conversations.json", turns)
        return tmp_path / "conversations.json"

    return write


def brought(app: Flask, person: Person, file: Path) -> dict[str, Any]:
    """Import a file; what its report counts."""
    came = imported(app, person, file)
    assert came["state"] == "done"
    return {name: came[name] for name in ("imported", "updated", "skipped", "failures")}


def listed(person: Person) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = person.get("/list_conversation_by_user/assistant").json
    return found


def texts(person: Person) -> list[str]:
    """The texts of the only conversation."""
    (one,) = listed(person)
    return [each["text"] for each in person.get(f"/list_messages_by_conversation/{one['conversation_id']}").json]


def talks(person: Person) -> dict[str, list[str]]:
    """The texts of all branches of each conversation, by the ids of those."""
    found = [exported(person, of=place) for place in range(len(listed(person)))]
    return {
        each["conversation"]["conversation_id"]: sorted(one["content"] for one in messages_of(each)) for each in found
    }


def origins(person: Person) -> dict[str, Any]:
    """Where the conversations of a person came from, by their ids."""
    found = [exported(person, of=place)["conversation"] for place in range(len(listed(person)))]
    return {each["conversation_id"]: each["origin"] for each in found}


def exported(person: Person, *, of: int = 0) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(
        person.get(f"/export_conversation/{listed(person)[of]['conversation_id']}?format=json").data
    )
    return found


def messages_of(export: dict[str, Any]) -> list[dict[str, Any]]:
    """All messages of an export, also those that are nested in others."""
    found, waiting = [], list(export["activities"])
    while waiting:
        each = waiting.pop(0)
        found.append(each)
        waiting += each["replies"]
    return found


def changed_in(file: Path, change: Callable[[dict[str, Any]], None], to: Path) -> Path:
    """The archive with its conversations changed."""
    with zipfile.ZipFile(file) as archive, zipfile.ZipFile(to, "w") as made:
        for name in archive.namelist():
            content = archive.read(name)
            if name.startswith("conversations/") and name.endswith(".json"):
                export = json.loads(content)
                change(export)
                content = json.dumps(export).encode()
            made.writestr(name, content)
    return to


@pytest.mark.parametrize(("write", "name"), SOURCES)
def test_each_source_is_known_again_in_an_empty_account(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, write: Write, name: str
) -> None:
    file = tmp_path / name
    write(file, 2)
    assert brought(app, ada, file)["imported"] == 1
    assert brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))["failures"] == []
    before = texts(eve)
    assert brought(app, eve, file) == NOTHING_NEW
    write(file, 3)
    assert brought(app, eve, file) == {**NOTHING_NEW, "updated": 1, "skipped": 0}
    assert texts(eve)[: len(before)] == before
    assert len(texts(eve)) == len(before) + 2
    assert brought(app, eve, file) == NOTHING_NEW


@pytest.mark.parametrize("form", ["json", "bundle"])
def test_a_conversation_that_is_taken_along_alone_is_known_again(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path], form: str
) -> None:
    brought(app, ada, source(2))
    one = tmp_path / f"one.{form}"
    one.write_bytes(ada.get(f"/export_conversation/{listed(ada)[0]['conversation_id']}?format={form}").data)
    assert brought(app, eve, one)["imported"] == 1
    assert brought(app, eve, source(2)) == NOTHING_NEW
    assert brought(app, eve, source(3))["updated"] == 1
    assert len(texts(eve)) == 6


def test_what_the_person_wrote_and_changed_before_the_move_stays(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    conversation_id = listed(ada)[0]["conversation_id"]
    ada.say(conversation_id, "And here?")
    assert ada.put(f"/conversations/{conversation_id}/title", json={"title": "My own"}).status_code == 200
    brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    before = texts(eve)
    assert before[2] == "And here?"
    assert brought(app, eve, source(1)) == NOTHING_NEW
    assert brought(app, eve, source(2))["updated"] == 1
    (one,) = listed(eve)
    assert one["title"] == "My own"
    assert texts(eve) == before  # what is new there is a branch beside what the person went on with
    assert len(messages_of(exported(eve))) == len(before) + 2


def test_variants_and_branches_are_known_again(app: Flask, ada: Person, eve: Person, tmp_path: Path) -> None:
    file = tmp_path / "conversations.json"
    nodes = [
        chatgpt_node("q1", None, "user", "How much?"),
        chatgpt_node("a1", "q1", "assistant", "Two.", seconds=1),
        chatgpt_node("a1b", "q1", "assistant", "Three.", seconds=2),
        chatgpt_node("q2", "a1", "user", "Why?", seconds=3),
        chatgpt_node("q2b", "a1", "user", "Really?", seconds=4),
        chatgpt_node("q3", "a1b", "user", "So many?", seconds=5),
    ]
    write_json(file, [chatgpt_conversation(*nodes, current="q2b")])
    brought(app, ada, file)
    brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    before = messages_of(exported(eve))
    assert brought(app, eve, file) == NOTHING_NEW
    assert [each["id"] for each in messages_of(exported(eve))] == [each["id"] for each in before]


def test_an_archive_stands_beside_what_the_account_has_of_the_same_source(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, eve, source(1))
    ((own, before),) = talks(eve).items()
    brought(app, ada, source(2))
    ada.say(listed(ada)[0]["conversation_id"], "And here?")
    (moved,) = talks(ada).values()
    archive = archive_of(app, ada, tmp_path / "all.zip")
    came = brought(app, eve, archive)
    assert (came["imported"], came["updated"], came["failures"]) == (1, 0, [])
    (other,) = talks(eve).keys() - {own}
    assert talks(eve) == {own: before, other: moved}
    assert (origins(eve)[own]["id"], origins(eve)[other]) == ("talk-1", None)
    again = brought(app, eve, archive)
    assert (again["imported"], again["updated"], again["failures"]) == (0, 0, [])
    assert brought(app, eve, source(3)) == {**NOTHING_NEW, "updated": 1, "skipped": 0}
    assert (len(talks(eve)[own]), talks(eve)[other]) == (6, moved)


def test_taking_back_what_the_source_brought_leaves_what_the_archive_brought(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, eve, source(1))
    brought(app, ada, source(1))
    ada.say(listed(ada)[0]["conversation_id"], "And here?")
    archive = archive_of(app, ada, tmp_path / "all.zip")
    brought(app, eve, archive)
    assert taken_back(app, eve, archive, nth=1) == []
    assert list(talks(eve).values()) == list(talks(ada).values())


@pytest.mark.parametrize("name", ["lines.jsonl", "chat_sessions.json"])
def test_conversations_of_equal_names_at_their_sources_both_stand(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, name: str
) -> None:
    def write(*said: str) -> Path:
        roles = ["user", "assistant"] * len(said)
        if name.endswith(".jsonl"):
            lines = [{"conversation": "1", "role": role, "text": text} for role, text in zip(roles, said, strict=False)]
            (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in lines))
            return tmp_path / name
        told = [
            {"role": role, "content": text, "timestamp": f"2026-01-01T00:00:0{place}"}
            for place, (role, text) in enumerate(zip(roles, said, strict=False))
        ]
        write_json(tmp_path / name, {"default": {"messages": told, "created_at": "2026-01-01T00:00:00"}})
        return tmp_path / name

    boats, cakes = ["About boats", "Boats float.", "More boats", "They sail."], ["About cakes", "Cakes rise."]
    brought(app, ada, write(*boats))
    brought(app, eve, write(*cakes))
    came = brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    assert (came["imported"], came["failures"]) == (1, [])
    assert sorted(talks(eve).values()) == [sorted(boats), sorted(cakes)]


def test_questions_in_other_branches_come_in_beside_what_the_account_has_of_the_same_source(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    conversation_id = listed(ada)[0]["conversation_id"]
    ada.say(conversation_id, "And here?")
    brought(app, ada, source(2))
    first = next(each["id"] for each in messages_of(exported(ada)) if each["content"] == "And here?")
    assert ada.put(f"/branch/{first}/2").status_code == 200
    ada.say(conversation_id, "Behind two")
    brought(app, eve, source(2))
    before = talks(eve)
    came = brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    assert (came["imported"], came["failures"]) == (1, [])
    assert sorted(talks(eve).values()) == sorted([*before.values(), *talks(ada).values()])


def test_an_archive_whose_conversation_lies_in_the_bin_changes_none_of_the_same_source(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    ada.say(listed(ada)[0]["conversation_id"], "And here?")
    archive = archive_of(app, ada, tmp_path / "all.zip")
    brought(app, eve, source(1))
    before = talks(eve)
    brought(app, eve, archive)
    (moved,) = talks(eve).keys() - before.keys()
    assert eve.delete(f"/delete_conversation/{moved}").status_code == 200
    came = brought(app, eve, archive)
    (failure,) = came["failures"]
    assert (came["imported"], came["updated"], failure["item"]) == (0, 0, listed(ada)[0]["title"])
    assert talks(eve) == before


def test_an_archive_that_calls_messages_as_their_source_does_comes_in_without_the_origin(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    def write(count: int) -> Path:
        names = [f"00000000-0000-4000-8000-00000000000{number}" for number in range(1, count + 1)]
        nodes = [
            chatgpt_node(name, above, "assistant" if place % 2 else "user", f"text {place}", seconds=place)
            for place, (name, above) in enumerate(zip(names, [None, *names], strict=False))
        ]
        write_json(tmp_path / "conversations.json", [chatgpt_conversation(*nodes)])
        return tmp_path / "conversations.json"

    def rename(export: dict[str, Any]) -> None:
        text = json.dumps(export)
        for each in messages_of(export):
            text = text.replace(each["id"], each["message"]["origins"][0]["id"])
        export |= json.loads(text)

    brought(app, ada, write(2))
    archive = changed_in(archive_of(app, ada, tmp_path / "all.zip"), rename, tmp_path / "renamed.zip")
    came = brought(app, eve, archive)
    assert (came["imported"], came["failures"]) == (1, [])
    assert list(origins(eve).values()) == [None]
    came = brought(app, eve, write(4))
    assert (came["imported"], came["failures"]) == (1, [])
    assert sorted(map(len, talks(eve).values())) == [2, 4]


def test_references_lead_to_the_conversation_that_came_along(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    friendly_id = listed(ada)[0]["conversation_friendly_id"]
    citing = ada.new_conversation()
    ada.say(citing, f"What did @conversation_{friendly_id}_message_1 say?")
    brought(app, eve, source(1))
    (own,) = talks(eve)
    came = brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    assert (came["imported"], came["failures"]) == (2, [])
    (moved,) = [name for name, said in talks(eve).items() if name != own and "Question 1 of 1" in said]
    (other,) = talks(eve).keys() - {own, moved}
    question = eve.get(f"/list_messages_by_conversation/{other}").json[0]
    (target,) = [each["target"] for each in question["references"]]
    first = eve.get(f"/list_messages_by_conversation/{moved}").json[0]
    assert (target["conversation_id"], target["message_id"]) == (moved, first["message_id"])


def test_an_archive_twice_and_the_archive_of_an_archive_keep_the_origins(
    app: Flask, ada: Person, eve: Person, sam: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(2))
    archive = archive_of(app, ada, tmp_path / "all.zip")
    brought(app, eve, archive)
    assert brought(app, eve, archive)["imported"] == 0
    assert brought(app, eve, source(2)) == NOTHING_NEW
    brought(app, sam, archive_of(app, eve, tmp_path / "again.zip"))
    assert exported(sam)["conversation"]["origin"] == exported(ada)["conversation"]["origin"]
    assert [each["message"]["origins"] for each in messages_of(exported(sam))] == [
        each["message"]["origins"] for each in messages_of(exported(ada))
    ]
    assert brought(app, sam, source(2)) == NOTHING_NEW
    assert brought(app, sam, source(3))["updated"] == 1
    assert len(texts(sam)) == 6


def test_an_archive_of_before_comes_in_and_a_newer_one_brings_the_origins(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    def without(export: dict[str, Any]) -> None:
        del export["conversation"]["origin"]
        for each in messages_of(export):
            del each["message"]["origins"]

    brought(app, ada, source(2))
    archive = archive_of(app, ada, tmp_path / "all.zip")
    earlier = changed_in(archive, without, tmp_path / "earlier.zip")
    with zipfile.ZipFile(earlier) as packed:
        parts = {name: packed.read(name) for name in packed.namelist()}
    for name in ("manifest.json", "settings.json"):
        content = {**json.loads(parts[name]), "schema": 1}
        content.pop("origins", None)
        parts[name] = json.dumps(content).encode()
    with zipfile.ZipFile(earlier, "w") as packed:
        for name, content in parts.items():
            packed.writestr(name, content)
    assert brought(app, eve, earlier)["imported"] == 1
    assert exported(eve)["conversation"]["origin"] is None
    came = brought(app, eve, archive)
    assert (came["imported"], came["updated"], came["failures"]) == (0, 0, [])
    assert brought(app, eve, source(2)) == NOTHING_NEW
    assert taken_back(app, eve, archive, nth=2) == []
    assert listed(eve) == []


def test_moves_are_taken_back(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(2))
    conversation_id = listed(ada)[0]["conversation_id"]
    assert ada.put(f"/conversations/{conversation_id}/title", json={"title": "My own"}).status_code == 200
    archive = archive_of(app, ada, tmp_path / "all.zip")
    brought(app, eve, archive)
    assert taken_back(app, eve, archive) == []
    assert listed(eve) == []
    brought(app, eve, source(1))
    before = exported(eve)
    assert brought(app, eve, archive)["imported"] == 1
    assert taken_back(app, eve, archive) == []
    assert {**exported(eve), "exported_at": ""} == {**before, "exported_at": ""}
    assert brought(app, eve, source(2))["updated"] == 1
    assert len(texts(eve)) == 4


HOSTILE: list[Any] = [
    None,
    "chatgpt",
    7,
    [],
    {},
    {"source": "chatgpt"},
    {"source": "chatgpt", "id": 7},
    {"source": "chatgpt", "id": ""},
    {"source": "chatgpt", "id": "a\u0000b"},
    {"source": "chatgpt", "id": "a" * 100_000},
    {"source": "account", "id": "c1"},
    {"source": "../x", "id": "c1"},
    {"source": ["chatgpt"], "id": {"a": 1}},
]


@pytest.mark.parametrize("origin", HOSTILE)
def test_an_origin_that_makes_no_sense_is_left_out_and_the_conversation_comes_in(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path], origin: Any
) -> None:
    def spoil(export: dict[str, Any]) -> None:
        export["conversation"]["origin"] = origin
        for each in messages_of(export):
            each["message"]["origins"] = [origin, {"id": origin, "variant": origin, "digest": origin}]

    brought(app, ada, source(1))
    archive = changed_in(archive_of(app, ada, tmp_path / "all.zip"), spoil, tmp_path / "spoilt.zip")
    came = brought(app, eve, archive)
    assert (came["imported"], came["failures"]) == (1, [])
    assert exported(eve)["conversation"]["origin"] is None
    assert brought(app, eve, source(1))["imported"] == 1


def test_ten_thousand_and_doubled_origins_of_messages_come_to_one_a_version(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    odd: list[Any] = [
        7,
        None,
        [],
        {"id": 7, "variant": 1},
        {"id": "x", "variant": True},
        {"id": "a\u0000", "variant": 1},
    ]

    def spoil(export: dict[str, Any]) -> None:
        said = messages_of(export)
        for each in said:
            own = [{"id": f"o{number}", "variant": number, "digest": "zz"} for number in range(1, 10_001)]
            each["message"]["origins"] = [*odd, *own, {"id": said[0]["id"], "variant": 1, "digest": 7}]

    brought(app, ada, source(1))
    archive = changed_in(archive_of(app, ada, tmp_path / "all.zip"), spoil, tmp_path / "spoilt.zip")
    assert brought(app, eve, archive)["failures"] == []
    found = [each["message"].get("origins") for each in messages_of(exported(eve))]
    assert found == [[{"id": "o1", "variant": 1, "digest": ""}], None]
    assert brought(app, eve, source(1))["failures"] == []


def test_origins_that_another_account_has_stay_with_it(
    app: Flask, ada: Person, eve: Person, sam: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(2))
    before = exported(ada)
    brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    ids = {each["id"] for each in messages_of(before)}
    assert ids.isdisjoint(each["id"] for each in messages_of(exported(eve)))
    brought(app, eve, source(3))
    brought(app, sam, source(1))
    assert {**exported(ada), "exported_at": ""} == {**before, "exported_at": ""}
    assert (len(texts(ada)), len(texts(eve)), len(texts(sam))) == (4, 6, 2)


def test_shared_pages_and_copies_of_them_do_not_say_what_other_programs_call_anything(
    app: Flask, ada: Person, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    node = chatgpt_node("zqxquestion", None, "user", "How much?")
    write_json(file, [chatgpt_conversation(node, conversation_id="zqxtalk")])
    brought(app, ada, file)
    (one,) = listed(ada)
    assert "zqxtalk" in json.dumps(exported(ada))
    assert "zqxquestion" in json.dumps(exported(ada))
    url = ada.post(f"/share/{one['conversation_id']}").json["url"]
    seen = [ada.get(url), ada.get(url, headers={"Accept": "text/html"})]
    assert all(b"How much?" in each.data and b"zqx" not in each.data for each in seen)
    for fmt in ("markdown", "html"):
        assert b"zqx" not in ada.get(f"/export_conversation/{one['conversation_id']}?format={fmt}").data


def test_documents_and_folders_of_projects_are_known_again(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    project = {"uuid": "p1", "name": "Boat", "docs": [{"uuid": "d1", "filename": "rig.md", "content": "# Rig"}]}
    gone = {"uuid": "p2", "name": "House", "docs": []}

    def claude_of(*talks: str) -> Path:
        told = [
            claude_conversation(
                claude_message("m1", "human", "Hello"), conversation_id=talk, name=talk, project={"uuid": "p1"}
            )
            for talk in talks
        ]
        parts = {"conversations.json": told, "projects.json": [project, gone]}
        return write_zip(tmp_path / "claude.zip", parts)

    brought(app, ada, claude_of("Sails"))
    rig, text = "/api/vault/document?path=Boat/rig.md", "# Rig of mine"
    version = ada.get(rig).json["version"]
    assert ada.put(rig, json={"text": text}, headers={"If-Match": f'"{version}"'}).status_code == 200
    folders = {each["workspace_name"]: each["workspace_id"] for each in ada.get("/list_workspaces/assistant").json}
    assert ada.put(f"/update_workspace/{folders['Boat']}", json={"workspace_name": "Yacht"}).status_code == 200
    assert ada.delete(f"/delete_workspace/assistant/{folders['House']}").status_code == 200
    archive = archive_of(app, ada, tmp_path / "all.zip")
    brought(app, eve, archive)
    came = brought(app, eve, claude_of("Sails", "Ropes"))
    assert (came["imported"], came["failures"]) == (1, [])
    paths = [each["path"] for each in eve.get("/api/vault/documents").json["documents"]]
    assert paths == ["Boat/rig.md"]
    names = {each["workspace_id"]: each["workspace_name"] for each in eve.get("/list_workspaces/assistant").json}
    assert {each["title"]: names[each["workspace_id"]] for each in listed(eve)} == {
        "Sails": "Yacht",
        "Ropes": "Yacht",
    }
    assert "House" not in names.values()


def test_a_message_that_was_edited_before_the_move_stays_so(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    (one,) = listed(ada)
    question = ada.get(f"/list_messages_by_conversation/{one['conversation_id']}").json[0]
    edited = ada.post(
        f"/edit_message_from_conversation/{one['conversation_id']}/{question['message_id']}/1",
        json={"text": "My own words"},
    )
    assert edited.status_code == 200
    brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    assert brought(app, eve, source(1)) == NOTHING_NEW
    file = source(2)
    file.write_text(file.read_text().replace("Question 1 of 1", "Changed there").replace("Answer 1 of 1", "Better."))
    assert brought(app, eve, file)["updated"] == 1
    assert texts(eve)[:2] == ["My own words", "Better."]


def test_a_conversation_in_the_bin_stays_there_and_the_one_of_the_archive_comes_in(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(1))
    brought(app, eve, source(1))
    (binned,) = listed(eve)
    assert eve.delete(f"/delete_conversation/{binned['conversation_id']}").status_code == 200
    came = brought(app, eve, archive_of(app, ada, tmp_path / "all.zip"))
    assert (came["imported"], came["failures"]) == (1, [])
    assert exported(eve)["conversation"]["origin"] is None
    (failure,) = brought(app, eve, source(1))["failures"]
    assert failure["item"] == "Talk 1"
    assert len(listed(eve)) == 1


def test_two_conversations_of_an_archive_that_claim_one_origin_come_in_and_one_has_it(
    app: Flask, ada: Person, eve: Person, tmp_path: Path
) -> None:
    file = tmp_path / "conversations.json"
    write_json(file, [chatgpt_talk(1), chatgpt_talk(2)])
    brought(app, ada, file)

    def claim(export: dict[str, Any]) -> None:
        export["conversation"]["origin"]["id"] = "talk-1"
        for number, each in enumerate(messages_of(export)):
            each["message"]["origins"] = [{"id": f"node-{number}", "variant": 1, "digest": ""}]

    archive = changed_in(archive_of(app, ada, tmp_path / "all.zip"), claim, tmp_path / "spoilt.zip")
    came = brought(app, eve, archive)
    assert (came["imported"], came["failures"], len(listed(eve))) == (2, [], 2)
    assert sum(exported(eve, of=place)["conversation"]["origin"] is not None for place in (0, 1)) == 1
    assert brought(app, eve, archive)["imported"] == 0


def test_a_bundle_that_is_opened_and_saved_again_keeps_its_origins(
    app: Flask, ada: Person, eve: Person, tmp_path: Path, source: Callable[[int], Path]
) -> None:
    brought(app, ada, source(2))
    name = listed(ada)[0]["conversation_id"]
    file = tmp_path / "bundle.zip"
    file.write_bytes(ada.get(f"/export_conversation/{name}?format=bundle").data)
    with zipfile.ZipFile(file) as packed:
        packed.extractall(tmp_path / "opened")
    folder = Conversation.load_local(tmp_path / "opened" / name).save_local(tmp_path / "saved" / name)
    with zipfile.ZipFile(file, "w") as packed:
        for each in sorted(folder.iterdir()):
            packed.write(each, f"{name}/{each.name}")
    assert brought(app, eve, file)["imported"] == 1
    assert exported(eve)["conversation"]["origin"] == exported(ada)["conversation"]["origin"]
    assert brought(app, eve, source(2)) == NOTHING_NEW


def test_the_user_guide_names_no_gap_any_more() -> None:
    guide = Path("documentation/user_guide.md").read_text(encoding="utf-8")
    assert "second time" not in guide
    said = " ".join(guide.split())
    assert "its later exports bring only what is new at the new place, too" in said
    assert "stands beside it" in said
