"""The Memories panel as a person works it, and memories that were there before a test begins."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from playwright.sync_api import expect

from tests.http_client import Client
from tests.live_server import LiveServer
from truth_management_system import PKBConfig, StructuredAPI, get_database

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

DOMAINS = ("health", "personal", "work")
_STANDS_STILL = """(node) => new Promise((stands) => {
    let waited = setTimeout(stands, 500);
    new MutationObserver(() => {
        clearTimeout(waited);
        waited = setTimeout(stands, 500);
    }).observe(node, { childList: true, subtree: true });
})"""
"""Resolves when half a second went by in which nothing of a node was drawn again."""


def address(path: str = "/interface/", **state: Any) -> str:
    """Where the panel is shown over the page at `path`."""
    return f"{path}?{urlencode({'panel': 'memories', **state})}"


@dataclass(frozen=True)
class MemoriesPanel:
    """The panel of an open page."""

    page: Page

    @property
    def node(self) -> Locator:
        """All of it."""
        return self.page.locator("#memories")

    @property
    def rows(self) -> Locator:
        """The memories that are listed."""
        return self.node.locator(".memory")

    @property
    def toasts(self) -> Locator:
        """What was said at the edge of the page."""
        return self.page.locator("#toasts")

    @property
    def dialog(self) -> Locator:
        """The dialog on top."""
        return self.page.locator("dialog[open]").last

    def row(self, statement: str) -> Locator:
        """The row of the memory that says `statement`."""
        return self.rows.filter(has=self.page.get_by_text(statement, exact=True))

    def tab(self, name: str) -> Locator:
        """A tab by what it says."""
        return self.page.get_by_role("tab", name=name, exact=True)

    def count(self, text: str) -> None:
        """Wait until the count of memories says `text`."""
        expect(self.node.locator(".memories-count:visible")).to_have_text(text)

    def choose(self, row: Locator, label: str) -> None:
        """Open a row's menu by the right button, and choose."""
        row.click(button="right", position={"x": 60, "y": 12})
        self.page.get_by_role("menuitem", name=label, exact=True).click()

    def answer(self, text: str) -> None:
        """Give the open dialog its text, by keyboard."""
        field = self.page.locator("dialog[open] input")
        expect(field).to_be_focused()
        field.fill(text)
        self.page.keyboard.press("Enter")
        expect(self.page.locator("dialog[open]")).to_have_count(0)

    def undo(self) -> None:
        """Take back what the newest toast tells of."""
        self.toasts.get_by_role("button", name="Undo").last.click()
        expect(self.toasts).to_contain_text("Undone")

    def context(self, name: str) -> Locator:
        """The row of a context in the tree."""
        return self.node.locator(".jstree-anchor").filter(has_text=re.compile(rf"^\W*{re.escape(name)}( \(\d+\))?$"))

    def drag_context(self, name: str, *, to: str) -> None:
        """Take a context by the mouse and let go over another."""
        expect(self.context(to)).to_be_visible()
        self.node.locator(".memories-tree").first.evaluate(_STANDS_STILL)
        self.context(name).hover()
        self.page.mouse.down()
        target = self.context(to).bounding_box()
        assert target is not None
        x, y = target["x"] + 40, target["y"] + target["height"] / 2
        self.page.mouse.move(x, y - 6, steps=6)
        self.page.mouse.move(x, y, steps=3)
        expect(self.page.locator("#jstree-dnd")).to_be_visible()
        self.page.mouse.up()
        expect(self.page.locator("#vakata-dnd")).to_have_count(0)


@contextmanager
def told(client: Client, changes: int = 1) -> Iterator[None]:
    """Wait until so many changes of memories, made within the block, are told to the pages of this person.

    A page that is opened afterwards hears nothing of them, and one that is open has heard: neither asks again later.
    """
    with closing(client.stream("/events")) as events:
        next(events)
        yield
        for _ in range(changes):
            assert any(event.get("kind") == "memory" for event in events)


def remember(client: Client, statement: str, **fields: Any) -> dict[str, Any]:
    """A memory, made as other clients make it."""
    reply = client.post("/pkb/claims", {"statement": statement, **fields})
    assert reply.status == 201, reply.text
    claim: dict[str, Any] = reply.json()["claim"]
    return claim


def make_context(client: Client, name: str, *, parent: str | None = None) -> dict[str, Any]:
    """A context."""
    reply = client.post("/pkb/contexts", {"name": name, "parent_context_id": parent})
    assert reply.status == 201, reply.text
    context: dict[str, Any] = reply.json()["context"]
    return context


def claims(client: Client, **filters: Any) -> list[dict[str, Any]]:
    """What the server lists, newest first."""
    reply = client.get(f"/pkb/claims?{urlencode(filters)}")
    assert reply.status == 200, reply.text
    listed: list[dict[str, Any]] = reply.json()["claims"]
    return listed


def claim(client: Client, claim_id: str) -> dict[str, Any]:
    """What the server says of one memory."""
    found: dict[str, Any] = client.get(f"/pkb/claims/{quote(claim_id, safe='')}").json()["claim"]
    return found


def store_memories(server: LiveServer, client: Client, number: int, *, words: str = "") -> None:
    """Many memories, put into the server's store as an import would: "Memory N", each in one of three domains.

    words: what each says besides.
    """
    email = str(client.get("/get_user_info").json()["user_email"])
    rows = [
        {
            "claim_id": f"{email}-{n}",
            "claim_number": n,
            "statement": f"Memory {n}{words}",
            "claim_type": "fact",
            "context_domain": DOMAINS[n % 3],
            "created_at": f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
            "updated_at": f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z",
        }
        for n in range(1, number + 1)
    ]
    db = get_database(PKBConfig(db_path=str(Path(server.users_dir) / "pkb.sqlite")))
    try:
        result = StructuredAPI(db, {}, PKBConfig(), user_email=email).import_data({"data": {"claims": rows}})
        assert result.success, result.errors
    finally:
        db.close()
