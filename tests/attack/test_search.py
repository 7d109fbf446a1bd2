"""Nobody finds, counts or pages to what belongs to somebody else, and what is found is text."""

from __future__ import annotations

import pytest

from database.connection import open_store
from database.search.indexing import index_pending
from settings import Settings
from tests.endpoints.conftest import Person

SECRET = "Zanzibar <script>alert(1)</script> is where the treasure lies"


@pytest.fixture(params=["indexed", "not indexed yet"])
def hidden(ada: Person, settings: Settings, request: pytest.FixtureRequest) -> dict[str, str]:
    """What Ada said, remembered, wrote down and called a conversation; its ids."""
    conversation_id = ada.new_conversation()
    ada.put(f"/conversations/{conversation_id}/title", json={"title": "Zanzibar"})
    ada.say(conversation_id, SECRET)
    ada.remember(SECRET)
    ada.put("/api/vault/document?path=zanzibar.md", json={"text": SECRET})
    if request.param == "indexed":
        index_pending(database=open_store(settings.users_dir))
    details = ada.get(f"/get_conversation_details/{conversation_id}").json
    return {"conversation_id": conversation_id, "friendly_id": details["conversation_friendly_id"]}


def test_no_question_finds_what_somebody_else_said(hidden: dict[str, str], ada: Person, eve: Person) -> None:
    for q in (
        "zanzibar",
        "-nothing",
        "after:2000",
        "sender:user",
        f"in:{hidden['friendly_id']}",
        f"zanzibar in:{hidden['conversation_id']}",
        "zanzibar) OR (owner:*",
        'zanzibar" OR "',
        "owner:zanzibar",
    ):
        for kind in ("all", "message", "conversation", "memory", "document"):
            answer = eve.get("/search", query_string={"q": q, "kind": kind})
            assert answer.status_code == 200, (q, kind)
            assert (answer.json["results"], answer.json["next"]) == ([], None), (q, kind)
            assert "treasure" not in answer.get_data(as_text=True)
    assert len(ada.get("/search?q=zanzibar").json["results"]) == 4


def test_what_is_found_says_markup_as_text(hidden: dict[str, str], ada: Person) -> None:
    assert hidden
    answer = ada.get("/search?q=zanzibar script&mode=words")
    assert answer.mimetype == "application/json"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    snippets = {result["snippet"] for result in answer.json["results"]}
    assert snippets == {SECRET}
