"""What a report says of memories that are not there, can't be had now, or hold no more."""

from __future__ import annotations

import re
from collections.abc import Sequence

from truth_management_system import ActionResult, Claim

from .report import ReportEntry, preview

WHOLE = "memories"
"""What stands for the knowledge base itself in a report."""
_GROUPS = frozenset({"context", "entity", "tag", "domain"})
_LONGEST_ID = 128
# What was written "#121248" may as well be a color, or the short id of an activity.
_LONG_NUMBER = re.compile(r"claim_[0-9]{6,}", re.IGNORECASE)


def not_found(ref: str, reference: str, *, surely: bool) -> ReportEntry:
    """That nothing has this name; muted where it may not have been meant as one. surely: it was."""
    return ReportEntry(
        ref=ref,
        kind="claim",
        status="not_found",
        notes=(f"No memory or context found with ID: {reference}",),
        muted=not surely and not _looks_like_an_id(reference),
    )


def ambiguous(ref: str, result: ActionResult) -> ReportEntry:
    """That several things have this name, with those."""
    candidates = tuple(result.data["candidates"])
    kind = candidates[0]["kind"]
    return ReportEntry(ref=ref, kind=kind, status="ambiguous", notes=tuple(result.errors), candidates=candidates)


def noted(claim: Claim, notes: Sequence[str]) -> ReportEntry:
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


def unavailable(ref: str, note: str, *, muted: bool = False) -> ReportEntry:
    """That something could not be had, and why."""
    return ReportEntry(ref=ref, kind="claim", status="unavailable", notes=(note,), muted=muted)


def left_out(count: int) -> ReportEntry:
    """That so many of the memories nobody named had no room."""
    return unavailable(WHOLE, f"{count} less important memories did not fit the model and were left out.")


def _looks_like_an_id(name: str) -> bool:
    if _LONG_NUMBER.fullmatch(name):
        return False
    words, _, last = name.lower().rpartition("_")
    return bool(words) and len(name) <= _LONGEST_ID and (last in _GROUPS or any(letter.isdigit() for letter in last))
