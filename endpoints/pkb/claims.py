"""Claims: listing, adding, changing, pinning; searching them, resolving references, and statistics."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from flask import Blueprint

from chat.context.memories import relevant_memories, rendered_memories
from database.conversations.repository import FIELD as PINNED
from database.conversations.repository import pin_claim, unpin_claim
from database.history.reading import message_location
from endpoints.http.models import shape
from endpoints.http.responses import warned
from endpoints.http.scope import access_conversation, current_user_scope
from endpoints.http.validation import admits_read_only_tokens, answers, asks, fails, takes
from endpoints.pkb import requests, responses
from endpoints.pkb.common import (
    MOST_OF_A_GROUP,
    audit_reference,
    claim_named,
    described,
    described_all,
    knowledge,
    unwrap,
    work_of_list,
    work_of_search,
)
from endpoints.serving.work_queues import Work, works
from sentences import Sentence, say
from truth_management_system import ActionResult, Claim, SearchFilters, StructuredAPI
from truth_management_system.interface.structured_api import MOST_FOUND, is_near

blueprint = Blueprint("pkb_claims", __name__, url_prefix="/pkb")
_ANY_STATUS = "all"


@blueprint.get("/claims")
@asks(requests.ClaimFilter)
@answers(responses.ClaimPage)
@fails("context_not_found", "entity_not_found", "tag_not_found", "reference_not_found", "ambiguous")
@works(work_of_list)
def list_claims(query: requests.ClaimFilter) -> object:
    """Claims, newest change first; with `query` those that a search finds, best first, 1,000 at most.

    Types and domains are compared as they are stored: "Life Ops" is `life_ops`. Where nothing is found, `warnings` name
    one that there is none of.
    """
    api = knowledge()
    filters = filters_of(api, query)
    if query.query.strip():
        return _found(api, query, filters)
    page = unwrap(api.list_claims(filters, limit=query.limit, offset=query.offset))
    return {
        "claims": described_all(api, page["claims"]),
        "count": len(page["claims"]),
        "total_count": page["total_count"],
        **warned([] if page["total_count"] else _unknown(api, query)),
    }


@blueprint.post("/claims")
@takes(requests.NewClaim)
@answers(responses.AddedClaim, status=HTTPStatus.CREATED)
@fails("claim_not_found", "conflict", "context_not_found", "message_not_found")
def add_claim(body: requests.NewClaim) -> object:
    """Remember something; `similar` are near duplicates and contradictions."""
    api = knowledge()
    fields = body.model_dump(exclude={"source_message_id"})
    added = api.add_claim(**fields, source_activity_id=_source(body.source_message_id), suggest_similar=True)
    claim = unwrap(added)
    return {
        "claim": described(api, claim),
        "similar": similar_claims(api, added.metadata["similar"]),
        **warned(added.warnings),
        **audit_reference(added),
    }


@blueprint.post("/claims/bulk")
@takes(requests.NewClaims)
@answers(responses.BulkAdded)
@fails("conflict")
@works(Work.LONG)
def add_claims(body: requests.NewClaims) -> object:
    """Remember up to 100 things as one change; each has its own result."""
    added = knowledge().add_claims_bulk(body.claims, client_id=body.client_id)
    return {**unwrap(added), **audit_reference(added)}


@blueprint.post("/claims/bulk_change")
@takes(requests.ClaimsChange)
@answers(shape(responses.Changed, results=list[responses.ChangeResult]))
@works(Work.LONG)
def change_claims(body: requests.ClaimsChange) -> object:
    """One change to many claims, with one undo."""
    changed = knowledge().change_claims(body.claim_ids, body.change, body.value)
    return {**unwrap(changed), **audit_reference(changed)}


@blueprint.get("/claims/by-friendly-id/<friendly_id>")
@answers(shape(claim=responses.ClaimItem))
@fails("claim_not_found")
def get_claim_by_friendly_id(friendly_id: str) -> object:
    """A claim by its readable id."""
    api = knowledge()
    return {"claim": described(api, unwrap(api.get_claim_by_friendly_id(friendly_id)))}


@blueprint.get("/claims/<claim_id>")
@answers(shape(claim=responses.ClaimItem))
def get_claim(claim_id: str) -> object:
    """A claim by its id, its number or its readable id."""
    api = knowledge()
    return {"claim": described(api, claim_named(api, claim_id))}


@blueprint.put("/claims/<claim_id>")
@takes(requests.ClaimChange)
@answers(shape(responses.Changed, claim=responses.ClaimItem))
@fails("conflict")
def edit_claim(claim_id: str, body: requests.ClaimChange) -> object:
    """Change a claim. 409 where `based_on` no longer fits.

    400 for the `status` `contested` without an open conflict (`POST /pkb/conflicts`), `superseded` without a successor
    (`POST /pkb/claims/<claim_id>/supersede`), and `active` before the claim's conflict is resolved.
    """
    api = knowledge()
    claim = claim_named(api, claim_id)
    return _changed(api, api.edit_claim(claim.claim_id, by_hand=True, **body.model_dump(exclude_unset=True)))


@blueprint.delete("/claims/<claim_id>")
@answers(shape(responses.Changed, claim=responses.ClaimItem))
def retract_claim(claim_id: str) -> object:
    """Retract a claim; it stays, with status `retracted`, and can be named."""
    api = knowledge()
    return _changed(api, api.delete_claim(claim_named(api, claim_id).claim_id))


@blueprint.post("/claims/<claim_id>/supersede")
@takes(requests.Successor)
@answers(shape(responses.Changed, claim=responses.ClaimItem))
@fails("conflict")
def supersede_claim(claim_id: str, body: requests.Successor) -> object:
    """Supersede this claim by another one."""
    api = knowledge()
    old, new = claim_named(api, claim_id), claim_named(api, body.by)
    superseded = api.supersede_claim(new.claim_id, old.claim_id)
    unwrap(superseded)
    return {"claim": described(api, claim_named(api, old.claim_id)), **audit_reference(superseded)}


@blueprint.put("/claims/<claim_id>/pin")
@answers(shape(responses.Changed, claim=responses.ClaimItem))
def pin(claim_id: str) -> object:
    """Pin a claim: it goes into every conversation."""
    api = knowledge()
    return _changed(api, api.pin_claim(claim_named(api, claim_id).claim_id))


@blueprint.delete("/claims/<claim_id>/pin")
@answers(shape(responses.Changed, claim=responses.ClaimItem))
def unpin(claim_id: str) -> object:
    """Unpin a claim."""
    api = knowledge()
    return _changed(api, api.pin_claim(claim_named(api, claim_id).claim_id, pin=False))


@blueprint.get("/pinned")
@answers(shape(claims=list[responses.ClaimItem]))
def list_pinned() -> object:
    """The claims that go into every conversation."""
    api = knowledge()
    return {"claims": described_all(api, unwrap(api.get_pinned_claims(200)))}


@blueprint.put("/conversation/<conversation_id>/pin")
@takes(requests.PinnedClaim)
@answers(shape(claim_ids=list[str]))
@fails("claim_not_found")
def pin_to_conversation(conversation_id: str, body: requests.PinnedClaim) -> object:
    """Pin a claim to one conversation: it goes into every turn there."""
    conversation = access_conversation(conversation_id)
    claim = claim_named(knowledge(), body.claim_id)
    ids = pin_claim(**current_user_scope(), conversation_id=conversation.conversation_id, claim_id=claim.claim_id)
    return {"claim_ids": ids}


@blueprint.delete("/conversation/<conversation_id>/pin")
@takes(requests.PinnedClaim)
@answers(shape(claim_ids=list[str]))
@fails("claim_not_found")
def unpin_from_conversation(conversation_id: str, body: requests.PinnedClaim) -> object:
    """Unpin a claim, also a deleted one, from a conversation."""
    conversation = access_conversation(conversation_id)
    claim = knowledge().resolve_claim_identifier(body.claim_id)
    claim_id = claim.claim_id if claim is not None else body.claim_id
    ids = unpin_claim(**current_user_scope(), conversation_id=conversation.conversation_id, claim_id=claim_id)
    return {"claim_ids": ids}


@blueprint.get("/conversation/<conversation_id>/pinned")
@answers(shape(claims=list[responses.ClaimItem]))
def list_pinned_to_conversation(conversation_id: str) -> object:
    """The claims pinned to a conversation, oldest pin first."""
    ids = access_conversation(conversation_id).get_field(PINNED) or []
    api = knowledge()
    claims = [claim for claim in unwrap(api.get_claims_by_ids(ids)) if claim is not None]
    return {"claims": described_all(api, claims)}


def filters_of(api: StructuredAPI, query: requests.ClaimFilter) -> SearchFilters:
    """The filters that a query asks for. Raises KnowledgeNotFoundError for an unknown group."""
    filters = SearchFilters(pinned=query.pinned)
    if query.status == _ANY_STATUS:
        filters.statuses = []
    elif query.status != "active":
        filters.statuses = [query.status]
    filters.claim_types = api.type_catalog.spellings(query.claim_type) if query.claim_type else []
    filters.context_domains = api.domain_catalog.spellings(query.context_domain) if query.context_domain else []
    filters.tags = _ids(api.tags, query.tag)
    filters.entities = _ids(api.entities, query.entity)
    filters.contexts = _ids(api.contexts, query.context)
    filters.claim_ids = _ids_of_group(api, query.group) if query.group else []
    return filters


def _unknown(api: StructuredAPI, query: requests.ClaimFilter) -> list[Sentence]:
    """What to say of a filter that may be why nothing is found: that there is no such type or domain."""
    asked = ((api.type_catalog, query.claim_type), (api.domain_catalog, query.context_domain))
    return [say(f"no_such_{catalog.noun}", name=name) for catalog, name in asked if name and not catalog.lists(name)]


def _ids_of_group(api: StructuredAPI, reference: str) -> list[str]:
    found = unwrap(api.resolve_reference(reference, limit=MOST_OF_A_GROUP))
    # Of an empty list, the filter would restrict nothing.
    return [claim.claim_id for claim in found["claims"]] or [""]


def similar_claims(api: StructuredAPI, similar: list[Any]) -> list[dict[str, Any]]:
    """Near duplicates and contradictions as a client sees them."""
    described_claims = described_all(api, [one.claim for one in similar])
    return [
        {"claim": claim, "similarity": one.similarity, "kind": one.kind}
        for one, claim in zip(similar, described_claims, strict=True)
    ]


def _ids(groups: Any, name: str | None) -> list[str]:
    if not name:
        return []
    group = groups.get(name) or groups.get_by_friendly_id(name.removeprefix("@"))
    found = [group] if group is not None else groups.find_by_name(name)
    if not found:
        raise groups.not_found
    return [getattr(each, groups.key) for each in found]


def _found(api: StructuredAPI, query: requests.ClaimFilter, filters: SearchFilters) -> object:
    # Every page is a slice of the same ranking: a ranking of another length may have another order.
    found = api.search(query.query, strategy=query.strategy, k=MOST_FOUND, filters=filters)
    ranked = unwrap(found)
    # Search by meaning returns the nearest claims however far they are; distant ones are dropped.
    fitting = [result for result in ranked if is_near(result, query.query)]
    cut_off = len(ranked) == MOST_FOUND and is_near(ranked[-1], query.query)
    results = fitting[query.offset : query.offset + query.limit]
    claims = described_all(api, [result.claim for result in results])
    warnings = [*found.warnings, *([] if fitting else _unknown(api, query))]
    return {
        "claims": [{**claim, "score": result.score} for claim, result in zip(claims, results, strict=True)],
        "count": len(results),
        "total_count": len(fitting),
        **warned([*warnings, *([say("best_shown", count=len(fitting))] if cut_off else [])]),
    }


def _changed(api: StructuredAPI, result: ActionResult) -> object:
    claim: Claim = unwrap(result)
    return {"claim": described(api, claim), **audit_reference(result)}


def _source(message_id: str | None) -> str | None:
    """The message that a claim was learned from; it has to be the caller's. Raises MessageNotFoundError."""
    if message_id is not None:
        message_location(**current_user_scope(), message_id=message_id)
    return message_id


@blueprint.get("/search")
@asks(requests.ClaimSearch)
@answers(responses.ClaimSearchResults)
@fails("context_not_found", "reference_not_found", "ambiguous", "model_unavailable")
@works(work_of_search)
def search(query: requests.ClaimSearch) -> object:
    """The claims that match `q`, best first; `warnings` name searches that were unavailable."""
    api = knowledge()
    text = query.q or query.query
    found = api.search(text, strategy=query.strategy, k=query.k, filters=filters_of(api, query))
    results = unwrap(found)
    claims = described_all(api, [result.claim for result in results])
    return {
        "results": [
            {
                "claim": claim,
                "score": result.score,
                "source": result.source,
                "is_contested": result.is_contested,
                **warned(result.warnings),
            }
            for claim, result in zip(claims, results, strict=True)
        ],
        **warned([*found.warnings, *([] if results else _unknown(api, query))]),
    }


@blueprint.get("/autocomplete")
@asks(requests.Completion)
@answers(responses.Completions)
def autocomplete(query: requests.Completion) -> object:
    """Completions of a reference that begins with `q`, or has its words."""
    return unwrap(knowledge().autocomplete(query.q, limit=query.limit))


@blueprint.get("/resolve/<path:reference>")
@answers(responses.ResolvedReference)
@fails("ambiguous")
def resolve(reference: str) -> object:
    """The claims of a reference, of a group the newest 2,000; 409 `ambiguous` lists the candidates in `details`.

    `a_domain&b_tag` is the claims that all of up to four groups hold; `missing` in the `details` of a 404 are those
    that are not there.
    """
    api = knowledge()
    found = unwrap(api.resolve_reference(reference, limit=MOST_OF_A_GROUP))
    names = {name: found[name] for name in ("type", "total_count", "source_id", "source_name", "notes")}
    names["joins"] = found.get("joins", [])
    status = "resolved" if found["claims"] else "empty"
    return {**names, "status": status, "claims": described_all(api, found["claims"])}


@blueprint.post("/relevant_context")
@takes(requests.ContextQuestion)
@answers(shape(context=str, claims=list[responses.ClaimItem]))
@fails("model_unavailable")
@admits_read_only_tokens
@works(Work.SEARCH)
def relevant_context(body: requests.ContextQuestion) -> object:
    """The memories relevant to a question, as a model would get them. Changes nothing: a read-only token may ask."""
    api = knowledge()
    claims = [result.claim for result in unwrap(relevant_memories(api, body.query, k=body.k))]
    return {"context": rendered_memories(claims), "claims": described_all(api, claims)}


@blueprint.get("/stats")
@answers(responses.Statistics)
def statistics() -> object:
    """Counts of the knowledge base, and the state of its vectors."""
    return unwrap(knowledge().statistics())
