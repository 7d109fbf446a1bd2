"""What a person has said before a test begins, made as other clients make it: over HTTP, or in the store."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Any
from urllib.parse import quote

from sqlalchemy import select

from benchmarks.made_up.words import TextMaker
from database.connection import open_store
from database.schema import message_edits
from database.turns.turns import accept_turn, finish_turn
from tests.http_client import Client
from tests.live_server import LiveServer

# All that an answer can hold.
RICH_ANSWER = """## Rows

Memoize them, see [the manual](https://example.org/manual) and `memo`:

```js
// Draws one row.
const Row = memo(({ id }) => <tr key={id} className="row" />); // 42
```

> It pays off when $n > 100$:

$$\\sum_{i=1}^{n} i = \\frac{n(n+1)}{2}$$

| way | milliseconds |
|---|---|
| plain | 120 |
| memoized | 12 |

1. Measure.
2. **Measure** again, ~~guess~~.
"""


@dataclass(frozen=True, kw_only=True)
class Talk:
    """A conversation that was held. hashes: of its messages, in order."""

    conversation_id: str
    friendly_id: str
    hashes: tuple[str, ...]

    @property
    def path(self) -> str:
        """Where the page shows it."""
        return f"/interface/{quote(self.conversation_id, safe='')}"

    def reference(self, index: int) -> str:
        """What names its message, counted from 1."""
        return f"@conversation_{self.friendly_id}_message_{self.hashes[index - 1]}"


def hold_talk(client: Client, title: str, *texts: str, workspace_id: str | None = None) -> Talk:
    """A conversation of that title in which `texts` were sent and answered."""
    conversation_id = client.create_conversation()
    if workspace_id is not None:
        _succeed(client.put(f"/move_conversation_to_workspace/{conversation_id}", {"workspace_id": workspace_id}))
    _succeed(client.put(f"/conversations/{conversation_id}/title", {"title": title}))
    for text in texts or ("Hello",):
        assert list(client.send(conversation_id, text))[-1].get("done")
    return told(client, conversation_id)


def store_talk(server: LiveServer, client: Client, title: str, *, turns: int, chars: int = 0) -> Talk:
    """A long conversation, put into the server's store as its own code would: "Question N" and "Answer N".

    chars: of made-up text that each message says beside that, as in the benchmarks' history.
    """
    made_up = TextMaker(Random(title))
    more = [f"\n\n{made_up.text(chars)}" if chars else "" for _ in range(2 * turns)]
    conversation_id = client.create_conversation()
    where = {
        "database": open_store(server.users_dir),
        "user_email": str(_succeed(client.get("/get_user_info"))["user_email"]),
        "conversation_id": conversation_id,
    }
    for number in range(1, turns + 1):
        accepted = accept_turn(**where, text=f"Question {number}{more.pop()}", config={})
        finish_turn(
            **where,
            response_message_id=accepted.response_message_id,
            text=f"Answer {number}\n\n" + "It is a matter of patience. " * (number % 7) + more.pop(),
            status="complete",
            config={},
            title=title,
        )
    return told(client, conversation_id)


def former_texts(server: LiveServer, message_id: str) -> list[str]:
    """What a message said before it was edited, oldest first."""
    with open_store(server.users_dir).reading() as connection:
        edits = select(message_edits.c.text).where(message_edits.c.message_id == message_id)
        return list(connection.execute(edits.order_by(message_edits.c.replaced_at)).scalars())


def told(client: Client, conversation_id: str) -> Talk:
    """What the server says of a conversation now."""
    details = _succeed(client.get(f"/get_conversation_details/{conversation_id}"))
    return Talk(
        conversation_id=conversation_id,
        friendly_id=details["conversation_friendly_id"],
        hashes=tuple(message["message_short_hash"] for message in messages(client, conversation_id)),
    )


def messages(client: Client, conversation_id: str) -> list[dict[str, Any]]:
    """All messages of a conversation, as the server lists them."""
    listed: list[dict[str, Any]] = _succeed(client.get(f"/list_messages_by_conversation/{conversation_id}"))
    return listed


def make_workspace(client: Client, name: str, *, parent: str | None = None) -> str:
    """The id of a new workspace."""
    path = f"/create_workspace/assistant/{quote(name, safe='')}"
    return str(_succeed(client.post(path, {"parent_workspace_id": parent} if parent else {}))["workspace_id"])


def workspace(client: Client, name: str) -> dict[str, Any] | None:
    """What the server says of the workspace of that name; None where there is none."""
    listed = _succeed(client.get("/list_workspaces/assistant"))
    return next((each for each in listed if each["workspace_name"] == name), None)


def conversation(client: Client, title: str) -> dict[str, Any] | None:
    """What the server lists for the conversation of that title; None where there is none."""
    listed = _succeed(client.get("/list_conversation_by_user/assistant"))
    return next((each for each in listed if each["title"] == title), None)


def _succeed(reply: Any) -> Any:
    assert reply.status in (200, 201), reply.text
    return reply.json()
