"""The knowledge branch of gathering: memories that a message names, attaches, has pinned or makes relevant."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from chat.exchange.documents import written
from chat.exchange.ports import KnowledgeLimits, TurnServices
from chat.exchange.report import ReportEntry, Resolution, preview
from chat.exchange.turn import Turn
from chat.prompting.items import PkbItem, Source, render
from conversation_reference_utils import _extract_meaningful_words
from database.engine.clock import now, now_iso
from database.engine.database import Database
from language_models.ports import EmbeddingModel
from sentences import Sentence, otherwise, say
from truth_management_system import ActionResult, Claim, SearchFilters, StructuredAPI
from truth_management_system.interface.structured_api import KnowledgeUnavailableError, is_relevant

from .knowledge import knowledge_in

WHOLE = "memories"
"""What stands for the knowledge base itself in a report."""
_GROUPS = frozenset({"context", "entity", "tag", "domain"})
_LONGEST_ID = 128
_DRAWN = re.compile("[a-z0-9]{4}")


def not_found(ref: str, reference: str, *, surely: bool) -> ReportEntry:
    """That nothing has this name; muted where it may not have been meant as one. surely: it was."""
    return ReportEntry(
        ref=ref,
        kind="claim",
        status="not_found",
        notes=(say("no_memory", reference=reference),),
        muted=not surely and not _looks_like_an_id(reference),
    )


def ambiguous(ref: str, reference: str, result: ActionResult) -> ReportEntry:
    """That several things have this name, with those."""
    candidates = tuple(result.data["candidates"])
    kind, note = candidates[0]["kind"], say("several_memories", reference=reference, count=len(candidates))
    return ReportEntry(ref=ref, kind=kind, status="ambiguous", notes=(note,), candidates=candidates)


def noted(claim: Claim, notes: Sequence[Sentence]) -> ReportEntry:
    """That a memory which was attached came along, and what there is to say of it ("retracted")."""
    body = claim.rendered()
    return ReportEntry(
        ref=f"@{claim.friendly_id}",
        kind="claim",
        status="resolved",
        notes=tuple(notes),
        title=claim.friendly_id,
        preview=preview(body),
        count=1,
        chars=len(body),
        target={"claim_id": claim.claim_id},
    )


def unavailable(ref: str, note: Sentence, *, muted: bool = False) -> ReportEntry:
    """That something could not be had, and why."""
    return ReportEntry(ref=ref, kind="claim", status="unavailable", notes=(note,), muted=muted)


def left_out(count: int) -> ReportEntry:
    """That so many of the memories nobody named had no room."""
    return unavailable(WHOLE, say("memories_did_not_fit", count=count))


def _looks_like_an_id(name: str) -> bool:
    """Whether `name` is words and what ids end in: four characters that were drawn, a number, or a kind of group."""
    words, _, last = name.lower().rpartition("_")
    is_end = last in _GROUPS or _DRAWN.fullmatch(last) is not None or any(letter.isdigit() for letter in last)
    return bool(words) and len(name) <= _LONGEST_ID and is_end


_CONSIDERED = 50
"""Memories that are ranked for any message; the irrelevant ones among the best must not take a place."""


def relevant_memories(api: StructuredAPI, query: str, *, k: int) -> ActionResult:
    """At most `k` memories that are valid now and relevant to `query`: `.data` are their SearchResults, best first."""
    result: ActionResult = api.search(query, k=max(k, _CONSIDERED), filters={"valid_at": now_iso()})
    if result.success:
        result.data = [found for found in result.data if is_relevant(found, query)][:k]
    return result


log = logging.getLogger(__name__)

ApiMaker = Callable[[], StructuredAPI]
"""Gives the user's view of the knowledge base, or raises KnowledgeUnavailableError."""

_HOLDING = frozenset({"active", "contested"})
_LONGEST_QUERY = 2_000
_FEW_WORDS = 4
_SUMMARY_CHARS = 300
_CLAIM_KEY = "claim:"
_UNEXPECTED = "internal_error"
_FAULT = say("memories_fault")


@dataclass(frozen=True, slots=True, kw_only=True)
class KnowledgeRequest:
    """What a message wants of the knowledge base beside its references.

    claim_ids: named in the old form `@memory:<id>`. attached: "use now", by id. conversation_pinned: ids. query: the
    message without its references. automatic: whether pinned and searched memories are wanted too. finds_later: leave
    what has to be searched for to `GatheredContext.find`.
    """

    claim_ids: Sequence[str] = ()
    attached: Sequence[str] = ()
    conversation_pinned: Sequence[str] = ()
    query: str = ""
    conversation_summary: str = ""
    automatic: bool = False
    found_at_most: int | None = None
    finds_later: bool = False

    def searched_for(self) -> str:
        """The text that memories are searched for: of few words, with the beginning of the summary."""
        query = self.query[:_LONGEST_QUERY]
        if len(_extract_meaningful_words(query, max_words=_FEW_WORDS)) < _FEW_WORDS:
            query = f"{query} {self.conversation_summary[:_SUMMARY_CHARS]}".strip()
        return query


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What the knowledge base gave without being named: items, and entries for what is missing."""

    items: Sequence[PkbItem] = ()
    entries: Sequence[ReportEntry] = ()


@dataclass(slots=True, kw_only=True)
class Knowledge:
    """One message's questions to one user's knowledge base. It fails open: what can't be read is reported."""

    api: ApiMaker | None
    limits: KnowledgeLimits = field(default_factory=KnowledgeLimits)
    _api: StructuredAPI | None = None
    _has_claims: bool | None = None
    _unavailable: Sentence | None = None

    def resolve(self, references: Sequence[str]) -> list[Resolution]:
        """One resolution for each reference (without "@", as typed), in order."""
        return [self._resolve(reference, ref=written(reference)) for reference in references]

    def resolve_claim_ids(self, claim_ids: Sequence[str]) -> list[Resolution]:
        """One resolution for each claim id, as `@memory:<id>` names it."""
        return [self._resolve(claim_id, ref=f"@memory:{claim_id}", surely=True) for claim_id in claim_ids]

    def beginning_with(self, typed: str, *, limit: int) -> Mapping[str, Sequence[Mapping[str, Any]]]:
        """At most `limit` memories, contexts, entities, tags and domains each that `typed` may be the beginning of."""
        api = self._opened()
        result = api.autocomplete(typed, limit=limit) if api is not None else None
        return result.data if result is not None and result.success else {}

    def spelled_like(self, typed: str, *, limit: int) -> Sequence[Mapping[str, Any]]:
        """The ids that share the longest beginning with `typed`: `{kind, friendly_id, title}`, `limit` each way."""
        api = self._opened()
        result = api.ids_around(typed, limit=limit) if api is not None else None
        return result.data if result is not None and result.success else ()

    def beside(self, request: KnowledgeRequest) -> Found:
        """What comes with the message: attached and pinned memories, in order of priority."""
        api = self._opened()
        if api is None:
            wanted = request.automatic or request.attached
            return Found(entries=[unavailable(WHOLE, self._unavailable)] if self._unavailable and wanted else [])
        sources: list[Callable[[], Found]] = [partial(self._attached, api, request.attached)]
        if request.automatic:
            sources += [
                partial(self._pinned, api),
                partial(self._conversation_pinned, api, request.conversation_pinned),
            ]
        parts: list[Found] = []
        for source in sources:
            parts.append(self._guarded(source))
            if self._unavailable:
                break
        return Found(
            items=[item for part in parts for item in part.items],
            entries=list({(entry.ref, entry.notes): entry for part in parts for entry in part.entries}.values()),
        )

    def found(self, request: KnowledgeRequest) -> Found:
        """What a search for the message finds; it may wait for an embedding model."""
        api = self._opened() if request.automatic else None
        return Found() if api is None else self._guarded(partial(self._searched, api, request))

    def _guarded(self, source: Callable[[], Found]) -> Found:
        try:
            return source()
        except KnowledgeUnavailableError as error:
            return self._lost(error.message)
        except Exception:
            log.exception("memories could not be gathered")
            return Found(entries=[unavailable(WHOLE, _FAULT)])

    def _lost(self, sentence: str) -> Found:
        """Note that the store failed. It is not asked again for this message: each try may take a while."""
        log.warning("memories can't be read: %s", sentence)
        self._api, self._unavailable = None, otherwise(sentence, "memories_unavailable")
        return Found(entries=[unavailable(WHOLE, self._unavailable)])

    def _failed(self, result: ActionResult) -> Found:
        """What is left of a source that failed."""
        code = result.metadata["error_code"]
        if code == KnowledgeUnavailableError.code:
            return self._lost(result.errors[0])
        log.warning("memories could not be gathered: %s", result.errors[0])
        fault = _FAULT if code == _UNEXPECTED else otherwise(result.errors[0], "memories_fault")
        return Found(entries=[unavailable(WHOLE, fault)])

    def _opened(self) -> StructuredAPI | None:
        if self._api is None and self.api is not None and not self._unavailable:
            try:
                self._api = self.api()
            except KnowledgeUnavailableError as error:
                self._unavailable = otherwise(error.message, "memories_unavailable")
        return self._api

    def _resolve(self, reference: str, *, ref: str, surely: bool = False) -> Resolution:
        api = self._opened()
        if api is None:
            if self._unavailable:
                return Resolution(entry=unavailable(ref, self._unavailable))
            return Resolution(entry=not_found(ref, reference, surely=surely))
        try:
            return self._looked_up(api, reference, ref=ref, surely=surely)
        except Exception:
            log.exception("%s could not be resolved", ref)
            return Resolution(entry=unavailable(ref, _FAULT))

    def _looked_up(self, api: StructuredAPI, reference: str, *, ref: str, surely: bool) -> Resolution:
        result = api.resolve_reference(reference, limit=self.limits.group)
        if result.success:
            return self._resolved(api, ref, result.data)
        if result.data and result.data["type"] == "ambiguous":
            return Resolution(entry=ambiguous(ref, reference, result))
        if result.metadata["error_code"] in {KnowledgeUnavailableError.code, _UNEXPECTED}:
            (missing,) = self._failed(result).entries
            return Resolution(entry=unavailable(ref, missing.notes[0]))
        lacking = ", ".join(result.metadata["details"].get("missing", ()))
        return Resolution(entry=not_found(ref, lacking or reference, surely=surely or bool(lacking)))

    def _resolved(self, api: StructuredAPI, ref: str, found: dict[str, Any]) -> Resolution:
        claims: Sequence[Claim] = found["claims"]
        kind, total = found["type"], found["total_count"]
        bodies = [claim.rendered() for claim in claims]
        entry = ReportEntry(
            ref=ref,
            kind=kind,
            status="resolved" if total else "empty",
            notes=tuple(found["notes"]),
            title=found["source_name"],
            preview=preview(" · ".join(bodies[:5])),
            count=len(claims),
            chars=sum(map(len, bodies)),
            target={"group" if "joins" in found else kind if kind == "domain" else f"{kind}_id": found["source_id"]},
        )
        if not total:
            entry = entry.with_note(say("nothing_filed"))
        elif len(claims) < total:
            entry = entry.marked("truncated", say("newest_memories", shown=len(claims), count=total))
        # The notes of a group count those of its claims.
        of_claims = {claims[0].claim_id: found["notes"]} if kind == "claim" else api.references.notes_of(claims)
        items = (_item(claim, "referenced", ref, note="; ".join(of_claims[claim.claim_id])) for claim in claims)
        return Resolution(entry=entry, items=tuple(items))

    def _attached(self, api: StructuredAPI, claim_ids: Sequence[str]) -> Found:
        if not claim_ids:
            return Found()
        asked = list(dict.fromkeys(claim_ids))
        result = api.get_claims_by_ids(asked[: self.limits.attached])
        if not result.success:
            return self._failed(result)
        entries = [
            not_found(f"@memory:{claim_id}", claim_id, surely=True)
            for claim_id, claim in zip(asked, result.data, strict=False)
            if claim is None
        ]
        if len(asked) > self.limits.attached:
            entries.append(unavailable(WHOLE, say("attached_that_fit", shown=self.limits.attached, count=len(asked))))
        claims = [claim for claim in result.data if claim is not None]
        notes = api.references.notes_of(claims)
        entries += [noted(claim, notes[claim.claim_id]) for claim in claims if notes[claim.claim_id]]
        items = [_item(claim, "attached", note="; ".join(notes[claim.claim_id])) for claim in claims]
        return Found(items=items, entries=entries)

    def _stores_claims(self, api: StructuredAPI) -> bool:
        """Whether the user has any memory, read once per message: without one, pins and search find nothing."""
        if self._has_claims is None:
            self._has_claims = api.claims.has_any()
        return self._has_claims

    def _pinned(self, api: StructuredAPI) -> Found:
        most = self.limits.pinned
        if most < 1 or not self._stores_claims(api):
            return Found()
        # What does not hold now is left out before counting, so that it takes no other's place.
        wanted = SearchFilters(pinned=True, valid_at=now_iso())
        claims = api.claims.list(wanted, limit=most)
        count = len(claims) if len(claims) < most else api.claims.count(wanted)
        return _given(claims, "pinned", "pinned_that_fit", count=count)

    def _conversation_pinned(self, api: StructuredAPI, claim_ids: Sequence[str]) -> Found:
        most = self.limits.conversation_pinned
        if not claim_ids or most < 1 or not self._stores_claims(api):
            return Found()
        result = api.get_claims_by_ids(list(dict.fromkeys(claim_ids)))
        if not result.success:
            return self._failed(result)
        moment = now()
        holding = [claim for claim in result.data if claim is not None and claim.status in _HOLDING]
        valid = [claim for claim in holding if claim.is_valid_at(moment)]
        return _given(valid[-most:], "conv_pinned", "conversation_pinned_that_fit", count=len(valid))

    def _searched(self, api: StructuredAPI, request: KnowledgeRequest) -> Found:
        at_most = self.limits.found if request.found_at_most is None else request.found_at_most
        if at_most < 1 or not self._stores_claims(api):
            return Found()
        query = request.searched_for()
        if not query:
            return Found()
        result = relevant_memories(api, query, k=at_most)
        if not result.success:
            return self._failed(result)
        for warning in result.warnings:
            log.info("memories were searched in part: %s", warning)
        return Found(
            items=[_item(found.claim, "auto") for found in result.data],
            entries=[
                unavailable(WHOLE, otherwise(warning, "memories_fault"), muted=True) for warning in result.warnings
            ],
        )


def _given(claims: Sequence[Claim], source: Source, code: str, *, count: int) -> Found:
    """These claims, and that they are not all `count` where they are fewer."""
    entries = [unavailable(WHOLE, say(code, shown=len(claims), count=count))] if len(claims) < count else []
    return Found(items=[_item(claim, source) for claim in claims], entries=entries)


def rendered_memories(claims: Sequence[Claim]) -> str:
    """Claims as a model is given them when it was not the person who named them."""
    return render([_item(claim, "auto") for claim in claims])


def knowledge_of(user_email: str, *, database: Database | None, services: TurnServices | None) -> Knowledge:
    """What `user_email` knows, as one message asks for it; nothing where there is no data folder."""
    limits = services.knowledge_limits if services is not None else KnowledgeLimits()
    door = services.knowledge if services is not None else None
    if door is None and database is not None:
        door = knowledge_in(database.folder)
    return Knowledge(api=partial(door.for_user, user_email) if door is not None else None, limits=limits)


def knowledge_request(turn: Turn, *, summary: str) -> KnowledgeRequest:
    """What a turn wants of the knowledge base beside its references."""
    query = turn.query
    return KnowledgeRequest(
        claim_ids=turn.claim_ids,
        attached=query.get("attached_claim_ids") or (),
        conversation_pinned=query.get("conversation_pinned_claim_ids") or (),
        query=turn.clean_text,
        conversation_summary=summary,
        automatic=wants_found(turn),
        finds_later=embedding_model(turn) is not None,
    )


def wants_found(turn: Turn) -> bool:
    """Whether the person lets memories and messages be given to the model that the message does not name."""
    return bool((turn.query.get("checkboxes") or {}).get("use_pkb", True))


def embedding_model(turn: Turn) -> EmbeddingModel | None:
    """The model that has to be asked for what goes with the message; None: there is none, or nothing is wanted."""
    vectors = turn.services.vectors
    return vectors.configured_model() if vectors is not None and wants_found(turn) else None


def memories_among(items: Sequence[PkbItem]) -> list[dict[str, str]]:
    """The claims among `items`: `{claim_id, friendly_id, source}` of each, in order."""
    return [
        {"claim_id": item.key.removeprefix(_CLAIM_KEY), "friendly_id": item.name, "source": item.source}
        for item in items
        if item.key is not None and item.key.startswith(_CLAIM_KEY)
    ]


def _item(claim: Claim, source: Source, *refs: str, note: str = "") -> PkbItem:
    return PkbItem(
        source=source,
        type=claim.claim_type,
        refs=refs,
        key=f"{_CLAIM_KEY}{claim.claim_id}",
        name=claim.friendly_id,
        body=claim.rendered(),
        note=note,
    )
