"""Activities as a tree of replies: what exports nest."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from database.activities.exporting import ChosenActivity

DEEPEST = 100
"""Replies further down stand beside what they reply to: programs that read JSON go only so deep."""


def nested(chosen: Sequence[ChosenActivity]) -> Iterator[tuple[int, int]]:
    """(place in `chosen`, depth) of each activity: replies behind what they reply to, siblings in their order.

    A reply to what is not among them, or stands behind it, is no reply here.
    """
    if not any(each.parent for each in chosen):
        yield from ((place, 0) for place in range(len(chosen)))
        return
    places = {each.seq: place for place, each in enumerate(chosen)}
    replies: defaultdict[int, list[int]] = defaultdict(list)
    roots: list[int] = []
    for place, each in enumerate(chosen):
        parent = places.get(each.parent, place)
        (replies[parent] if parent < place else roots).append(place)
    waiting = [(root, 0) for root in reversed(roots)]
    while waiting:
        place, depth = waiting.pop()
        yield place, depth
        below = min(depth + 1, DEEPEST)
        waiting += [(reply, below) for reply in reversed(replies.pop(place, []))]
