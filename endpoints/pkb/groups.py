"""Contexts, entities, tags, types, domains: how claims are filed."""

from __future__ import annotations

from collections.abc import Sequence
from http import HTTPStatus

from flask import Blueprint

from endpoints.http.models import shape
from endpoints.http.validation import answers, asks, fails, takes
from endpoints.pkb import requests, responses
from endpoints.pkb.common import audit_reference, claim_named, described_all, knowledge, unwrap

blueprint = Blueprint("pkb_groups", __name__, url_prefix="/pkb")


@blueprint.get("/contexts")
@answers(shape(contexts=list[responses.ContextItem]))
def list_contexts() -> object:
    """All contexts, flat; their parents make the tree."""
    return {"contexts": knowledge().describe_contexts()}


@blueprint.post("/contexts")
@takes(requests.ContextDraft)
@answers(shape(responses.Changed, context=responses.ContextItem), status=HTTPStatus.CREATED)
@fails("conflict", "context_not_found")
def create_context(body: requests.ContextDraft) -> object:
    """A new context."""
    api = knowledge()
    added = api.add_context(**body.model_dump())
    context = unwrap(added)
    return {"context": api.describe_context(context), **audit_reference(added)}


@blueprint.get("/contexts/<context_id>")
@answers(shape(context=responses.ContextItem))
def get_context(context_id: str) -> object:
    """One context."""
    api = knowledge()
    return {"context": api.describe_context(unwrap(api.get_context(context_id)))}


@blueprint.put("/contexts/<context_id>")
@takes(requests.ContextChange)
@answers(shape(responses.Changed, context=responses.ContextItem))
@fails("conflict")
def edit_context(context_id: str, body: requests.ContextChange) -> object:
    """Rename, describe or move a context; below itself is a 400."""
    api = knowledge()
    edited = api.edit_context(context_id, **body.model_dump(exclude_unset=True))
    return {"context": api.describe_context(unwrap(edited)), **audit_reference(edited)}


@blueprint.delete("/contexts/<context_id>")
@answers(responses.Changed)
def delete_context(context_id: str) -> object:
    """Delete a context; its children move up, its claims stay."""
    return audit_reference(knowledge().delete_context(context_id))


@blueprint.get("/contexts/<context_id>/claims")
@asks(requests.Page)
@answers(shape(claims=list[responses.ClaimItem], total_count=int))
def list_claims_of_context(context_id: str, query: requests.Page) -> object:
    """The claims directly in a context, newest change first."""
    api = knowledge()
    context = unwrap(api.get_context(context_id))
    claims = api.contexts.claims_of(context_id, limit=query.limit, offset=query.offset)
    count = api.describe_context(context)["claim_count"]
    return {"claims": described_all(api, claims), "total_count": count}


@blueprint.put("/contexts/<context_id>/claims/<claim_id>")
@answers(responses.Changed)
def file_claim(context_id: str, claim_id: str) -> object:
    """File a claim in a context."""
    api = knowledge()
    unwrap(api.get_context(context_id))
    return audit_reference(api.add_claim_to_context(context_id, claim_named(api, claim_id).claim_id))


@blueprint.delete("/contexts/<context_id>/claims/<claim_id>")
@answers(responses.Changed)
def unfile_claim(context_id: str, claim_id: str) -> object:
    """Remove a claim from a context."""
    api = knowledge()
    unwrap(api.get_context(context_id))
    return audit_reference(api.remove_claim_from_context(context_id, claim_named(api, claim_id).claim_id))


@blueprint.get("/contexts/<context_id>/resolve")
@answers(shape(claims=list[responses.ClaimItem]))
def resolve_context(context_id: str) -> object:
    """The active and contested claims of a context and of all below it."""
    api = knowledge()
    return {"claims": described_all(api, unwrap(api.resolve_context(context_id)))}


@blueprint.get("/claims/<claim_id>/contexts")
@answers(shape(contexts=list[responses.ContextItem]))
def list_contexts_of_claim(claim_id: str) -> object:
    """The contexts that a claim is filed in."""
    api = knowledge()
    contexts = api.contexts.contexts_of(claim_named(api, claim_id).claim_id)
    return {"contexts": api.describe_some_contexts(contexts)}


@blueprint.get("/entities")
@asks(requests.GroupFilter)
@answers(shape(entities=list[responses.EntityItem], total_count=int))
def list_entities(query: requests.GroupFilter) -> object:
    """People, places and other things that claims are about, by name."""
    api = knowledge()
    entities = api.entities.list(limit=query.limit, offset=query.offset, query=query.q)
    total = api.entities.count(query=query.q)
    return {"entities": api.describe_entities(entities), "total_count": total}


@blueprint.post("/entities")
@takes(requests.EntityDraft)
@answers(shape(responses.Changed, entity=responses.EntityItem), status=HTTPStatus.CREATED)
@fails("conflict")
def create_entity(body: requests.EntityDraft) -> object:
    """A new entity."""
    api = knowledge()
    added = api.add_entity(**body.model_dump())
    entity = unwrap(added)
    return {"entity": api.describe_entities([entity])[0], **audit_reference(added)}


@blueprint.put("/entities/<entity_id>")
@takes(requests.EntityChange)
@answers(shape(responses.Changed, entity=responses.EntityItem))
@fails("conflict")
def edit_entity(entity_id: str, body: requests.EntityChange) -> object:
    """Change an entity."""
    api = knowledge()
    edited = api.edit_entity(entity_id, **body.model_dump(exclude_unset=True))
    return {"entity": api.describe_entities([unwrap(edited)])[0], **audit_reference(edited)}


@blueprint.delete("/entities/<entity_id>")
@answers(responses.Changed)
def delete_entity(entity_id: str) -> object:
    """Delete an entity; its claims stay."""
    return audit_reference(knowledge().delete_entity(entity_id))


@blueprint.get("/tags")
@asks(requests.GroupFilter)
@answers(shape(tags=list[responses.TagItem], total_count=int))
def list_tags(query: requests.GroupFilter) -> object:
    """Labels, by name; their parents make the tree."""
    api = knowledge()
    tags = api.tags.list(limit=query.limit, offset=query.offset, query=query.q)
    return {"tags": api.describe_tags(tags), "total_count": api.tags.count(query=query.q)}


@blueprint.post("/tags")
@takes(requests.TagDraft)
@answers(shape(responses.Changed, tag=responses.TagItem), status=HTTPStatus.CREATED)
@fails("conflict", "tag_not_found")
def create_tag(body: requests.TagDraft) -> object:
    """A new tag."""
    api = knowledge()
    added = api.add_tag(**body.model_dump())
    tag = unwrap(added)
    return {"tag": api.describe_tags([tag])[0], **audit_reference(added)}


@blueprint.put("/tags/<tag_id>")
@takes(requests.TagChange)
@answers(shape(responses.Changed, tag=responses.TagItem))
@fails("conflict")
def edit_tag(tag_id: str, body: requests.TagChange) -> object:
    """Rename or move a tag; below itself is a 400."""
    api = knowledge()
    edited = api.edit_tag(tag_id, **body.model_dump(exclude_unset=True))
    return {"tag": api.describe_tags([unwrap(edited)])[0], **audit_reference(edited)}


@blueprint.delete("/tags/<tag_id>")
@answers(responses.Changed)
def delete_tag(tag_id: str) -> object:
    """Delete a tag; its children move up, its claims stay."""
    return audit_reference(knowledge().delete_tag(tag_id))


@blueprint.get("/claims/<claim_id>/tags")
@answers(shape(tags=list[responses.TagItem]))
def list_tags_of_claim(claim_id: str) -> object:
    """The tags of a claim."""
    api = knowledge()
    tags = unwrap(api.get_claim_tags_list(claim_named(api, claim_id).claim_id))
    return {"tags": api.describe_tags(tags)}


@blueprint.put("/claims/<claim_id>/tags/<tag_id>")
@answers(responses.Changed)
def tag_claim(claim_id: str, tag_id: str) -> object:
    """Add a tag to a claim."""
    api = knowledge()
    return audit_reference(api.link_tag_to_claim(claim_named(api, claim_id).claim_id, tag_id))


@blueprint.delete("/claims/<claim_id>/tags/<tag_id>")
@answers(responses.Changed)
def untag_claim(claim_id: str, tag_id: str) -> object:
    """Remove a tag from a claim."""
    api = knowledge()
    return audit_reference(api.unlink_tag_from_claim(claim_named(api, claim_id).claim_id, tag_id))


@blueprint.get("/claims/<claim_id>/entities")
@answers(shape(entities=list[responses.EntityWithRole]))
def list_entities_of_claim(claim_id: str) -> object:
    """The entities that a claim is about, with their roles."""
    api = knowledge()
    pairs = unwrap(api.get_claim_entities_list(claim_named(api, claim_id).claim_id))
    entities = api.describe_entities([entity for entity, _ in pairs])
    roles = [role for _, role in pairs]
    return {"entities": [{**one, "role": role} for one, role in zip(entities, roles, strict=True)]}


@blueprint.put("/claims/<claim_id>/entities/<entity_id>")
@takes(requests.Role, optional=True)
@answers(responses.Changed)
def link_entity(claim_id: str, entity_id: str, body: requests.Role) -> object:
    """Link a claim to an entity."""
    api = knowledge()
    return audit_reference(api.link_entity_to_claim(claim_named(api, claim_id).claim_id, entity_id, body.role))


@blueprint.delete("/claims/<claim_id>/entities/<entity_id>")
@answers(responses.Changed)
def unlink_entity(claim_id: str, entity_id: str) -> object:
    """Unlink a claim from an entity."""
    api = knowledge()
    return audit_reference(api.unlink_entity_from_claim(claim_named(api, claim_id).claim_id, entity_id))


@blueprint.get("/types")
@answers(shape(types=list[responses.CategoryItem]))
def list_types() -> object:
    """Types of claims: those that come with the product, and the person's own."""
    return {"types": _categories(knowledge().type_catalog.list())}


@blueprint.post("/types")
@takes(requests.Category)
@answers(shape(types=list[responses.CategoryItem]), status=HTTPStatus.CREATED)
@fails("conflict")
def add_type(body: requests.Category) -> object:
    """A type of the person's own."""
    api = knowledge()
    unwrap(api.add_type(body.name, body.label))
    return {"types": _categories(api.type_catalog.list())}


@blueprint.get("/domains")
@answers(shape(domains=list[responses.CategoryItem]))
def list_domains() -> object:
    """Domains: those that come with the product, and the person's own."""
    return {"domains": _categories(knowledge().domain_catalog.list())}


@blueprint.post("/domains")
@takes(requests.Category)
@answers(shape(domains=list[responses.CategoryItem]), status=HTTPStatus.CREATED)
@fails("conflict")
def add_domain(body: requests.Category) -> object:
    """A domain of the person's own."""
    api = knowledge()
    unwrap(api.add_domain(body.name, body.label))
    return {"domains": _categories(api.domain_catalog.list())}


def _categories(catalog: Sequence[tuple[str, str, int]]) -> list[dict[str, object]]:
    return [{"name": name, "label": label, "count": count} for name, label, count in catalog]
