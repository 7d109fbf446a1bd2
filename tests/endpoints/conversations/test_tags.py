"""Tags of conversations, and lists of those that have a tag, lie in a workspace, or have words in their title."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest
from sqlalchemy import insert

from Conversation import Conversation
from database.connection import open_store
from database.schema import conversation_tags
from settings import Settings
from tests.endpoints.conftest import Person, refused

pytestmark = pytest.mark.contract


def tag(person: Person, conversation_id: str, *tags: str) -> list[str]:
    answer = person.put(f"/conversations/{conversation_id}/tags", json={"tags": tags})
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return list(answer.json["tags"])


def listed(person: Person, **query: Any) -> list[str]:
    answer = person.get("/list_conversation_by_user/assistant", query_string=query)
    assert answer.status_code == 200, answer.get_data(as_text=True)
    return [each["conversation_id"] for each in answer.json]


def test_tags_are_listed_counted_and_told(ada: Person, eve: Person) -> None:
    first, second = ada.new_conversation(), ada.new_conversation()
    assert tag(ada, first, " to  read ", "Work", "work") == ["to read", "Work"]
    assert tag(ada, second, "Work") == ["Work"]
    tag(eve, eve.new_conversation(), "Hers")
    assert {each["conversation_id"]: each["tags"] for each in ada.get("/list_conversation_by_user/assistant").json} == {
        first: ["to read", "Work"],
        second: ["Work"],
    }
    assert ada.get(f"/get_conversation_details/{first}").json["tags"] == ["to read", "Work"]
    assert ada.get("/conversation_tags/assistant").json == [
        {"tag": "to read", "conversation_count": 1},
        {"tag": "Work", "conversation_count": 2},
    ]
    events = [orjson.loads(line) for line in next(ada.get("/events?after=2").iter_encoded()).splitlines()]
    assert [each["fields"] for each in events] == [{"tags": ["to read", "Work"]}, {"tags": ["Work"]}]
    assert tag(ada, second) == []
    ada.delete(f"/delete_conversation/{first}")
    assert ada.get("/conversation_tags/assistant").json == []


def test_a_tag_is_one_whatever_its_case_and_the_form_of_its_characters(
    ada: Person, eve: Person, settings: Settings
) -> None:
    composed, decomposed = "K\u00fcche", "ku\u0308che"
    first, second, third = ada.new_conversation(), ada.new_conversation(), ada.new_conversation()
    tag(eve, eve.new_conversation(), "KÜCHE")
    assert tag(ada, first, composed, "KÜCHE", decomposed) == [composed]
    assert tag(ada, second, decomposed) == ["k\u00fcche"]
    # As versions before have stored it.
    row = {"conversation_id": third, "tag": decomposed, "user_email": ada.email}
    open_store(settings.users_dir).write(lambda connection: connection.execute(insert(conversation_tags), row))
    for asked in ("k\u00fcche", "K\u00dcCHE", decomposed, " Küche "):
        assert listed(ada, tag=asked) == [third, second, first]
        assert listed(ada, tag=asked, limit=1) == [third]
    assert ada.get("/conversation_tags/assistant").json == [{"tag": composed, "conversation_count": 3}]


def test_lists_are_narrowed_by_tag_workspace_and_words_and_go_on_page_by_page(ada: Person, eve: Person) -> None:
    place = ada.post("/create_workspace/assistant/Trips", json={}).json["workspace_id"]
    found = {}
    for number, title in enumerate(["Über den Rhein", "Rhine cruise", "ÜBERMORGEN am Rhein", "Soup"]):
        home = f"/create_conversation/assistant/{place if number % 2 else ''}"
        found[title] = ada.post(home).json["conversation_id"]
        ada.put(f"/conversations/{found[title]}/title", json={"title": title})
        tag(ada, found[title], "river" if "Rh" in title else "food")
    upon, cruise, later, soup = found.values()
    assert listed(ada, tag="river") == [later, cruise, upon]
    assert listed(ada, tag="river", workspace_id=place) == [cruise]
    assert listed(ada, workspace_id=place) == [soup, cruise]
    assert listed(ada, workspace_id=f"default_{ada.email}_assistant") == [later, upon]
    assert listed(ada, q="rhein über") == listed(ada, q="uber RHEIN") == [later, upon]
    assert listed(ada, q="nothing of it") == listed(ada, tag="none") == []
    page = ada.get("/list_conversation_by_user/assistant?q=rhein&limit=1")
    following = ada.get(page.headers["Link"].partition(">")[0].lstrip("<"))
    assert [each["conversation_id"] for each in (*page.json, *following.json)] == [later, upon]
    assert "Link" not in following.headers
    for person, workspace_id in ((ada, "no such"), (eve, place)):
        answer = person.get("/list_conversation_by_user/assistant", query_string={"workspace_id": workspace_id})
        assert refused(answer) == (404, "workspace_not_found")


@pytest.mark.parametrize("tags", [[" "], ["x" * 51], ["a\nb\x07"], [3], [str(number) for number in range(21)], "work"])
def test_what_can_be_no_tag_is_refused(tags: Any, ada: Person) -> None:
    conversation_id = ada.new_conversation()
    tag(ada, conversation_id, "kept")
    assert refused(ada.put(f"/conversations/{conversation_id}/tags", json={"tags": tags})) == (400, "bad_request")
    assert ada.get(f"/get_conversation_details/{conversation_id}").json["tags"] == ["kept"]


def test_copies_and_files_have_the_tags_too(ada: Person, tmp_path: Path) -> None:
    conversation_id = ada.new_conversation()
    ada.say(conversation_id, "Hello")
    tag(ada, conversation_id, "one", "two")
    copy = ada.post(f"/clone_conversation/{conversation_id}").json["conversation_id"]
    assert ada.get(f"/get_conversation_details/{copy}").json["tags"] == ["one", "two"]
    exported = ada.get(f"/export_conversation/{conversation_id}?format=json")
    assert orjson.loads(exported.get_data())["conversation"]["tags"] == ["one", "two"]
    bundle = ada.get(f"/export_conversation/{conversation_id}?format=bundle")
    zipfile.ZipFile(io.BytesIO(bundle.get_data())).extractall(tmp_path)
    opened = Conversation.load_local(tmp_path / conversation_id)
    assert opened.get_metadata()["tags"] == ["one", "two"]
