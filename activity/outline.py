"""The outline of an export: in which order activities stand, how deep they are nested, and under which headings."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby

from activity.recipes import RecipeRegistry
from activity.recipes.errors import RecipeNotFoundError
from database.timeline.exporting import ChosenActivity

DEEPEST = 100
"""Replies further down stand beside what they reply to: programs that read JSON go only so deep."""


@dataclass(frozen=True, slots=True)
class OutlinePlace:
    """Where an activity stands in the file: its place in time, how deep it is nested, and the heading above it."""

    place: int
    depth: int
    section: str | None = None


def in_tree(
    chosen: Sequence[ChosenActivity], *, thread_titles: Mapping[str, str], has_headings: bool
) -> Iterator[OutlinePlace]:
    """Replies below what they reply to. has_headings: each thread has one, as in a file of a conversation."""
    headed: set[str] = set()
    current: str | None = None
    for place, depth in nested(chosen):
        thread_id = chosen[place].thread_id
        section = None
        if depth == 0 and has_headings and thread_id != current:
            title = thread_titles.get(thread_id or "")
            section = _once("Conversation" if title is None else f"Thread: {title}", headed, key=thread_id or "")
            current = thread_id
        yield OutlinePlace(place, depth, section)


def in_sections(chosen: Sequence[ChosenActivity], *, recipes: RecipeRegistry) -> Iterator[OutlinePlace]:
    """In order of time, with a heading for each run of activities of one kind; replies are nested within a run."""
    headed: set[str] = set()
    places = range(len(chosen))
    for title, run in groupby(places, key=lambda place: _section_title(chosen[place].kind, recipes)):
        members = list(run)
        section: str | None = _once(title, headed, key=title)
        for place, depth in nested(chosen[members[0] : members[-1] + 1]):
            yield OutlinePlace(members[0] + place, depth, section)
            section = None


def _once(title: str, headed: set[str], *, key: str) -> str:
    """The heading of a section, which says whether there was one of this key before."""
    is_known = key in headed or not key
    headed.add(key)
    return f"{title} (continued)" if is_known else title


def _section_title(kind: tuple[str, str], recipes: RecipeRegistry) -> str:
    recipe, type_name = kind
    try:
        known = recipes.get(recipe).activity_types.get(type_name)
    except RecipeNotFoundError:
        known = None
    return known.section if known else type_name


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
