"""Every way in which a request can name something in a knowledge base, and somebody's things to try them with."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any

from werkzeug.test import TestResponse

from tests.endpoints.conftest import Person

MISSING = {
    "claim_id": "00000000-0000-4000-8000-00000000000a",
    "context_id": "00000000-0000-4000-8000-00000000000b",
    "entity_id": "00000000-0000-4000-8000-00000000000c",
    "tag_id": "00000000-0000-4000-8000-00000000000d",
    "second_claim_id": "00000000-0000-4000-8000-00000000001a",
    "second_context_id": "00000000-0000-4000-8000-00000000001b",
    "second_tag_id": "00000000-0000-4000-8000-00000000001c",
    "second_entity_id": "00000000-0000-4000-8000-00000000001d",
    "note_id": "00000000-0000-4000-8000-000000000012",
    "conflict_id": "00000000-0000-4000-8000-00000000000e",
    "audit_id": "00000000-0000-4000-8000-00000000000f",
    "plan_id": "00000000-0000-4000-8000-000000000010",
    "message_id": "00000000-0000-4000-8000-000000000011",
    "conversation_id": "ada@example.org_" + "z" * 36,
    "friendly_id": "nothing_here_0000",
    "reference": "nothing_here_0000",
}
CLAIM_DRAFT = {"statement": "Of mine"}


@dataclass(frozen=True)
class Probe:
    """One request; `<name>` in address and body stands for an id. own: ids for which the asker's own are taken."""

    method: str
    path: str
    body: Any = None
    status: int = 404
    own: frozenset[str] = frozenset()

    def ask(self, person: Person, ids: dict[str, str]) -> TestResponse:
        """Send it with these ids."""
        body = json.loads(_filled(json.dumps(self.body), ids))
        return person.request(self.method, _filled(self.path, ids), json=body)


def _filled(text: str, ids: dict[str, str]) -> str:
    return re.sub(r"<(?:\w+:)?(\w+)>", lambda match: ids[match[1]], text)


def _mine(*names: str) -> frozenset[str]:
    return frozenset(names)


BY_ADDRESS = [
    Probe("GET", "/pkb/claims/<claim_id>"),
    Probe("PUT", "/pkb/claims/<claim_id>", {"statement": "Mine now"}),
    Probe("DELETE", "/pkb/claims/<claim_id>"),
    Probe("GET", "/pkb/claims/by-friendly-id/<friendly_id>"),
    Probe("PUT", "/pkb/claims/<claim_id>/pin"),
    Probe("DELETE", "/pkb/claims/<claim_id>/pin"),
    Probe("POST", "/pkb/claims/<claim_id>/supersede", {"by": "<claim_id>"}),
    Probe("GET", "/pkb/claims/<claim_id>/contexts"),
    Probe("GET", "/pkb/claims/<claim_id>/entities"),
    Probe("GET", "/pkb/claims/<claim_id>/tags"),
    Probe("PUT", "/pkb/claims/<claim_id>/entities/<entity_id>", {"role": "subject"}),
    Probe("DELETE", "/pkb/claims/<claim_id>/entities/<entity_id>"),
    Probe("PUT", "/pkb/claims/<claim_id>/tags/<tag_id>"),
    Probe("DELETE", "/pkb/claims/<claim_id>/tags/<tag_id>"),
    Probe("GET", "/pkb/contexts/<context_id>"),
    Probe("PUT", "/pkb/contexts/<context_id>", {"name": "Mine now"}),
    Probe("DELETE", "/pkb/contexts/<context_id>"),
    Probe("GET", "/pkb/contexts/<context_id>/claims"),
    Probe("GET", "/pkb/contexts/<context_id>/resolve"),
    Probe("PUT", "/pkb/contexts/<context_id>/claims/<claim_id>"),
    Probe("DELETE", "/pkb/contexts/<context_id>/claims/<claim_id>"),
    Probe("PUT", "/pkb/entities/<entity_id>", {"name": "Mine now"}),
    Probe("DELETE", "/pkb/entities/<entity_id>"),
    Probe("PUT", "/pkb/tags/<tag_id>", {"name": "Mine now"}),
    Probe("DELETE", "/pkb/tags/<tag_id>"),
    Probe("POST", "/pkb/conflicts/<conflict_id>/resolve", {"winning_claim_id": "<claim_id>"}),
    Probe("GET", "/pkb/notes/<note_id>"),
    Probe("PUT", "/pkb/notes/<note_id>", {"body": "Mine now"}),
    Probe("DELETE", "/pkb/notes/<note_id>"),
    Probe("POST", "/pkb/entities/<entity_id>/merge", {"into": "<second_entity_id>"}),
    Probe("POST", "/pkb/tags/<tag_id>/merge", {"into": "<second_tag_id>"}),
    Probe("POST", "/pkb/undo/<audit_id>"),
    Probe("GET", "/pkb/resolve/<path:reference>"),
    Probe("GET", "/pkb/conversation/<conversation_id>/pinned"),
    Probe("PUT", "/pkb/conversation/<conversation_id>/pin", {"claim_id": "<claim_id>"}),
    Probe("DELETE", "/pkb/conversation/<conversation_id>/pin", {"claim_id": "<claim_id>"}),
]

BY_BODY_OR_QUERY = [
    Probe("GET", "/pkb/claims?tag=<tag_id>"),
    Probe("GET", "/pkb/claims?entity=<entity_id>"),
    Probe("GET", "/pkb/claims?context=<context_id>"),
    Probe("GET", "/pkb/search?q=knee&context=<context_id>"),
    Probe("POST", "/pkb/claims", {**CLAIM_DRAFT, "contexts": ["<context_id>"]}),
    Probe("POST", "/pkb/claims", {**CLAIM_DRAFT, "supersedes": "<claim_id>"}),
    Probe("POST", "/pkb/claims", {**CLAIM_DRAFT, "source_message_id": "<message_id>"}),
    Probe("POST", "/pkb/claims/bulk", {"claims": [{**CLAIM_DRAFT, "contexts": ["<context_id>"]}]}, status=200),
    Probe("POST", "/pkb/claims/bulk_change", {"claim_ids": ["<claim_id>"], "change": "retract"}, status=200),
    Probe(
        "POST",
        "/pkb/claims/bulk_change",
        {"claim_ids": ["<claim_id>"], "change": "add_to_context", "value": "<context_id>"},
        status=200,
        own=_mine("claim_id"),
    ),
    Probe("POST", "/pkb/contexts", {"name": "Below", "parent_context_id": "<context_id>"}),
    Probe("POST", "/pkb/tags", {"name": "Below", "parent_tag_id": "<tag_id>"}),
    Probe("POST", "/pkb/conflicts", {"claim_ids": ["<claim_id>", "<second_claim_id>"]}),
    Probe("POST", "/pkb/consolidate", {"claim_ids": ["<claim_id>", "<second_claim_id>"]}),
    Probe("POST", "/pkb/consolidate", {"claim_ids": ["<claim_id>", "<second_claim_id>"]}, own=_mine("second_claim_id")),
    Probe("POST", "/pkb/entities/<entity_id>/merge", {"into": "<second_entity_id>"}, own=_mine("entity_id")),
    Probe("POST", "/pkb/entities/<entity_id>/merge", {"into": "<second_entity_id>"}, own=_mine("second_entity_id")),
    Probe("POST", "/pkb/tags/<tag_id>/merge", {"into": "<second_tag_id>"}, own=_mine("tag_id")),
    Probe("POST", "/pkb/tags/<tag_id>/merge", {"into": "<second_tag_id>"}, own=_mine("second_tag_id")),
    Probe("POST", "/pkb/text/confirm", {"action": "forget", "claim_id": "<claim_id>"}),
    Probe("POST", "/pkb/execute_ingest", {"plan_id": "<plan_id>", "approved": "all"}),
    Probe("POST", "/pkb/execute_updates", {"plan_id": "<plan_id>", "approved": "all"}),
    Probe("POST", "/pkb/propose_updates", {"conversation_id": "<conversation_id>", "message_id": "<message_id>"}),
    Probe(
        "POST",
        "/pkb/propose_updates",
        {"conversation_id": "<conversation_id>", "message_id": "<message_id>"},
        own=_mine("conversation_id"),
    ),
    # One's own claim or group, and another's.
    Probe("POST", "/pkb/claims/<claim_id>/supersede", {"by": "<second_claim_id>"}, own=_mine("claim_id")),
    Probe("PUT", "/pkb/claims/<claim_id>/tags/<tag_id>", own=_mine("claim_id")),
    Probe("PUT", "/pkb/claims/<claim_id>/tags/<tag_id>", own=_mine("tag_id")),
    Probe("PUT", "/pkb/claims/<claim_id>/entities/<entity_id>", own=_mine("claim_id")),
    Probe("PUT", "/pkb/claims/<claim_id>/entities/<entity_id>", own=_mine("entity_id")),
    Probe("PUT", "/pkb/contexts/<context_id>/claims/<claim_id>", own=_mine("claim_id")),
    Probe("PUT", "/pkb/contexts/<context_id>/claims/<claim_id>", own=_mine("context_id")),
    Probe("PUT", "/pkb/contexts/<context_id>", {"parent_context_id": "<second_context_id>"}, own=_mine("context_id")),
    Probe("PUT", "/pkb/tags/<tag_id>", {"parent_tag_id": "<second_tag_id>"}, own=_mine("tag_id")),
    Probe(
        "POST", "/pkb/conflicts/<conflict_id>/resolve", {"winning_claim_id": "<claim_id>"}, 400, _mine("conflict_id")
    ),
    Probe("PUT", "/pkb/conversation/<conversation_id>/pin", {"claim_id": "<claim_id>"}, own=_mine("conversation_id")),
    Probe(
        "DELETE",
        "/pkb/conversation/<conversation_id>/pin",
        {"claim_id": "<claim_id>"},
        status=200,
        own=_mine("conversation_id"),
    ),
]

WITHOUT_ID = {
    ("GET", "/pkb/audit"),
    ("GET", "/pkb/autocomplete"),
    ("GET", "/pkb/conflicts"),
    ("GET", "/pkb/contexts"),
    ("GET", "/pkb/domains"),
    ("GET", "/pkb/duplicates/claims"),
    ("GET", "/pkb/duplicates/entities"),
    ("GET", "/pkb/duplicates/tags"),
    ("GET", "/pkb/entities"),
    ("GET", "/pkb/export"),
    ("GET", "/pkb/notes"),
    ("GET", "/pkb/pinned"),
    ("GET", "/pkb/stats"),
    ("GET", "/pkb/tags"),
    ("GET", "/pkb/types"),
    ("POST", "/pkb/analyze_statement"),
    ("POST", "/pkb/domains"),
    ("POST", "/pkb/entities"),
    ("POST", "/pkb/import"),
    ("POST", "/pkb/ingest_text"),
    ("POST", "/pkb/notes"),
    ("POST", "/pkb/relevant_context"),
    ("POST", "/pkb/text"),
    ("POST", "/pkb/types"),
}

ENTERED = {(probe.method, probe.path.partition("?")[0]) for probe in [*BY_ADDRESS, *BY_BODY_OR_QUERY]} | WITHOUT_ID


def things_of(person: Person) -> dict[str, str]:
    """One thing of each kind that `person` owns, by the name of its id; statements begin with their name."""
    said = f"{person.email} has a sore knee"
    claim = person.remember(said, tags=["Running"], entities=[{"name": "Mother", "type": "person"}])
    second = person.remember(f"{person.email} has no sore knee")
    contexts = [_made(person, "/pkb/contexts", "context", name=name) for name in ("Health Goals", "Elsewhere")]
    tags = [person.get("/pkb/tags").json["tags"][0], _made(person, "/pkb/tags", "tag", name="Walking")]
    entity = person.get("/pkb/entities").json["entities"][0]
    second_entity = _made(person, "/pkb/entities", "entity", name="Mum", entity_type="person")
    note = _made(person, "/pkb/notes", "note", body=f"{person.email} keeps this to themselves")
    filed = person.put(f"/pkb/contexts/{contexts[0]['context_id']}/claims/{claim.claim_id}")
    both = [claim.claim_id, second.claim_id]
    conflict = _made(person, "/pkb/conflicts", "conflict", claim_ids=both)
    text = f"{person.email} likes tea in the morning."
    plan = person.post("/pkb/ingest_text", json={"text": text, "use_model": False}).json
    conversation_id = person.new_conversation()
    last = [event["message_ids"] for event in person.say(conversation_id, "Hello") if "message_ids" in event][-1]
    return {
        "claim_id": claim.claim_id,
        "second_claim_id": second.claim_id,
        "friendly_id": claim.friendly_id,
        "reference": claim.friendly_id,
        "context_id": contexts[0]["context_id"],
        "second_context_id": contexts[1]["context_id"],
        "tag_id": tags[0]["tag_id"],
        "second_tag_id": tags[1]["tag_id"],
        "entity_id": entity["entity_id"],
        "second_entity_id": second_entity["entity_id"],
        "note_id": note["note_id"],
        "conflict_id": conflict["conflict_set_id"],
        "audit_id": filed.json["audit_id"],
        "plan_id": plan["plan_id"],
        "conversation_id": conversation_id,
        "message_id": last["user_message_id"],
    }


def _made(person: Person, path: str, noun: str, **body: Any) -> dict[str, Any]:
    answer = person.post(path, json=body)
    assert answer.status_code == 201, answer.get_data(as_text=True)
    made: dict[str, Any] = answer.json[noun]
    return made
