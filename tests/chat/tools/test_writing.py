"""The tools that change documents, as a model calls them: they propose, unless the person allowed writing."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from typing import Any

import orjson
import pytest
from sqlalchemy import select

from chat.tools.calling.loop import ToolLoop
from chat.tools.catalogue import all_tools
from chat.tools.registry import ToolContext, ToolRegistry
from database.accounts.users import create_user
from database.proposals import list_proposals
from database.schema import activities, conversations
from endpoints.http.errors import code_of
from language_models.testing import Reply, ScriptedChatModel, calling
from sentences import say
from tests.chat.conftest import EMAIL, Talk
from vault.documents import Vault, Vaults

CALL = calling(("write_document", orjson.dumps({"path": "plan.md", "text": "# Plan\n" * 500}).decode()))
SWITCHED_ON = {"use_tools": True, "tools": {"write_document": True}}


@pytest.fixture
def vault(talk: Talk) -> Vault:
    """Ada's empty vault; her model wants to write a plan."""
    create_user(database=talk.database, user_email=EMAIL, password="correct horse battery")
    vaults = Vaults(database=talk.database)
    replies = [Reply(CALL, finish_reason="tool_calls"), Reply("It is done.")]
    talk.models.main_model = ScriptedChatModel(replies=replies, calls_tools=True)
    talk.configure(vaults=vaults, tools=ToolLoop(all_tools(code_of=code_of)))
    return vaults.of(EMAIL)


def result_of(events: list[dict[str, Any]]) -> dict[str, Any]:
    """The result of the last call that an answer made."""
    parts = [event["part"] for event in events if event.get("part", {}).get("kind") == "tool_call"]
    result: dict[str, Any] = parts[-1]["result"]
    return result


def test_what_a_model_writes_waits_for_the_person(talk: Talk, vault: Vault) -> None:
    conversation = talk.new()
    told = result_of(talk.say(conversation, "Write a plan", options=SWITCHED_ON))
    (proposal,) = list_proposals(database=talk.database, user_email=EMAIL, limit=9)
    assert told["proposal"]["proposal_id"] == proposal.proposal_id
    assert told["proposal"]["payload"] == {"action": "write", "path": "plan.md"}
    assert proposal.message_id == conversation.get_message_list()[-1]["message_id"]
    assert len(orjson.dumps(told)) < len(proposal.diff)  # the model is not told its own text again
    assert list(vault.root.iterdir()) == []


def test_a_model_writes_where_the_person_allowed_it(talk: Talk, vault: Vault) -> None:
    told = result_of(talk.say(talk.new(), "Write a plan", options={**SWITCHED_ON, "allow_writing": True}))
    assert told == {"success": True, "path": "plan.md", "reference": "[[plan]]"}
    assert vault.read("plan.md").title == "Plan"
    assert list_proposals(database=talk.database, user_email=EMAIL, limit=9) == []


def test_changes_of_one_round_are_made_one_after_the_other_in_their_order(talk: Talk, vault: Vault) -> None:
    made = [("write_document", "first\n"), *(("append_to_document", f"{number}\n") for number in range(6))]
    round_of_all = calling(
        *((name, orjson.dumps({"path": "plan.md", "text": text}).decode()) for name, text in made),
    )
    replies = [Reply(round_of_all, finish_reason="tool_calls"), Reply("It is done.")]
    talk.models.main_model = ScriptedChatModel(replies=replies, calls_tools=True)
    tools = {"write_document": True, "append_to_document": True}
    talk.say(talk.new(), "Write a plan", options={"use_tools": True, "tools": tools, "allow_writing": True})
    assert vault.read("plan.md").text == "first\n0\n1\n2\n3\n4\n5\n"


def committing(vault: Vault) -> Callable[[], str]:
    """Let the vault be a repository; the message of its last commit."""
    git = ["git", "-C", str(vault.root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    log = [*git, "log", "-1", "--format=%B"]
    return lambda: subprocess.run(log, check=True, capture_output=True, text=True).stdout.strip()


def test_commits_during_an_answer_name_its_conversation(talk: Talk, vault: Vault) -> None:
    last_message, conversation = committing(vault), talk.new()
    allowed = {**SWITCHED_ON, "allow_writing": True}
    talk.say(conversation, "Write a plan", options=allowed)
    assert last_message() == f"Write plan.md\n\n/interface/{conversation.conversation_id}"
    call = calling(("append_to_document", orjson.dumps({"path": "plan.md", "text": "More\n"}).decode()))
    talk.models.main_model = ScriptedChatModel(
        replies=[Reply(call, finish_reason="tool_calls"), Reply("It is done.")], calls_tools=True
    )
    options = {**allowed, "tools": {"append_to_document": True}}
    talk.say(conversation, "Write more", options=options)
    with talk.database.reading() as connection:
        friendly_id = connection.execute(select(conversations.c.conversation_friendly_id)).scalar_one()
    assert last_message() == f"Write plan.md\n\n@conversation_{friendly_id}"


def test_what_a_model_writes_by_itself_is_its_own_act(talk: Talk, vault: Vault) -> None:
    conversation = talk.new()
    talk.say(conversation, "Write a plan", options={**SWITCHED_ON, "allow_writing": True})
    answer = conversation.get_message_list()[-1]
    query = select(activities).where(activities.c.type == "document_write")
    with talk.database.reading() as connection:
        (written,) = connection.execute(query).mappings().all()
        given = select(activities).where(activities.c.activity_id == answer["message_id"])
        answered = connection.execute(given).mappings().one()
    who = ("actor_type", "actor_id", "actor_name")
    assert [written[name] for name in who] == [answered[name] for name in who]
    assert written["actor_type"] == "assistant"


def test_tools_that_change_documents_are_off_until_they_are_switched_on(talk: Talk, vault: Vault) -> None:
    told = result_of(talk.say(talk.new(), "Write a plan", options={"use_tools": True, "allow_writing": True}))
    assert told["error"]["code"] == "tool_not_found"
    assert list(vault.root.iterdir()) == []


def test_the_smallest_model_is_told_which_proposal_it_made(
    vault: Vault, tools: ToolRegistry, context: Callable[..., ToolContext]
) -> None:
    arguments = {"path": "long.md", "text": "a line of words\n" * 9_000}
    told = tools.call("write_document", arguments, context(max_chars=1_000))
    assert (told["success"], len(told["proposal"]["diff"])) == (True, 250)
    assert vault.documents(limit=9).documents == []


@pytest.mark.parametrize(
    ("start", "end", "message"),
    [
        (3, 2, "lineStart (3) is after lineEnd (2)."),
        (2, 4, "Line 4 is beyond the end (3 lines)."),
        (50, 60, "Line 60 is beyond the end (3 lines)."),
    ],
)
def test_lines_that_are_not_there_are_named(
    vault: Vault, tools: ToolRegistry, context: Callable[..., ToolContext], start: int, end: int, message: str
) -> None:
    vault.write("plan.md", "one\ntwo\nthree\n")
    arguments = {"path": "plan.md", "lineStart": start, "lineEnd": end, "expected": "", "text": "x"}
    told = tools.call("replace_lines", arguments, context())
    assert told["error"] == {"code": "bad_request", "message": message}


@pytest.mark.parametrize(
    ("tool", "arguments", "message"),
    [
        ("write_document", {"path": "plan.md/part.md", "text": "x"}, "document_path_through"),
        ("write_document", {"path": "plan.md/a/b.md", "text": "x"}, "document_path_through"),
        ("write_document", {"path": "folder.md", "text": "x"}, "document_path_folder"),
        ("rename_document", {"path": "other.md", "newPath": "plan.md/part.md"}, "document_path_through"),
        ("rename_document", {"path": "plan.md", "newPath": "plan.md/part.md"}, "document_path_through"),
    ],
)
def test_a_document_that_could_not_be_made_is_not_proposed(
    talk: Talk,
    vault: Vault,
    tools: ToolRegistry,
    context: Callable[..., ToolContext],
    tool: str,
    arguments: dict[str, str],
    message: str,
) -> None:
    vault.write("plan.md", "one\n")
    vault.write("other.md", "two\n")
    vault.write("folder.md/inside.md", "three\n")
    told = tools.call(tool, arguments, context())
    assert told["error"] == {"code": "conflict", "message": say(message)}
    assert list_proposals(database=talk.database, user_email=EMAIL, limit=9) == []


def test_no_nul_is_written_or_remembered(
    vault: Vault, tools: ToolRegistry, context: Callable[..., ToolContext]
) -> None:
    for name, arguments in (
        ("write_document", {"path": "plan.md", "text": "a\0b"}),
        ("add_memory", {"statement": "a\0b"}),
    ):
        told = tools.call(name, arguments, context(may_write=True))
        assert told["error"]["code"] == "bad_request", name
        assert told["error"]["message"].endswith(": a NUL character is not allowed."), name
    assert list(vault.root.iterdir()) == []
