"""The official client speaks to a running server."""

from __future__ import annotations

from typing import Any

import pytest
from mcp import Client

from tests.fakes import RecordingModel
from tests.live_server import LiveServer, new_account

from .programs import MODES, with_client_of


@pytest.mark.parametrize("mode", MODES)
def test_a_program_reads_what_a_person_wrote(
    mode: str, shared_server: LiveServer, shared_model: RecordingModel
) -> None:
    account = new_account(shared_server)
    conversation_id = account.create_conversation()
    list(account.send(conversation_id, "Where do tomatoes grow?"))
    token = account.post("/api_tokens", {"name": "program", "read_only": True}).json()["token"]

    async def use(client: Client) -> tuple[Any, ...]:
        (resource,) = (await client.list_resources()).resources
        text = (await client.read_resource(resource.uri)).contents[0].text
        listed = (await client.call_tool("list_conversations", {})).structured_content
        return text, listed["conversations"][0]["conversationId"]

    found = with_client_of(f"{shared_server.url}/mcp", token, use, mode=mode)
    assert found == ("1→[user] Where do tomatoes grow?\n2→[assistant] Understood.", conversation_id)
