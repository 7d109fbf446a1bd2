"""Finding documents by words and meaning, with the scores that messages are found by (`search.questions`).

The documents that say most of the question, and the chunks nearest to it, are candidates; the score of a chunk is that
of its words and that of its meaning together.
"""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from sqlalchemy import Connection

from database.engine.database import Database
from database.search.index import expression_for
from database.search.index import words as words_of
from database.search.mending import again_in_new_index
from database.search.owned import DOCUMENTS
from database.vault import chunks as store
from database.vault.chunks import StoredChunk
from database.vault.documents import progress_of
from language_models.errors import ModelError
from language_models.ports import EmbeddingModel
from search.embedding import query_vector
from search.language import Terms, terms
from search.questions import (
    ENOUGH_WORDS,
    WORDS,
    by_coverage,
    counted_in,
    enough_keywords,
    is_surely_related,
    rarities_of,
    word_score,
)
from search.relevance import NEAR, Unrelated, unrelated_for
from search.vectors import decoded, fitted

from .vectors import DocumentVectors, chunks_of_text

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

log = logging.getLogger(__name__)
_SAYING = 4_000
_DOCUMENTS = 40
_LONGEST_QUERY = 2_000
_LONGEST_EXCERPT = 2_000
_WORST = 0.25


@dataclass(frozen=True, slots=True, kw_only=True)
class Excerpt:
    """A part of a document. distance: 0 (says or means just this) to 2. Lines are 1-based and inclusive."""

    path: str
    title: str
    distance: float
    line_start: int
    line_end: int
    text: str


class _Meaning(NamedTuple):
    """What the question means to a model, and how near unrelated texts are to it."""

    model: EmbeddingModel
    vector: NDArray[np.float32]
    unrelated: Unrelated


class _Part(NamedTuple):
    """A part of a document, as it is scored."""

    document_id: int
    line_start: int
    line_end: int
    text: str
    similarity: float | None


class _Scored(NamedTuple):
    score: float
    coverage: float
    nearness: float
    distance: float
    part: _Part


@again_in_new_index
def find_excerpts(
    query: str,
    *,
    n: int,
    user_email: str,
    database: Database,
    vectors: DocumentVectors,
    surely: bool = False,
    keywords: Sequence[Sequence[str]] | None = None,
) -> list[Excerpt]:
    """The best `n` excerpts of the person's documents; none where nothing has to do with `query`. Raises StoreError.

    surely: those alone that are surely related to it in meaning; none where no model can embed. keywords: the phrases
    of a query that is a few words: those alone that mean something like it or say enough of the words.
    """
    query = query[:_LONGEST_QUERY]
    sought = terms(words_of(query))
    meaning = _meaning(query, vectors) if query.strip() else None
    if surely and meaning is None:
        return []
    total = progress_of(database=database, user_email=user_email).documents
    with database.reading() as connection:
        said = [_saying(connection, user_email, forms) for forms in sought]
        rarities = rarities_of(said, total=total)
        nearest = _nearest(connection, user_email, vectors, meaning)
        ids = {*by_coverage(said, rarities, _DOCUMENTS), *(chunk.document_id for chunk in nearest)}
        if not ids:
            return []
        texts = store.texts(connection, user_email, list(ids))
        chunks = store.chunks_of(connection, user_email, list(ids))
    parts = list(_parts(texts, chunks, meaning))
    scored = _scored(parts, {number: title for number, (_, title, _) in texts.items()}, sought, rarities, meaning)
    chosen = (
        _surely_related(scored) if surely else _relevant(scored) if keywords is None else _fitting(scored, keywords)
    )
    return [_excerpt(each, texts[each.part.document_id]) for each in _distinct(chosen)][:n]


def _meaning(query: str, vectors: DocumentVectors) -> _Meaning | None:
    """Asked before a transaction is begun: a model may take a second."""
    model = vectors.model()
    if model is None:
        return None
    try:
        return _Meaning(model, query_vector(model, query), unrelated_for(model))
    except ModelError as error:
        log.warning("documents are searched by words alone: %s", error.message)
        return None


def _saying(connection: Connection, user_email: str, forms: frozenset[str]) -> Sequence[int]:
    """Ids of the person's documents that say one of `forms`."""
    said = sorted(forms)
    expression = expression_for(connection, user_email=user_email, phrases=[said[:1]], beginning=True, completions=said)
    return DOCUMENTS.newest(connection, expression, most=_SAYING)


def _nearest(
    connection: Connection, user_email: str, vectors: DocumentVectors, meaning: _Meaning | None
) -> list[StoredChunk]:
    """The chunks that are near to the question, nearest first; as many documents of them as there are by words."""
    if meaning is None:
        return []
    found = vectors.nearest(connection, user_email=user_email, model=meaning.model, query=meaning.vector) or []
    near = sorted(zip(_similarities(found, meaning), found, strict=True), key=lambda each: -(each[0] or 0.0))
    documents: dict[int, StoredChunk] = {}
    for _, chunk in near:
        documents.setdefault(chunk.document_id, chunk)
    return list(documents.values())[:_DOCUMENTS]


def _similarities(chunks: Sequence[StoredChunk], meaning: _Meaning) -> list[float | None]:
    """The cosine of each chunk; None of one without a vector."""
    import numpy as np

    with_vectors = [chunk.codes for chunk in chunks if chunk.codes is not None]
    if not with_vectors:
        return [None for _ in chunks]
    matrix = decoded(with_vectors)
    cosines = iter(np.vecdot(matrix, fitted(meaning.vector, matrix.shape[1])).tolist())
    return [None if chunk.codes is None else float(next(cosines)) for chunk in chunks]


def _parts(
    texts: dict[int, tuple[str, str, str]], chunks: Sequence[StoredChunk], meaning: _Meaning | None
) -> Iterator[_Part]:
    """The chunks of the candidates; of a document whose chunks are still to be made, they are cut here."""
    similarities = [None for _ in chunks] if meaning is None else _similarities(chunks, meaning)
    known: dict[int, list[tuple[StoredChunk, float | None]]] = defaultdict(list)
    for chunk, similarity in zip(chunks, similarities, strict=True):
        known[chunk.document_id].append((chunk, similarity))
    for number, (path, _, text) in texts.items():
        lines = text.split("\n")
        for chunk, similarity in known.get(number, ()):
            body = "\n".join(lines[chunk.line_start - 1 : chunk.line_end])
            yield _Part(number, chunk.line_start, chunk.line_end, body, similarity)
        if number not in known:
            for cut in chunks_of_text(path, text, model=None):
                yield _Part(number, cut.line_start, cut.line_end, cut.text, None)


def _scored(
    parts: Sequence[_Part],
    titles: dict[int, str],
    sought: Terms,
    rarities: Sequence[float],
    meaning: _Meaning | None,
) -> list[_Scored]:
    """All parts with their scores, best first."""
    places = {form: place for place, forms in enumerate(sought) for form in forms}
    counted = [counted_in(f"{titles[part.document_id]}\n{part.text}", places) for part in parts]
    usual = sum(length for _, length in counted) / max(1, len(counted)) or 1.0
    expected = meaning.unrelated.expected(meaning.vector) if meaning is not None else 0.0
    scored = []
    for part, (said, length) in zip(parts, counted, strict=True):
        share, coverage = word_score(said, length=length / usual, rarities=rarities)
        nearness, distance = 0.0, 1.0 - min(share, 1.0)
        if part.similarity is not None and meaning is not None:
            nearness = (part.similarity - expected) / meaning.unrelated.spread
            distance = 1.0 - part.similarity
        scored.append(_Scored(WORDS * share + nearness, coverage, nearness, round(distance, 4), part))
    return sorted(scored, key=lambda each: (-each.score, each.part.document_id, each.part.line_start))


def _relevant(scored: Sequence[_Scored]) -> list[_Scored]:
    """Those that have to do with the question."""
    if not any(each.coverage >= ENOUGH_WORDS or each.nearness >= NEAR for each in scored[:5]):
        return []
    least = scored[0].score * _WORST
    return [each for each in scored if each.score >= least and (each.coverage > 0 or each.nearness >= NEAR)]


def _fitting(scored: Sequence[_Scored], keywords: Sequence[Sequence[str]]) -> list[_Scored]:
    """Those that mean something like a few words, or say enough of them."""
    enough = enough_keywords(keywords)
    return [each for each in scored if each.nearness >= NEAR or each.coverage >= enough]


def _surely_related(scored: Sequence[_Scored]) -> list[_Scored]:
    """Those that may be given to a model which did not ask for them."""
    return [each for each in scored if is_surely_related(each.nearness, each.coverage)]


def _distinct(scored: Sequence[_Scored]) -> list[_Scored]:
    """One of several pieces of a long line."""
    seen: dict[tuple[int, int, int], _Scored] = {}
    for each in scored:
        seen.setdefault((each.part.document_id, each.part.line_start, each.part.line_end), each)
    return list(seen.values())


def _excerpt(scored: _Scored, document: tuple[str, str, str]) -> Excerpt:
    path, title, _ = document
    return Excerpt(
        path=path,
        title=title,
        distance=scored.distance,
        line_start=scored.part.line_start,
        line_end=scored.part.line_end,
        text=scored.part.text[:_LONGEST_EXCERPT],
    )
