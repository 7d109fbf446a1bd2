"""Helpers of the knowledge base routes: the caller's knowledge base, and claims as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

from database.history.reading import conversations_of_messages
from endpoints.http.scope import current_state, current_user_email, current_user_scope
from endpoints.serving.work_queues import Work, read_on_loop
from truth_management_system import ActionResult, Claim, ConflictSet, StructuredAPI
from truth_management_system.interface.structured_api import ClaimNotFoundError

_WAIT_FOR_A_MODEL = frozenset({"embedding", "rewrite", "mapreduce"})
"""Search strategies that wait for a model without a limit; `hybrid` waits a bounded time."""
MOST_OF_A_GROUP = 2_000
"""How many claims of a group are returned."""


def knowledge() -> StructuredAPI:
    """The caller's knowledge base. Raises KnowledgeUnavailableError."""
    return current_state().knowledge.for_user(current_user_email())


def work_of_search(parameters: Mapping[str, str], _body: bytes) -> Work:
    """The kind of work that a search with these query parameters is."""
    return Work.MODEL if parameters.get("strategy") in _WAIT_FOR_A_MODEL else Work.SEARCH


def work_of_list(parameters: Mapping[str, str], body: bytes) -> Work:
    """The kind of work that a list of claims with these query parameters is: a search where it has a query."""
    return work_of_search(parameters, body) if parameters.get("query", "").strip() else Work.SHORT


def work_of_note_list(parameters: Mapping[str, str], _body: bytes) -> Work:
    """The kind of work that a list of notes with these query parameters is: a search where it has a query."""
    return Work.SEARCH if parameters.get("q", "").strip() else Work.SHORT


def work_of_text(_parameters: Mapping[str, str], body: bytes) -> Work:
    """The kind of work that a text in words is: a change of memories where rules alone read it."""
    return Work.MEMORIES if _declines_model(body) else Work.MODEL


def work_of_analysis(parameters: Mapping[str, str], body: bytes) -> Work:
    """The kind of work that the analysis of a statement is: a search where rules make the suggestions."""
    by_rules = _declines_model(body) or parameters.get("use_model") == "false"
    return Work.SEARCH if by_rules else Work.MODEL


def _declines_model(body: bytes) -> bool:
    said = read_on_loop(body)
    return isinstance(said, dict) and said.get("use_model") is False


def unwrap(result: ActionResult) -> Any:
    """The data of an action that succeeded; raises the KnowledgeError of one that failed."""
    if not result.success:
        raise result.metadata["error"]
    return result.data


def audit_reference(result: ActionResult) -> dict[str, Any]:
    """`{"audit_id"}` of a change, by which it can be undone; the id is None if nothing was changed."""
    unwrap(result)
    return {"audit_id": result.metadata.get("audit_id")}


def claim_named(api: StructuredAPI, name: str) -> Claim:
    """The claim that an id, a number or a readable id in an address names. Raises ClaimNotFoundError."""
    claim = api.resolve_claim_identifier(name)
    if claim is None:
        raise ClaimNotFoundError
    return claim


def described(api: StructuredAPI, claim: Claim) -> dict[str, Any]:
    """One claim as a client sees it."""
    return described_all(api, [claim])[0]


def described_all(api: StructuredAPI, claims: Sequence[Claim]) -> list[dict[str, Any]]:
    """Claims as a client sees them: each with the message it was learned from, if that still exists."""
    return _with_sources(api.describe_claims(claims))


def described_conflicts(api: StructuredAPI, conflicts: Sequence[ConflictSet]) -> list[dict[str, Any]]:
    """Conflicts as a client sees them."""
    found = api.describe_conflicts(conflicts)
    members = iter(_with_sources([claim for conflict in found for claim in conflict["members"]]))
    return [{**conflict, "members": list(islice(members, len(conflict["members"])))} for conflict in found]


def _with_sources(claims: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    learned_from = {claim["source_activity_id"] for claim in claims} - {None}
    conversations = conversations_of_messages(**current_user_scope(), message_ids=learned_from)
    return [{**claim, "source": _source(claim["source_activity_id"], conversations)} for claim in claims]


def _source(message_id: str | None, conversations: dict[str, str]) -> dict[str, str] | None:
    if message_id is None or message_id not in conversations:
        return None
    return {"message_id": message_id, "conversation_id": conversations[message_id]}
