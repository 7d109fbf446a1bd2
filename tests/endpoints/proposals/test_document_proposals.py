"""What a model or a program would change of a document is shown as a diff, and is done once the person accepts it."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from database.proposals import create_proposal
from database.schema import activities
from endpoints.http.scope import EXTENSION
from endpoints.proposals.models import AcceptedProposal, ProposalItem
from tests.endpoints.conftest import Person, refused, told
from vault.documents import Vault

pytestmark = pytest.mark.contract
PLAN = "plans/garden.md"
TEXT = "# The plan\n\nroses\ntulips\n"


@pytest.fixture
def vault(app: Flask, ada: Person) -> Vault:
    """Ada's vault, with a plan and a note that links to it."""
    found: Vault = app.extensions[EXTENSION].vaults.of(ada.email)
    found.write(PLAN, TEXT)
    found.write("note.md", "See [[garden]].\n")
    return found


def propose(person: Person, tool: str, **arguments: Any) -> ProposalItem:
    """What became of a call that has to be accepted."""
    answer = person.post(f"/api/tools/{tool}", json=arguments)
    assert answer.status_code == 200, answer.json
    assert answer.json["success"]
    return told(person.get(f"/api/proposals/{answer.json['proposal']['proposal_id']}"), ProposalItem)


def accept(person: Person, proposal: ProposalItem) -> dict[str, Any]:
    """What came of accepting it."""
    answer = told(person.post(f"/api/proposals/{proposal.proposal_id}/accept"), AcceptedProposal)
    assert answer.proposal.state == "accepted"
    return answer.outcome


def writes(app: Flask, person: Person) -> list[tuple[str, str]]:
    """What was done to which documents, in this order."""
    payload = select(activities.c.payload).where(
        activities.c.type == "document_write", activities.c.user_email == person.email
    )
    with app.extensions[EXTENSION].database.reading() as connection:
        found = connection.execute(payload.order_by(activities.c.seq)).scalars().all()
    return [(each["action"], each["path"]) for each in found]


def test_a_new_document_is_written_once_it_was_accepted(app: Flask, ada: Person, vault: Vault) -> None:
    proposal = propose(ada, "write_document", path="new.md", text="# New\n")
    assert (proposal.kind, proposal.state, proposal.payload["action"]) == ("document", "open", "write")
    assert proposal.diff == "--- new.md\n+++ new.md\n@@ -0,0 +1 @@\n+# New\n"
    assert not (vault.root / "new.md").exists()
    assert accept(ada, proposal) == {"path": "new.md", "reference": "[[new]]"}
    assert vault.read("new.md").text == "# New\n"
    assert writes(app, ada)[-1] == ("write", "new.md")
    assert refused(ada.post(f"/api/proposals/{proposal.proposal_id}/accept")) == (409, "conflict")


def test_each_change_of_a_document_is_shown_and_made(app: Flask, ada: Person, vault: Vault) -> None:
    appended = propose(ada, "append_to_document", path=PLAN, text="asters")
    assert "+asters\n" in appended.diff
    accept(ada, appended)
    lines = {"lineStart": 3, "lineEnd": 4, "expected": "roses\ntulips"}
    replaced = propose(ada, "replace_lines", path=PLAN, text="lilies", **lines)
    assert "-roses\n-tulips\n+lilies\n" in replaced.diff
    accept(ada, replaced)
    assert vault.read(PLAN).text == "# The plan\n\nlilies\nasters"
    renamed = propose(ada, "rename_document", path=PLAN, newPath="plans/beds.md")
    assert renamed.diff == f"rename from {PLAN}\nrename to plans/beds.md\n"
    assert accept(ada, renamed)["followed"] == ["note.md"]
    assert vault.read("note.md").text == "See [[beds]].\n"
    deleted = propose(ada, "delete_document", path="plans/beds.md")
    assert "-lilies\n" in deleted.diff
    assert (vault.root / accept(ada, deleted)["kept_at"]).exists()
    assert writes(app, ada)[2:] == [
        ("append", PLAN),
        ("replace_lines", PLAN),
        ("rename", "plans/beds.md"),
        ("write", "note.md"),  # whose link follows
        ("delete", "plans/beds.md"),
    ]
    old_paths = select(activities.c.payload["old_path"].as_string()).where(activities.c.type == "document_write")
    with app.extensions[EXTENSION].database.reading() as connection:
        assert [each for each in connection.execute(old_paths).scalars() if each] == [PLAN]


def test_a_declined_change_is_not_made(ada: Person, vault: Vault) -> None:
    proposal = propose(ada, "delete_document", path=PLAN)
    assert ada.post(f"/api/proposals/{proposal.proposal_id}/decline").json["state"] == "declined"
    assert refused(ada.post(f"/api/proposals/{proposal.proposal_id}/accept")) == (409, "conflict")
    assert vault.read(PLAN).text == TEXT


@pytest.mark.parametrize(
    ("tool", "arguments", "after"),
    [
        ("write_document", {"text": "lilies\n"}, "lilies\n"),
        ("append_to_document", {"text": "lilies\n"}, "oaks\n# The plan\n\nroses\ntulips\nlilies\n"),
        ("replace_lines", {"text": "lilies", "lineStart": 1, "lineEnd": 1, "expected": "# The plan"}, None),
        ("delete_document", {}, None),
    ],
)
def test_a_document_that_was_changed_meanwhile_is_shown_anew(
    ada: Person, vault: Vault, tool: str, arguments: dict[str, Any], after: str | None
) -> None:
    proposal = propose(ada, tool, path=PLAN, **arguments)
    changed = vault.write(PLAN, "oaks\n" + TEXT, version=vault.read(PLAN).version)
    address = f"/api/proposals/{proposal.proposal_id}"
    late = ada.post(f"{address}/accept")
    assert refused(late) == (409, "conflict")
    assert vault.read(PLAN).text == changed.text
    new_diff = late.json["details"]["diff"]
    if tool == "replace_lines":  # these lines say something else now
        assert new_diff == ""
        assert refused(ada.post(f"{address}/accept")) == (409, "conflict")
        return
    now = told(ada.get(address), ProposalItem)
    assert (now.state, now.diff) == ("open", new_diff)
    assert new_diff != proposal.diff
    accept(ada, now)
    file = vault.root / PLAN
    assert (file.read_text() if file.exists() else None) == after


def test_a_document_that_appeared_or_went_meanwhile_is_not_lost(ada: Person, vault: Vault) -> None:
    new = propose(ada, "write_document", path="new.md", text="mine\n")
    vault.write("new.md", "yours\n")
    late = ada.post(f"/api/proposals/{new.proposal_id}/accept")
    assert (late.status_code, "-yours\n" in late.json["details"]["diff"]) == (409, True)
    assert vault.read("new.md").text == "yours\n"
    more = propose(ada, "append_to_document", path=PLAN, text="asters")
    vault.delete(PLAN)
    assert refused(ada.post(f"/api/proposals/{more.proposal_id}/accept")) == (404, "document_not_found")


def test_a_change_that_was_made_before_it_was_noted_is_not_made_again(app: Flask, ada: Person, vault: Vault) -> None:
    proposal = propose(ada, "append_to_document", path=PLAN, text="asters\n")
    vault.append(PLAN, "asters\n")
    before = writes(app, ada)
    assert accept(ada, proposal)["path"] == PLAN
    assert (vault.read(PLAN).text, writes(app, ada)) == (TEXT + "asters\n", before)


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("write_document", {"path": "../out.md", "text": "x"}, (400, "path_refused")),
        ("write_document", {"path": "run.sh", "text": "x"}, (400, "path_refused")),
        ("write_document", {"path": PLAN, "text": TEXT}, (400, "bad_request")),
        ("append_to_document", {"path": "nothing.md", "text": "x"}, (404, "document_not_found")),
        (
            "replace_lines",
            {"path": PLAN, "lineStart": 1, "lineEnd": 1, "expected": "weeds", "text": "x"},
            (412, "version_conflict"),
        ),
        (
            "replace_lines",
            {"path": PLAN, "lineStart": 2, "lineEnd": 9, "expected": "", "text": "x"},
            (400, "bad_request"),
        ),
        (
            "replace_lines",
            {"path": PLAN, "lineStart": "1", "lineEnd": 1, "expected": "", "text": ""},
            (400, "bad_request"),
        ),
        ("rename_document", {"path": PLAN, "newPath": "note.md"}, (409, "conflict")),
        ("rename_document", {"path": PLAN, "newPath": PLAN}, (409, "conflict")),
        ("rename_document", {"path": PLAN, "newPath": ".trash/garden.md"}, (400, "path_refused")),
        ("delete_document", {"path": "nothing.md"}, (404, "document_not_found")),
    ],
)
def test_a_change_that_makes_no_sense_is_not_proposed(
    ada: Person, vault: Vault, tool: str, arguments: dict[str, Any], code: tuple[int, str]
) -> None:
    assert refused(ada.post(f"/api/tools/{tool}", json=arguments)) == code
    assert ada.get("/api/proposals").json == []


def test_a_vault_that_can_only_be_read_takes_no_proposals(
    app: Flask, ada: Person, vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    proposal = propose(ada, "delete_document", path=PLAN)
    monkeypatch.setattr(app.extensions[EXTENSION].vaults, "of", lambda _: replace(vault, read_only=True))
    call = ada.post("/api/tools/write_document", json={"path": "a.md", "text": "x"})
    assert refused(call) == (403, "vault_read_only")
    assert refused(ada.post(f"/api/proposals/{proposal.proposal_id}/accept")) == (403, "vault_read_only")


def test_what_came_out_of_an_answer_is_committed_with_its_reference(app: Flask, ada: Person, vault: Vault) -> None:
    git = ["git", "-C", str(vault.root), "-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "-q"], check=True)
    conversation_id = ada.new_conversation()
    ids = [event["message_ids"] for event in ada.say(conversation_id, "Hello") if "message_ids" in event][-1]
    database = app.extensions[EXTENSION].database
    made = create_proposal(
        database=database,
        user_email=ada.email,
        kind="document",
        payload={"action": "write", "path": "new.md", "text": "x\n"},
        source_message=ids["response_message_id"],
    )
    assert ada.post(f"/api/proposals/{made.proposal_id}/accept").status_code == 200
    told_by_git = subprocess.run([*git, "log", "-1", "--format=%B"], check=True, capture_output=True, text=True).stdout
    friendly_id = ada.get(f"/get_conversation_details/{conversation_id}").json["conversation_friendly_id"]
    reference = f"@conversation_{friendly_id}_message_{ids['response_message_short_hash']}"
    assert told_by_git.strip() == f"Write new.md\n\n{reference}"
    with database.reading() as connection:
        rooms = (
            connection.execute(
                select(activities.c.conversation_id)
                .where(activities.c.type == "document_write")
                .order_by(activities.c.seq)
            )
            .scalars()
            .all()
        )
    assert rooms[-1] == conversation_id
    assert Path(vault.root, "new.md").exists()


def test_nobody_changes_the_documents_of_others(ada: Person, eve: Person, vault: Vault) -> None:
    proposal = propose(ada, "delete_document", path=PLAN)
    assert refused(eve.post(f"/api/proposals/{proposal.proposal_id}/accept")) == (404, "proposal_not_found")
    assert refused(eve.post("/api/tools/delete_document", json={"path": PLAN})) == (404, "document_not_found")
    assert vault.read(PLAN).text == TEXT
