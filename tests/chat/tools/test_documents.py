"""The tools that read documents; numbers in names of tests are rows of the fourth seed, whose pages are documents."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from chat.tools.calling.loop import ToolLoop
from chat.tools.catalogue import all_tools
from chat.tools.results import fitted_result
from database.accounts.users import create_user
from endpoints.http.errors import code_of
from language_models.testing import Prompt, Reply, ScriptedChatModel, calling
from tests.chat.conftest import EMAIL, Talk, joined
from vault.documents import Vaults

Call = Callable[..., dict[str, Any]]
EVE = "eve@example.com"
LINES = [f"line {number}" for number in range(1, 13)]


@pytest.fixture
def vaults(talk: Talk) -> Vaults:
    """Vaults of two people; Ada has a garden plan of twelve lines and a note."""
    for email in (EMAIL, EVE):
        create_user(database=talk.database, user_email=email, password="correct horse battery")
    made = Vaults(database=talk.database)
    put(made, EMAIL, "garden plan.md", "\n".join(LINES) + "\n")
    put(made, EMAIL, "notes/soil.md", "# Soil\n\nClay and compost.\n")
    put(made, EVE, "secret.md", "clay of Eve\n")
    talk.configure(vaults=made)
    return made


def put(vaults: Vaults, email: str, path: str, text: str) -> None:
    """Write a document as another program would, and let the index follow."""
    vault = vaults.of(email)
    file = Path(vault.root, path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    list(vault.refresh())


@pytest.fixture
def read(vaults: Vaults, call: Call) -> Call:
    """Reads the garden plan: read(lineStart=3)."""
    assert vaults

    def make(**arguments: Any) -> dict[str, Any]:
        return call("read_document", **{"relative_path": "garden plan.md", **arguments})

    return make


def numbered(first: int, last: int) -> str:
    """Lines of the garden plan as they are read."""
    return "\n".join(f"{number}→line {number}" for number in range(first, last + 1))


def test_2_1_without_lines_the_whole_document_is_read(read: Call) -> None:
    assert read() == {
        "success": True,
        "path": "garden plan.md",
        "title": "garden plan",
        "content": numbered(1, 12),
        "totalLines": 12,
        "rangeStart": 1,
        "rangeEnd": 12,
    }


@pytest.mark.parametrize(
    ("asked", "first", "last"),
    [
        pytest.param({"lineStart": 3, "lineEnd": 5}, 3, 5, id="2.2"),
        pytest.param({"lineStart": 10}, 10, 12, id="2.3"),
        pytest.param({"lineEnd": 2}, 1, 2, id="2.4"),
        pytest.param({"lineStart": 11, "lineEnd": 99}, 11, 12, id="2.6"),
    ],
)
def test_2_2_to_2_6_a_range_is_read(read: Call, asked: dict[str, int], first: int, last: int) -> None:
    told = read(**asked)
    assert (told["content"], told["rangeStart"], told["rangeEnd"]) == (numbered(first, last), first, last)
    assert told["totalLines"] == 12


def test_2_5_a_range_beyond_the_end_is_empty_and_says_so(read: Call) -> None:
    told = read(lineStart=40)
    assert (told["success"], told["content"]) == (True, "")
    assert (told["rangeStart"], told["rangeEnd"]) == (None, None)
    assert told["rangeMessage"] == "Line 40 is beyond the end (12 lines)."


def test_2_7_a_range_that_ends_before_it_begins_is_an_error(read: Call) -> None:
    told = read(lineStart=5, lineEnd=3)
    assert told["error"] == {"code": "bad_request", "message": "lineStart (5) is after lineEnd (3)."}


@pytest.mark.parametrize("wrong", [{"lineStart": -1}, {"lineEnd": 0}, {"lineStart": "3"}, {"lineEnd": True}])
def test_2_8_what_is_no_line_is_an_error(read: Call, wrong: dict[str, Any]) -> None:
    told = read(**wrong)
    assert told["error"]["code"] == "bad_request"
    assert told["error"]["message"].startswith(next(iter(wrong)))


def test_a_model_that_goes_on_where_it_is_told_reads_a_long_document_whole(talk: Talk, vaults: Vaults) -> None:
    lines = [f'Zeile {number}: „so ärgerlich wie "番茄"“' for number in range(1, 1_201)]
    put(vaults, EMAIL, "long.md", "\n".join(lines) + "\n")

    def reply(prompt: Prompt) -> Reply:
        read = [orjson.loads(each["content"]) for each in prompt if each["role"] == "tool"]
        if read and not read[-1].get("truncated"):
            return Reply("I have read it.")
        start = int(read[-1]["rangeMessage"].partition("lineStart ")[2].rstrip(".")) if read else 1
        arguments = orjson.dumps({"path": "long.md", "lineStart": start}).decode()
        return Reply(calling(("read_document", arguments)), finish_reason="tool_calls")

    model = ScriptedChatModel(replies=reply, calls_tools=True, context_window=32_000)
    talk.models.main_model = model
    talk.configure(tools=ToolLoop(all_tools(code_of=code_of)))
    assert joined(talk.say(talk.new(), "Read all of it, please")) == "I have read it."
    pieces = [orjson.loads(each["content"])["content"] for each in model.prompts[-1] if each["role"] == "tool"]
    assert len(pieces) > 2
    assert "\n".join(pieces) == "\n".join(f"{number}→{line}" for number, line in enumerate(lines, 1))


@pytest.mark.parametrize("name", ["notes/soil.md", "[[soil]]", "[[notes/soil|the soil]]", "soil"])
def test_a_document_is_named_by_path_or_link(vaults: Vaults, call: Call, name: str) -> None:
    assert vaults
    for tool in ("read_document", "read_zk_document", "read_page"):
        told = call(tool, path=name)
        assert (told["path"], told["content"]) == ("notes/soil.md", "1→# Soil\n2→\n3→Clay and compost.")


@pytest.mark.parametrize("name", ["missing.md", "[[missing]]", "secret.md", "[[secret]]"])
def test_what_is_missing_or_foreign_is_not_found(vaults: Vaults, call: Call, name: str) -> None:
    assert vaults
    told = call("read_document", path=name)
    assert (told["success"], told["error"]["code"]) == (False, "document_not_found")


@pytest.mark.parametrize("name", ["../secret.md", "/etc/passwd", "notes/../../x.md"])
def test_paths_out_of_the_vault_are_refused(vaults: Vaults, call: Call, name: str) -> None:
    assert vaults
    assert call("read_document", path=name)["error"]["code"] == "path_refused"
    assert call("read_document")["error"]["code"] == "bad_request"


@pytest.mark.parametrize("name", ["[[./a]]", "[[../a]]", "./a", "x/../a.md"])
def test_a_relative_link_asks_for_the_whole_path(vaults: Vaults, call: Call, name: str) -> None:
    for path in ("a.md", "x/a.md"):
        vaults.of(EMAIL).write(path, path, version=None)
    refused = call("read_document", path=name)
    assert (refused["error"]["code"], refused["error"]["message"][-15:]) == ("path_refused", "its whole path.")


def test_5_1_documents_and_conversations_are_searched_together(talk: Talk, vaults: Vaults, call: Call) -> None:
    assert vaults
    conversation = talk.about("Beds", ("Is clay any good?", "With compost"))
    told = call("regex_search", pattern="(?i)clay")
    document, message = told["matches"]
    assert document == {
        "type": "document",
        "title": "Soil",
        "path": "notes/soil.md",
        "lineNumber": 3,
        "matchPreview": "Clay and compost.",
        "suggestedLineRange": {"start": 1, "end": 3},
        "reference": "[[notes/soil]]",
    }
    assert (message["type"], message["conversationId"]) == ("conversation", conversation.conversation_id)


def test_5_2_documents_alone_can_be_searched(talk: Talk, vaults: Vaults, call: Call) -> None:
    assert vaults
    talk.about("Line", ("line 1", "line 2"))
    told = call("regex_search", pattern=r"^line \d+$", contentTypes=["documents"], maxResults=5)
    assert [match["lineNumber"] for match in told["matches"]] == [1, 2, 3, 4, 5]
    assert {match["type"] for match in told["matches"]} == {"document"}
    assert told["truncated"]
    both = call("regex_search", pattern=r"^line \d+$", maxResults=6)
    assert [match["type"] for match in both["matches"]] == ["document"] * 4 + ["conversation"] * 2
    (title,) = call("regex_search", pattern="^garden", searchIn="title")["matches"]
    assert (title["path"], title["lineNumber"], title["suggestedLineRange"]) == ("garden plan.md", None, None)


def test_a_link_is_a_reference_too(vaults: Vaults, call: Call) -> None:
    assert vaults
    told = call("resolve_reference", reference="[[soil]]")
    assert (told["kind"], told["title"]) == ("document", "Soil")
    assert told["items"][0]["content"] == "# Soil\n\nClay and compost.\n"
    assert call("resolve_reference", reference="[[secret]]")["error"]["code"] == "document_not_found"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a line\n" * 400, "Cut: there was no room for more. Read the rest with read_document."),
        (
            "word " * 400 + "\nsecond\nthird\n",
            "Cut: there was no room for more. A line is too long to be shown whole; read_document shows the others.",
        ),
    ],
)
def test_a_document_that_is_cut_says_what_can_still_be_read(
    vaults: Vaults, call: Call, text: str, message: str
) -> None:
    put(vaults, EMAIL, "long.md", text)
    told = call("resolve_reference", reference="[[long]]", max_chars=1_000)
    assert (told["truncated"], told["rangeMessage"]) == (True, message)
    first = fitted_result(call("read_document", path="long.md", max_chars=1_000), 1_000)
    rest = fitted_result(call("read_document", path="long.md", lineStart=first["nextLine"], max_chars=1_000), 1_000)
    assert rest["content"].startswith(f"{first['rangeEnd'] + 1}→")


def test_without_a_vault_there_are_no_documents(call: Call) -> None:
    assert call("read_document", path="a.md")["error"]["code"] == "vault_unavailable"
    assert call("regex_search", pattern="anything")["matches"] == []


@pytest.mark.parametrize(
    "name", ["find_excerpts", "find_documents", "find_zk_documents", "find_zk_documents_related_to"]
)
def test_documents_are_found_by_what_they_say(vaults: Vaults, call: Call, name: str) -> None:
    assert vaults
    told = call(name, query="compost")
    (hit,) = told["results"]
    assert (told["success"], told["truncated"]) == (True, False)
    assert (hit["document_id"], hit["relative_path"], hit["title"]) == ("notes/soil.md", "notes/soil.md", "Soil")
    assert "compost" in hit["text"]
    assert hit["lineStart"] <= 3 <= hit["lineEnd"]
    assert call(name, query="clay of Eve", email=EVE)["results"][0]["relative_path"] == "secret.md"
    assert call(name, query=" ")["error"]["code"] == "bad_request"


def test_a_document_that_no_link_can_name_is_named_by_its_path(vaults: Vaults, call: Call) -> None:
    put(vaults, EMAIL, "Übung #1.md", "# Übung\n\nZebras.\n")
    (found,) = call("find_documents", query="Zebras", n=1)["results"]
    (match,) = call("regex_search", pattern="Zebras", contentTypes=["documents"])["matches"]
    for named in (found, match):
        assert named["reference"] == "Übung #1.md"
        assert "Zebras." in call("read_document", path=named["reference"])["content"]
    (other,) = call("regex_search", pattern="compost", contentTypes=["documents"])["matches"]
    assert other["reference"] == "[[notes/soil]]"
