"""Gathering what a turn can rely on: references to conversations, the knowledge base, and what comes with them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conversation_reference_utils import partition
from database.reference_lookup import NamedConversation, conversations_by_friendly_id

from .pkb_items import PkbItem, fit, merge, render
from .ports import ConversationLoader
from .references import MAX_REFERENCES, ConversationReferences, FriendlyIdLookup
from .report import ReportEntry, Resolution

KnowledgeResolver = Callable[[Sequence[str]], Sequence[Resolution]]
"""Knowledge-base references (without "@") → one resolution each, in order."""

_GROUPS = frozenset({"context", "entity", "tag", "domain"})
_LONGEST_ID = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class GatheredContext:
    """What was found: items in order of priority, each once, and the fate of each reference."""

    items: tuple[PkbItem, ...] = ()
    report: tuple[ReportEntry, ...] = ()

    def rendered(self) -> str:
        """The items as `<pkb_item>` elements."""
        return render(self.items)

    def report_dicts(self) -> list[dict[str, Any]]:
        """The report as sent and stored."""
        return [entry.as_dict() for entry in self.report]


def gather(
    references: Sequence[str],
    *,
    conversations: ConversationReferences,
    knowledge: KnowledgeResolver,
    max_chars: int | None = None,
) -> GatheredContext:
    """Resolve `references` (friendly ids without "@", as typed), each once, in the order given.

    max_chars bounds the referenced items together; the longest are cut first, and the report says so.
    """
    wanted = list(dict.fromkeys(references))
    followed = wanted[:MAX_REFERENCES]
    conversation_refs, knowledge_refs = partition(followed)
    resolved = dict(
        zip(
            [ref for ref, _, _ in conversation_refs],
            conversations.resolve([ref for ref, _, _ in conversation_refs]),
            strict=True,
        )
    )
    resolved |= zip(knowledge_refs, knowledge(knowledge_refs), strict=True)
    resolutions = [resolved[ref] for ref in followed]
    report = [resolution.entry for resolution in resolutions]
    if len(wanted) > len(followed):
        report.append(_beyond_the_limit(len(wanted) - len(followed)))
    items = merge([item for resolution in resolutions for item in resolution.items])
    if max_chars is None:
        return GatheredContext(items=tuple(items), report=tuple(report))
    return _fitted(items, report, max_chars)


def no_knowledge(references: Sequence[str]) -> list[Resolution]:
    """The place where the knowledge base joins; until it does, nothing is filed anywhere."""
    return [_nothing_filed(reference) for reference in references]


def _nothing_filed(reference: str) -> Resolution:
    ref = f"@{reference}"
    entry = ReportEntry(
        ref=ref,
        kind="claim",
        status="not_found",
        notes=(f"No memory or context found with ID: {reference}",),
        muted=not _looks_like_an_id(reference),
    )
    return Resolution(entry=entry)


def _looks_like_an_id(name: str) -> bool:
    words, _, last = name.lower().rpartition("_")
    return bool(words) and len(name) <= _LONGEST_ID and (last in _GROUPS or any(letter.isdigit() for letter in last))


def _beyond_the_limit(count: int) -> ReportEntry:
    return ReportEntry(
        ref=f"+{count:,}",
        kind="message",
        status="unavailable",
        count=count,
        notes=(f"{count:,} further references were not followed: at most {MAX_REFERENCES} in one message.",),
    )


def _fitted(items: Sequence[PkbItem], report: Sequence[ReportEntry], max_chars: int) -> GatheredContext:
    fitted, shortened = fit(items, max_chars)
    cut_refs = {ref for item in shortened for ref in item.refs}
    note = f"Cut so that everything named fits the model ({max_chars:,} characters together)."
    marked = [entry.marked("truncated", note) if entry.ref in cut_refs else entry for entry in report]
    return GatheredContext(items=tuple(fitted), report=tuple(marked))


def resolve_report(
    references: Sequence[str], *, user_email: str, users_dir: str, loader: ConversationLoader
) -> list[dict[str, Any]]:
    """The report entries that a message with these `references` (without "@") would get."""
    conversations = ConversationReferences(lookup=stored_lookup(users_dir, user_email), load=loader)
    return gather(references, conversations=conversations, knowledge=no_knowledge).report_dicts()


def stored_lookup(users_dir: str, user_email: str) -> FriendlyIdLookup:
    """A lookup of friendly ids among the stored conversations of `user_email`."""

    def lookup(friendly_ids: Sequence[str]) -> Mapping[str, NamedConversation]:
        return conversations_by_friendly_id(users_dir=users_dir, user_email=user_email, friendly_ids=friendly_ids)

    return lookup
