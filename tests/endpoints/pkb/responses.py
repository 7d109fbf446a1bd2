"""The responses of the knowledge base: those that the product names, and those that it describes in place."""

from __future__ import annotations

from endpoints.http.models import shape
from endpoints.pkb import responses as named
from endpoints.pkb.responses import *  # noqa: F403

Claims = shape(claims=list[named.ClaimItem])
OneClaim = shape(claim=named.ClaimItem)
ChangedClaim = shape(named.Changed, claim=named.ClaimItem)
BulkChanged = shape(named.Changed, results=list[named.ChangeResult])
ClaimIds = shape(claim_ids=list[str])
RelevantContext = shape(context=str, claims=list[named.ClaimItem])
ContextList = shape(contexts=list[named.ContextItem])
OneContext = shape(context=named.ContextItem)
ChangedContext = shape(named.Changed, context=named.ContextItem)
ClaimsOfContext = shape(claims=list[named.ClaimItem], total_count=int)
EntityPage = shape(entities=list[named.EntityItem], total_count=int)
EntitiesOfClaim = shape(entities=list[named.EntityWithRole])
ChangedEntity = shape(named.Changed, entity=named.EntityItem)
TagList = shape(tags=list[named.TagItem])
TagPage = shape(tags=list[named.TagItem], total_count=int)
ChangedTag = shape(named.Changed, tag=named.TagItem)
TypeList = shape(types=list[named.CategoryItem])
DomainList = shape(domains=list[named.CategoryItem])
ChangedNote = shape(named.Changed, note=named.NoteItem)
OneNote = shape(note=named.NoteItem)
AlikeEntities = shape(duplicates=list[named.AlikeEntities])
AlikeTags = shape(duplicates=list[named.AlikeTags])
Consolidated = shape(named.Changed, claim=named.ClaimItem, superseded=list[str])
MergedEntity = shape(named.Changed, entity=named.EntityItem, aliases=list[str])
ConflictList = shape(conflicts=list[named.ConflictItem])
ChangedConflict = shape(named.Changed, conflict=named.ConflictItem)
History = shape(entries=list[named.HistoryItem])
Undone = shape(undone=str, audit_id=str)
