"""Claims, entities and tags that are there twice: finding them, and making one of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint

from endpoints.http.models import shape
from endpoints.http.responses import warned
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.pkb import requests, responses
from endpoints.pkb.common import audit_reference, described, described_all, knowledge, unwrap
from endpoints.serving.work_queues import Work, works

blueprint = Blueprint("pkb_duplicates", __name__, url_prefix="/pkb")


@blueprint.get("/duplicates/claims")
@answers(responses.DuplicateClaims)
@works(Work.LONG)
def list_duplicate_claims() -> object:
    """Groups of claims that may say the same, by their meaning, the most alike first; 2,000 claims are compared."""
    api = knowledge()
    found = api.find_claim_duplicates()
    groups = unwrap(found)
    ids = [claim_id for group in groups for claim_id in group["claim_ids"]]
    claims = described_all(api, [claim for claim in unwrap(api.get_claims_by_ids(ids)) if claim is not None])
    return {"duplicates": _with_things(groups, "claim", claims, "claims"), **warned(found.warnings)}


@blueprint.get("/duplicates/entities")
@asks(requests.EntityKind)
@answers(shape(duplicates=list[responses.AlikeEntities]))
@works(Work.LONG)
def list_duplicate_entities(query: requests.EntityKind) -> object:
    """Groups of entities of one type whose names may mean one, the most alike first; 2,000 entities are compared."""
    api = knowledge()
    groups = unwrap(api.find_entity_duplicates(query.entity_type))
    ids = [entity_id for group in groups for entity_id in group["entity_ids"]]
    entities = api.describe_entities(api.entities.get_many(ids))
    return {"duplicates": _with_things(groups, "entity", entities, "entities")}


@blueprint.get("/duplicates/tags")
@answers(shape(duplicates=list[responses.AlikeTags]))
@works(Work.LONG)
def list_duplicate_tags() -> object:
    """Groups of tags whose names may mean one, the most alike first; 2,000 tags are compared."""
    api = knowledge()
    groups = unwrap(api.find_tag_duplicates())
    ids = [tag_id for group in groups for tag_id in group["tag_ids"]]
    return {"duplicates": _with_things(groups, "tag", api.describe_tags(api.tags.get_many(ids)), "tags")}


@blueprint.post("/consolidate")
@takes(requests.ClaimsToConsolidate)
@answers(shape(responses.Changed, claim=responses.ClaimItem, superseded=list[str]))
@fails("claim_not_found")
def consolidate(body: requests.ClaimsToConsolidate) -> object:
    """Let one claim supersede others that say the same, and take over their tags, entities and contexts."""
    api = knowledge()
    consolidated = api.consolidate_claims(body.claim_ids, body.keep_id)
    data = unwrap(consolidated)
    return {
        "claim": described(api, data["claim"]),
        "superseded": data["superseded"],
        **audit_reference(consolidated),
    }


@blueprint.post("/entities/<entity_id>/merge")
@takes(requests.MergeTarget)
@answers(shape(responses.Changed, entity=responses.EntityItem, aliases=list[str]))
def merge_entity(entity_id: str, body: requests.MergeTarget) -> object:
    """Let this entity become part of another one, which is known by both names from now on."""
    api = knowledge()
    merged = api.merge_entities(entity_id, body.into)
    data = unwrap(merged)
    entity = api.describe_entities([data["entity"]])[0]
    return {"entity": entity, "aliases": data["aliases"], **audit_reference(merged)}


@blueprint.post("/tags/<tag_id>/merge")
@takes(requests.MergeTarget)
@answers(shape(responses.Changed, tag=responses.TagItem))
def merge_tag(tag_id: str, body: requests.MergeTarget) -> object:
    """Let this tag, with its claims and all below it, become part of another one."""
    api = knowledge()
    merged = api.merge_tags(tag_id, body.into)
    return {"tag": api.describe_tags([unwrap(merged)["tag"]])[0], **audit_reference(merged)}


def _with_things(
    groups: Sequence[Mapping[str, Any]], noun: str, things: Sequence[Mapping[str, Any]], plural: str
) -> list[dict[str, Any]]:
    """The groups with what their ids name in the place of the ids."""
    by_id = {thing[f"{noun}_id"]: thing for thing in things}
    return [
        {
            plural: [by_id[identity] for identity in group[f"{noun}_ids"] if identity in by_id],
            "suggested_keep_id": group["suggested_keep_id"],
            "max_similarity": group["max_similarity"],
        }
        for group in groups
    ]
