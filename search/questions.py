"""Answering a question or sentence: the messages that say or mean what it asks for, best first.

Each message gets a score of what it means and a score of the words it says. The first is the similarity of its vector
to the question's, in standard deviations of what unrelated texts have; the second is BM25 over stems of the message
read together with the one before it, as a share of the most that the question's words can give, so that a single
common word in common counts little. The two are added: ranks would hide how much better the best are. Scores of the
neighbours and of the best message of the conversation are counted in, and a time that the question names.

The weights were chosen on the tuning half of `benchmarks/questions`, and on the same questions with one to three words
of the evidence added, since others' questions repeat more of what was said.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from heapq import nlargest
from itertools import islice
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Row, and_, select, true

from database.messages.neighbours import before_on_branch, behind_on_branch
from database.schema import conversations, messages
from database.search.index import expression_for, words

from . import engine_of
from .language import Terms
from .meaning import Nearness
from .relevance import NEAR
from .times import Period

WORDS = 16.0
"""The weight of a share of words, in standard deviations of a similarity."""
_NEIGHBOURS = 0.2
_CONVERSATION = 0.2
_TIME = 2.7
_DAYS_BESIDE = 10.0
_K1, _B = 1.2, 0.75
_SAYING = 4_000
_CANDIDATES = 80
ENOUGH_WORDS = 0.34
_JUDGED = 5
# Tuned on questions of one history asked of another: a tenth of them find something.
_SURELY_NEAR = 7.0
_SURELY_NEAR_WITH_WORDS = 4.0
_WORST = 0.25
_SHOWN = 100


class Found(NamedTuple):
    """A message that may be meant. similarity: how near it is in meaning, in standard deviations; None without vector.

    coverage: the share of the question's words that it says together with the message before it, 0 to 1, rare words
    counting more. itself: the share that it says alone.
    """

    seq: int
    score: float
    similarity: float | None
    coverage: float
    itself: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which messages may be found.

    conditions: more of the columns of `messages`. excluded: phrases that are not said. not_in: conversations that are
    left out. up_to: the newest `seq`.
    """

    user_email: str
    conversation_id: str | None = None
    conditions: Sequence[ColumnElement[bool]] = ()
    excluded: Sequence[Sequence[str]] = ()
    not_in: Sequence[str] = ()
    up_to: int = 2**62

    @property
    def is_narrow(self) -> bool:
        """Whether filters leave out many of the person's messages."""
        return self.conversation_id is not None or bool(self.conditions)

    def visible(self) -> list[ColumnElement[bool]]:
        """The conditions of a message that may be found."""
        m, c = messages.c, conversations.c
        shown = (
            select(c.deleted_at.is_(None) & c.expires_at.is_(None))
            .where(c.conversation_id == m.conversation_id)
            .correlate(messages)
            .scalar_subquery()
        )
        here = [m.conversation_id == self.conversation_id] if self.conversation_id is not None else []
        return [
            m.user_email == self.user_email,
            m.deleted_at.is_(None),
            m.seq <= self.up_to,
            shown,
            *here,
            *self.conditions,
        ]


_Counts = tuple[Mapping[int, int], int]
"""How often a text says each term, and how many words it has."""


class _Text(NamedTuple):
    """A message as it is scored: its neighbours in the conversation, and what it says together with the one before it.

    said: how often each term, by its place in the question. itself: the terms that it says alone. length: in words.
    """

    seq: int
    before: int | None
    after: int | None
    conversation_id: str
    day: date
    said: Mapping[int, int]
    itself: Collection[int]
    length: int
    is_visible: bool


def answering(
    connection: Connection,
    *,
    scope: Scope,
    terms: Terms,
    nearness: Nearness | None = None,
    period: Period | None = None,
    tail: Sequence[int] = (),
) -> list[Found]:
    """The messages that answer, best first; a few hundred at most.

    terms: the forms of each word that counts. nearness: what the question means; None: words alone. period: the time
    that is asked for. tail: messages that the index of words does not know yet.
    """
    said = _saying(connection, scope, terms)
    rarities = rarities_of(said, total=nearness.total if nearness else None)
    considered = None if scope.is_narrow else 2 * _CANDIDATES
    nearest = nearness.ordered()[:considered] if nearness else ()
    chosen = _first_visible(connection, scope, (by_coverage(said, rarities, considered), nearest, tail[:considered]))
    texts = _read(connection, scope, chosen, terms)
    similarities = nearness.of(texts) if nearness else {}
    usual_length = sum(text.length for text in texts.values()) / max(1, len(texts)) or 1.0
    found = {seq: _found(text, usual_length, rarities, similarities.get(seq)) for seq, text in texts.items()}
    scores = _with_surroundings(texts, found, period)
    visible = [seq for seq, text in texts.items() if text.is_visible]
    best_first = sorted(visible, key=lambda seq: (-scores[seq], -seq))
    return [found[seq]._replace(score=scores[seq]) for seq in best_first]


def relevant(found: Sequence[Found]) -> list[Found]:
    """Those that are worth showing: none where even the best has little to do with the question."""
    if not any(each.coverage >= ENOUGH_WORDS or (each.similarity or 0.0) >= NEAR for each in found[:_JUDGED]):
        return []
    return [each for each in found if each.score >= found[0].score * _WORST][:_SHOWN]


def fitting_keywords(found: Sequence[Found], phrases: Sequence[Sequence[str]]) -> list[Found]:
    """Those that mean something like a few words, given as phrases, or say enough of them, in whatever forms."""
    enough = enough_keywords(phrases)
    return [each for each in found if (each.similarity or 0.0) >= NEAR or each.itself >= enough][:_SHOWN]


def enough_keywords(phrases: Sequence[Sequence[str]]) -> float:
    """The share of a few words, given as phrases, that is enough; of words that belong together, no part is."""
    return ENOUGH_WORDS if all(len(phrase) == 1 for phrase in phrases) else math.inf


def is_surely_related(nearness: float, coverage: float) -> bool:
    """Whether a text has so much to do with a question that a model should be given it unasked.

    nearness: in meaning, in standard deviations. coverage: the share of the question's words that it says. The nearest
    of thousands of texts is always near: more is asked of it than of one among a few memories.
    """
    return nearness >= _SURELY_NEAR or (nearness >= _SURELY_NEAR_WITH_WORDS and coverage >= ENOUGH_WORDS)


def _saying(connection: Connection, scope: Scope, terms: Terms) -> list[Sequence[int]]:
    """`seq` of the newest messages of the scope that say one of the forms of each term."""
    expressions = [
        expression_for(
            connection,
            user_email=scope.user_email,
            conversation_id=scope.conversation_id,
            phrases=[forms[:1]],
            beginning=True,
            completions=forms,
            excluded=scope.excluded,
            not_in=scope.not_in,
        )
        for forms in map(sorted, terms)
    ]
    found = engine_of(connection).newest_of_each(connection, expressions, most=_SAYING)
    return [[seq for seq in each if seq <= scope.up_to] for each in found]


def rarities_of(said: Sequence[Sequence[int]], *, total: int | None) -> list[float]:
    """The weight of each term, as BM25 has it: by how many of `total` messages say it.

    total: how many the person has; None without vectors, and the number of the newest hit stands for it.
    """
    newest = max((seqs[0] for seqs in said if seqs), default=1)
    total = max(newest if total is None else total, *map(len, said), 1)
    rarities = []
    for seqs in said:
        # Of a common word only the newest messages are read; the older ones say it as often.
        share = newest / (newest - seqs[-1] + 1) if len(seqs) == _SAYING else 1.0
        times = min(float(total), len(seqs) * share)
        rarities.append(math.log(1 + (total - times + 0.5) / (times + 0.5)))
    return rarities


def by_coverage(said: Sequence[Sequence[int]], rarities: Sequence[float], most: int | None) -> list[int]:
    """The messages that say something of the question, those that say most of it first, then the newest.

    most: how many of them; None: all.
    """
    covered: dict[int, float] = {}
    for seqs, weight in zip(said, rarities, strict=True):
        for seq in seqs:
            covered[seq] = covered.get(seq, 0.0) + weight
    weighed = zip(covered.values(), covered, strict=True)
    ordered = sorted(weighed, reverse=True) if most is None else nlargest(most, weighed)
    return [seq for _, seq in ordered]


def _first_visible(connection: Connection, scope: Scope, rankings: Sequence[Sequence[int]]) -> set[int]:
    """The first messages of each ranking that may be found."""
    visible = _visible(connection, scope, set().union(*rankings))
    firsts = (islice((seq for seq in ranking if seq in visible), _CANDIDATES) for ranking in rankings)
    return {seq for first in firsts for seq in first}


def _visible(connection: Connection, scope: Scope, seqs: Collection[int]) -> set[int]:
    if not seqs:
        return set()
    query = select(messages.c.seq).where(messages.c.seq.in_(engine_of(connection).listed(seqs)), *scope.visible())
    return set(connection.execute(query).scalars().all())


def _read(connection: Connection, scope: Scope, chosen: set[int], terms: Terms) -> dict[int, _Text]:
    """The chosen messages and their neighbours, by `seq`."""
    links = {row.seq: row for row in _linked(connection, scope, chosen, visible=true())}
    around = {beside for row in links.values() for beside in (row.before, row.after)} - {None} - links.keys()
    links |= {row.seq: row for row in _linked(connection, scope, around, visible=and_(*scope.visible()))}
    places = {form: place for place, forms in enumerate(terms) for form in forms}
    counted = {seq: counted_in(row.text, places) for seq, row in links.items()}
    further = {row.before for row in links.values()} - {None} - links.keys()
    texts = select(messages.c.seq, messages.c.text).where(messages.c.seq.in_(engine_of(connection).listed(further)))
    counted |= {seq: counted_in(text, places) for seq, text in connection.execute(texts).all()}
    return {seq: _text(row, counted) for seq, row in links.items()}


def _linked(
    connection: Connection, scope: Scope, seqs: set[int], *, visible: ColumnElement[bool]
) -> Sequence[Row[Any]]:
    """These messages, with their neighbours. visible: whether one may be found."""
    m = messages.c
    beside = _BEFORE.label("before"), _AFTER.label("after")
    columns = select(m.seq, m.conversation_id, m.created_at, m.text, *beside, visible.label("is_visible"))
    these = columns.where(m.seq.in_(engine_of(connection).listed(seqs)), m.user_email == scope.user_email)
    return connection.execute(these).all()


_BEFORE = before_on_branch(lambda beside: beside.c.seq)
_AFTER = behind_on_branch()


def counted_in(text: str, places: Mapping[str, int]) -> _Counts:
    """How often `text` says each term, and how many words it has."""
    cut, said = words(text), dict[int, int]()
    for word in places.keys() & cut:
        said[places[word]] = said.get(places[word], 0) + cut.count(word)
    return said, len(cut)


def _text(row: Row[Any], counted: Mapping[int, _Counts]) -> _Text:
    said, length = counted[row.seq]
    itself = said.keys()
    if row.before is not None:
        earlier, more = counted[row.before]
        said = {place: said.get(place, 0) + earlier.get(place, 0) for place in {*said, *earlier}}
        length += more
    day = date.fromisoformat(row.created_at[:10])
    return _Text(row.seq, row.before, row.after, row.conversation_id, day, said, itself, length, bool(row.is_visible))


def _found(text: _Text, usual_length: float, rarities: Sequence[float], similarity: float | None) -> Found:
    words, coverage = word_score(text.said, length=text.length / usual_length, rarities=rarities)
    _, itself = word_score(dict.fromkeys(text.itself, 1), length=1.0, rarities=rarities)
    return Found(text.seq, WORDS * words + (similarity or 0.0), similarity, coverage, itself)


def word_score(said: Mapping[int, int], *, length: float, rarities: Sequence[float]) -> tuple[float, float]:
    """BM25 of a text as a share of the most that the question can give, and the share of its words that it says.

    said: how often the text says each term. length: in lengths of a usual text.
    """
    allowance = _K1 * (1 - _B + _B * length)
    total = sum(rarities) or 1.0
    score = sum(rarities[place] * times / (times + allowance) for place, times in said.items()) / total
    return score, sum(rarities[place] for place in said) / total


def _with_surroundings(
    texts: Mapping[int, _Text], found: Mapping[int, Found], period: Period | None
) -> dict[int, float]:
    """The score of each message with those of its neighbours, of its conversation's best, and of its time."""
    scores = {}
    for seq, text in texts.items():
        beside = (found[other].score for other in (text.before, text.after) if other is not None and other in found)
        scores[seq] = found[seq].score + _NEIGHBOURS * sum(beside)
    best: dict[str, float] = {}
    for seq, score in scores.items():
        conversation_id = texts[seq].conversation_id
        best[conversation_id] = max(score, best.get(conversation_id, score))
    for seq, text in texts.items():
        scores[seq] += _CONVERSATION * best[text.conversation_id]
        if period is not None:
            scores[seq] += _TIME * math.exp(-period.days_from(text.day) / _DAYS_BESIDE)
    return scores
