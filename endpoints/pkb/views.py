"""What the routes of the knowledge base share: whose it is, and how its answers become answers of ours."""

from __future__ import annotations

from typing import Any

from truth_management_system import ActionResult, Claim, StructuredAPI
from truth_management_system.interface.structured_api import ClaimNotFoundError

from ..request_scope import current_state, current_user_email


def knowledge() -> StructuredAPI:
    """What the caller knows. Raises KnowledgeUnavailableError."""
    return current_state().knowledge.for_user(current_user_email())


def given(result: ActionResult) -> Any:
    """The data of an action that succeeded; raises the KnowledgeError of one that failed."""
    if not result.success:
        raise result.metadata["error"]
    return result.data


def audited(result: ActionResult) -> dict[str, Any]:
    """`{"audit_id"}` of a change; None where nothing had to be changed."""
    given(result)
    return {"audit_id": result.metadata.get("audit_id")}


def claim_named(api: StructuredAPI, name: str) -> Claim:
    """The claim that an id, a number or a readable id in an address names. Raises ClaimNotFoundError."""
    claim = api.resolve_claim_identifier(name)
    if claim is None:
        raise ClaimNotFoundError
    return claim


def described(api: StructuredAPI, claim: Claim) -> dict[str, Any]:
    """One claim as a client sees it."""
    return api.describe_claims([claim])[0]
