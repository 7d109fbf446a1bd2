"""Searching claims, completing and resolving references, and statistics."""

from __future__ import annotations

from flask import Blueprint

from chat.context.memories import relevant_memories, rendered_memories
from endpoints.http.models import shape
from endpoints.http.responses import warned
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.serving.work_queues import Work, works

from . import requests, responses
from .claims import filters_of
from .common import MOST_OF_A_GROUP, described_all, knowledge, unwrap, work_of_search

blueprint = Blueprint("pkb_finding", __name__, url_prefix="/pkb")


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
        **warned(found.warnings),
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
@works(Work.SEARCH)
def relevant_context(body: requests.ContextQuestion) -> object:
    """The memories relevant to a question, as a model would get them."""
    api = knowledge()
    claims = [result.claim for result in unwrap(relevant_memories(api, body.query, k=body.k))]
    return {"context": rendered_memories(claims), "claims": described_all(api, claims)}


@blueprint.get("/stats")
@answers(responses.Statistics)
def statistics() -> object:
    """Counts of the knowledge base, and the state of its vectors."""
    return unwrap(knowledge().statistics())
