"""Parting context into batches that the model that condenses can take, one call each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .pkb_items import PkbItem, fit, render

_SHORTEST_TO_HALVE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """What goes into one call. origins: the positions, among all items, of those that nobody named."""

    items: Sequence[PkbItem]
    origins: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """All calls. not_whole: how many of the named items are in none of them, or not whole."""

    batches: Sequence[Batch]
    not_whole: int = 0


def batched(items: Sequence[PkbItem], *, room: int) -> Batches:
    """All of `items` that nobody named, in order, in batches of at most `room` characters when they are rendered.

    Of those that the user named, the last batch takes what it has room for, the longest cut first.
    """
    pieces = [
        (position, piece)
        for position, item in enumerate(items)
        if item.source != "referenced"
        for piece in _pieces(item, room)
    ]
    batches, left = list[Batch](), 0
    for position, piece in pieces:
        length = len(render([piece])) + 1
        if not batches or length > left:
            batches.append(Batch(items=()))
            left = room
        last = batches[-1]
        batches[-1] = Batch(items=(*last.items, piece), origins=last.origins | {position})
        left -= length
    return _with_named(batches, [item for item in items if item.source == "referenced"], left if batches else room)


def halves(batch: Sequence[PkbItem]) -> list[Sequence[PkbItem]]:
    """The batch in two; a single item by its text. Empty where there is nothing worth parting."""
    middle = len(batch) // 2
    if middle:
        return [batch[:middle], batch[middle:]]
    (item,) = batch
    if len(item.body) < _SHORTEST_TO_HALVE:
        return []
    middle = len(item.body) // 2
    return [[replace(item, body=item.body[:middle])], [replace(item, body=item.body[middle:])]]


def _pieces(item: PkbItem, room: int) -> list[PkbItem]:
    if len(render([item])) < room:
        return [item]
    # Half, since tags and what is escaped take room as well.
    size = room // 2
    return [replace(item, body=item.body[start : start + size]) for start in range(0, len(item.body), size)]


def _with_named(batches: list[Batch], named: Sequence[PkbItem], left: int) -> Batches:
    shown, _ = fit(named, left)
    while shown and len(render(shown)) > left:
        shown.pop()
    whole = sum(before is after for before, after in zip(named, shown, strict=False))
    if shown:
        last = batches.pop() if batches else Batch(items=())
        batches.append(replace(last, items=(*last.items, *shown)))
    return Batches(batches=batches, not_whole=len(named) - whole)
