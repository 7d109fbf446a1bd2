"""A program starts `flask --app server mcp` and speaks to it over its standard input and output."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from mcp import Client, MCPError, StdioServerParameters

from database.accounts.users import set_disabled
from database.connection import open_store
from tests.fakes import RecordingModel
from tests.live_server import NO_MODELS, ROOT, LiveServer, new_account

T = TypeVar("T")
COMMAND = ["-m", "flask", "--app", str(ROOT / "server.py"), "mcp", "--email"]


def environ_of(server: LiveServer) -> dict[str, str]:
    return {**NO_MODELS, "ANAPHORA_DATA_DIR": str(server.data_dir)}


def with_client(
    server: LiveServer, email: str, use: Callable[[Client], Awaitable[T]], *options: str, folder: Path
) -> T:
    """What `use` returns for a client of a process that acts as `email` on the data of `server`."""
    command = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, email, *options], env=environ_of(server), cwd=folder
    )

    async def run() -> T:
        async with Client(command) as client:
            return await use(client)

    return asyncio.run(run())


def test_a_program_reads_beside_a_running_server_for_one_account_alone(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    email = "stdio@example.org"
    account, other = new_account(shared_server, email), new_account(shared_server)
    foreign = other.create_conversation()
    list(other.send(foreign, "A secret of another person."))
    database = open_store(shared_server.users_dir)

    async def use(client: Client) -> Any:
        assert (await client.list_resources()).resources == []
        conversation_id = account.create_conversation()
        list(account.send(conversation_id, "Where do tomatoes grow?"))
        (resource,) = (await client.list_resources()).resources
        text = (await client.read_resource(resource.uri)).contents[0].text
        found = (await client.call_tool("search_messages", {"query": "tomatoes grow"})).structured_content
        reference = found["results"][0]["reference"]
        named = (await client.call_tool("resolve_reference", {"reference": reference})).structured_content
        assert [item["content"] for item in named["items"]] == ["Where do tomatoes grow?"]
        elsewhere = (await client.call_tool("search_messages", {"query": "secret"})).structured_content
        assert elsewhere["results"] == []
        templates = (await client.list_resource_templates()).resource_templates
        assert {each.uri_template.partition("{")[0] for each in templates} >= {
            "anaphora://conversation/",
            "anaphora://memory/",
            "anaphora://document/",
        }
        refused = (await client.call_tool("read_conversation", {"conversationId": foreign})).structured_content
        offered = (await client.list_tools()).tools
        set_disabled(database=database, user_email=email, disabled=True)
        with pytest.raises(MCPError) as closed:
            await client.list_resources()
        return text, refused["error"]["code"], {each.annotations.read_only_hint for each in offered}, closed.value.data

    assert with_client(shared_server, email, use, folder=tmp_path) == (
        "1→[user] Where do tomatoes grow?\n2→[assistant] Understood.",
        "conversation_not_found",
        {True},
        {"code": "unauthorized"},
    )


def test_an_account_that_is_not_there_ends_the_command_with_a_sentence(
    shared_server: LiveServer, tmp_path: Path
) -> None:
    command = [sys.executable, *COMMAND, "nobody@example.org"]
    ended = subprocess.run(
        command, cwd=tmp_path, env=environ_of(shared_server), capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stdout) == (3, "")
    assert "There is no account nobody@example.org." in ended.stderr


def test_a_program_that_may_write_proposes_memories_and_documents_and_decides_on_none(
    shared_server: LiveServer, shared_model: RecordingModel, tmp_path: Path
) -> None:
    email = "writer@example.org"
    account, other = new_account(shared_server, email), new_account(shared_server)
    written = ("add_memory", "write_document")

    async def use_reader(client: Client) -> Any:
        offered = {tool.name for tool in (await client.list_tools()).tools}
        call = await client.call_tool("add_memory", {"statement": "I like figs"})
        return offered & {*written}, call.structured_content["error"]["code"]

    assert with_client(shared_server, email, use_reader, folder=tmp_path) == (set(), "forbidden")
    assert account.get("/api/proposals").json() == []

    async def use_writer(client: Client) -> Any:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert {tools[name].annotations.read_only_hint for name in written} == {False}
        assert not [name for name in tools if "proposal" in name]
        memory = await client.call_tool("add_memory", {"statement": "I like figs"})
        document = await client.call_tool("write_document", {"path": "figs.md", "text": "Figs."})
        return [each.structured_content["proposal"]["state"] for each in (memory, document)]

    assert with_client(shared_server, email, use_writer, "--write", folder=tmp_path) == ["open", "open"]
    proposals = {each["kind"]: each["proposal_id"] for each in account.get("/api/proposals").json()}
    assert (set(proposals), other.get("/api/proposals").json()) == ({"memory", "document"}, [])
    assert account.get("/pkb/claims").json()["claims"] == []
    assert account.get("/api/vault/document?path=figs.md").status == 404
    for proposal_id in proposals.values():
        assert account.post(f"/api/proposals/{proposal_id}/accept").status == 200
    assert [claim["statement"] for claim in account.get("/pkb/claims").json()["claims"]] == ["I like figs"]
    assert account.get("/api/vault/document?path=figs.md").json()["text"] == "Figs."
    assert shared_model.requests == []
