"""What a program proposes waits for the person, who accepts or declines it once."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask
from sqlalchemy import update

from chat.tools import proposals as tool_proposals
from database.engine.clock import iso_in
from database.proposals import KEPT_DAYS, OPEN_DAYS, create_proposal, expire_proposals
from database.schema import proposals
from endpoints.http.scope import EXTENSION
from endpoints.proposals.models import AcceptedProposal, ProposalCount, ProposalItem
from tests.endpoints.conftest import Person, refused, told

STATEMENT = "I am allergic to walnuts"


def propose(person: Person, statement: str = STATEMENT, **more: Any) -> str:
    """The id of a proposal to remember something."""
    answer = person.post("/api/tools/add_memory", json={"statement": statement, **more}).json
    assert answer["success"]
    return str(answer["proposal"]["proposal_id"])


def open_ones(person: Person, state: str = "open") -> list[str]:
    """The ids of the person's proposals of a state."""
    found = told(person.get(f"/api/proposals?state={state}"), list[ProposalItem])
    return [each.proposal_id for each in found]


def waiting(person: Person) -> int:
    """How many proposals wait for the person."""
    return told(person.get("/api/proposals/count"), ProposalCount).open


def statements(person: Person) -> list[str]:
    """What is remembered."""
    return [claim["statement"] for claim in person.get("/pkb/claims").json["claims"]]


def test_a_memory_is_there_once_it_was_accepted(ada: Person, eve: Person) -> None:
    proposal_id = propose(ada, type="preference", domain="health")
    assert (open_ones(ada), open_ones(eve), statements(ada)) == ([proposal_id], [], [])
    assert (waiting(ada), waiting(eve)) == (1, 0)
    assert told(ada.get(f"/api/proposals/{proposal_id}"), ProposalItem).state == "open"
    accepted = told(ada.post(f"/api/proposals/{proposal_id}/accept"), AcceptedProposal)
    assert (accepted.proposal.state, open_ones(ada), open_ones(ada, "accepted")) == ("accepted", [], [proposal_id])
    assert waiting(ada) == 0
    (claim,) = ada.get("/pkb/claims").json["claims"]
    assert (claim["statement"], claim["claim_type"], claim["context_domain"]) == (STATEMENT, "preference", "health")
    assert accepted.outcome == {"reference": f"@{claim['friendly_id']}"}


@pytest.mark.parametrize("first", ["accept", "decline"])
@pytest.mark.parametrize("second", ["accept", "decline"])
def test_a_proposal_is_decided_once(ada: Person, first: str, second: str) -> None:
    proposal_id = propose(ada)
    assert ada.post(f"/api/proposals/{proposal_id}/{first}").status_code == 200
    again = ada.post(f"/api/proposals/{proposal_id}/{second}")
    assert refused(again) == (409, "conflict")
    assert again.json["details"] == {"state": {"accept": "accepted", "decline": "declined"}[first]}
    assert statements(ada) == ([STATEMENT] if first == "accept" else [])


def test_a_change_that_fails_leaves_the_proposal_open(ada: Person, app: Flask) -> None:
    payload = {"statement": "", "claim_type": "fact", "context_domain": "personal"}
    database = app.extensions[EXTENSION].database
    empty = create_proposal(database=database, user_email=ada.email, kind="memory", payload=payload)
    assert refused(ada.post(f"/api/proposals/{empty.proposal_id}/accept")) == (400, "bad_request")
    assert open_ones(ada) == [empty.proposal_id]
    assert refused(ada.post("/api/tools/add_memory", json={"statement": " "})) == (400, "bad_request")


def test_a_proposal_waits_thirty_days(ada: Person, app: Flask) -> None:
    database = app.extensions[EXTENSION].database
    old, older, fresh = propose(ada, "One"), propose(ada, "Two"), propose(ada, "Three")
    for proposal_id, days in ((old, OPEN_DAYS + 1), (older, KEPT_DAYS + 1)):
        made = update(proposals).where(proposals.c.proposal_id == proposal_id).values(created_at=iso_in(days=-days))
        database.write(lambda connection, made=made: connection.execute(made))
    assert waiting(ada) == 1
    late = ada.post(f"/api/proposals/{old}/accept")
    assert (late.status_code, late.json["details"]) == (409, {"state": "expired"})
    assert expire_proposals(database=database) == 2
    assert (open_ones(ada), set(open_ones(ada, "expired"))) == ([fresh], {old, older})
    assert expire_proposals(database=database) == 0
    assert open_ones(ada, "expired") == [old]


def test_a_kind_that_nobody_knows_is_refused(ada: Person, app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tool_proposals, "APPLY", {})
    proposal_id = propose(ada)
    assert refused(ada.post(f"/api/proposals/{proposal_id}/accept")) == (400, "bad_request")
    assert app


def test_an_erased_conversation_takes_its_proposals_along(ada: Person, app: Flask) -> None:
    conversation_id = ada.new_conversation()
    ids = [event["message_ids"] for event in ada.say(conversation_id, "Hello") if "message_ids" in event][-1]
    create_proposal(
        database=app.extensions[EXTENSION].database,
        user_email=ada.email,
        kind="memory",
        payload={"statement": STATEMENT},
        source_message=ids["response_message_id"],
    )
    assert len(open_ones(ada)) == 1
    ada.delete(f"/delete_conversation/{conversation_id}")
    ada.delete(f"/bin/{conversation_id}")
    assert open_ones(ada) == []
