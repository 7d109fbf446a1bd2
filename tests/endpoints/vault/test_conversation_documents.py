"""The documents of a conversation over HTTP."""

from __future__ import annotations

from pathlib import Path

from database.turns.turns import accept_turn, finish_turn
from endpoints.http.scope import EXTENSION
from endpoints.vault import models
from tests.endpoints.conftest import told


def test_a_conversation_tells_the_documents_that_it_rests_on(app, ada):
    """Seed 003, section 5.2: the most used first, each with its messages; a document that is gone says so."""
    state = app.extensions[EXTENSION]
    vault = state.vaults.of(ada.email)
    for name, text in (
        ("tomatoes", "Sown in March."),
        ("tomato soup", "Talking of tomatoes."),
        ("gone", "Here for now."),
    ):
        Path(vault.root, f"{name}.md").write_text(text)
    list(vault.refresh())
    conversation_id = ada.new_conversation()
    own = {"database": state.database, "user_email": ada.email, "conversation_id": conversation_id}
    named = {"reference_type": "direct", "summary": None, "used": True}
    for path in ("gone.md", "tomatoes.md", "tomatoes.md"):
        accepted = accept_turn(**own, text="See it", config={})
        documents = [{**named, "wikilink": f"[[{path[:-3]}]]", "relative_path": path}]
        answer = {"text": "Seen.", "status": "complete", "config": {}, "title": "Tomatoes"}
        finish_turn(**own, response_message_id=accepted.response_message_id, **answer, documents=documents)
    Path(vault.root, "gone.md").unlink()
    list(vault.refresh())
    found = told(ada.get(f"/conversations/{conversation_id}/documents"), models.ConversationDocuments)
    assert [(each.relative_path, each.title, len(each.messages)) for each in found.documents] == [
        ("tomatoes.md", "tomatoes", 2),
        ("gone.md", None, 1),
    ]
    # Each question and its answer are two messages; the answers name the documents.
    assert [[each.message_index for each in document.messages] for document in found.documents] == [[6, 4], [2]]
    assert [each.path for each in found.suggestions] == ["tomato soup.md"]
    document = told(ada.get("/api/vault/document?path=tomatoes.md"), models.DocumentText)
    assert [(user.conversation_id, user.title) for user in document.used_by] == [(conversation_id, "Tomatoes")] * 2
