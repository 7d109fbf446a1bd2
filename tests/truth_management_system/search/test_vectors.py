"""Giving claims their vectors in the background."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress

import numpy as np
import pytest
from numpy.typing import NDArray

from language_models.errors import (
    BadCredentialsError,
    ContextTooLongError,
    ModelError,
    ModelFailedError,
    ModelRateLimitedError,
    ModelUnavailableError,
)
from tests.truth_management_system.search.conftest import ANN, BEN, Person
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.database import PKBDatabase
from truth_management_system.search.vectors import EmbeddingIndexer, embedded_text

pytestmark = pytest.mark.contract


@pytest.fixture
def indexer(db: PKBDatabase, model: WordVectors) -> EmbeddingIndexer:
    return EmbeddingIndexer(db, model)


def test_every_claim_gets_a_vector_once(ann: Person, ben: Person, indexer: EmbeddingIndexer, model: WordVectors):
    for number in range(7):
        ann.claim(f"Tea {number}")
    ben.claim("Coffee")
    assert indexer.pending_count() == 8
    assert indexer.index_pending(batch=3) == 8
    assert indexer.pending_count() == 0
    assert indexer.embedded_count() == 8
    assert indexer.index_pending() == 0
    assert len(model.embedded) == 8


def test_the_newest_are_prepared_first(ann: Person, indexer: EmbeddingIndexer, model: WordVectors):
    for number in range(4):
        ann.claim(f"Tea {number}")
    assert indexer.index_pending(batch=2, budget_seconds=0) == 2
    assert model.embedded == ["Tea 3", "Tea 2"]
    assert indexer.pending_count() == 2


def test_one_user_can_be_prepared_alone(ann: Person, ben: Person, indexer: EmbeddingIndexer):
    ann.claim("Tea")
    ben.claim("Coffee")
    assert indexer.index_pending(ANN) == 1
    assert (indexer.pending_count(ANN), indexer.pending_count(BEN)) == (0, 1)
    assert (indexer.embedded_count(ANN), indexer.embedded_count(BEN)) == (1, 0)


def test_what_is_embedded_is_the_statement_and_its_questions(
    ann: Person, indexer: EmbeddingIndexer, model: WordVectors
):
    ann.claim("I drink tea", possible_questions=["What do I drink?", "Which leaf?"])
    indexer.index_pending()
    assert model.embedded == ["I drink tea\nWhat do I drink?\nWhich leaf?"]
    assert len(embedded_text("long " * 10_000, None)) == 8_000


@pytest.mark.parametrize(
    "changed", [{"statement": "I drink coffee"}, {"possible_questions": '["What do I drink?"]'}], ids=["said", "asked"]
)
def test_a_changed_claim_is_embedded_anew(
    ann: Person, indexer: EmbeddingIndexer, model: WordVectors, changed: dict[str, str]
):
    claim = ann.claim("I drink tea")
    indexer.index_pending()
    ann.claims.edit(claim.claim_id, changed)
    assert indexer.pending_count() == 1
    assert indexer.index_pending() == 1
    assert len(model.embedded) == 2


def test_what_changes_beside_the_text_leaves_the_vector(ann: Person, indexer: EmbeddingIndexer):
    claim = ann.claim("I drink tea")
    indexer.index_pending()
    ann.claims.edit(claim.claim_id, {"confidence": 0.3, "statement": "I drink tea"})
    ann.claims.delete(claim.claim_id)
    assert indexer.pending_count() == 0


def test_each_model_has_its_own_vectors(db: PKBDatabase, ann: Person, indexer: EmbeddingIndexer):
    ann.claim("I drink tea")
    indexer.index_pending()
    other = EmbeddingIndexer(db, WordVectors(name="other"))
    assert other.pending_count() == 1
    assert other.index_pending() == 1
    assert indexer.embedded_count() == 1


def test_vectors_of_former_models_go_and_those_of_this_one_stay(
    db: PKBDatabase, ann: Person, ben: Person, indexer: EmbeddingIndexer
):
    ann.claim("I drink tea", tags=["drinks"])
    ben.claim("I drink tea")
    indexer.index_pending()
    other = EmbeddingIndexer(db, WordVectors(name="other"))
    other.index_pending()
    assert other.delete_former() == 3
    assert other.delete_former() == 0
    assert (indexer.embedded_count(), other.embedded_count()) == (0, 2)
    assert db.select("SELECT model FROM tag_embeddings") == [("other",)]


def test_a_model_that_is_not_there_says_so_and_what_was_done_stays(
    ann: Person, indexer: EmbeddingIndexer, model: WordVectors
):
    ann.claim("Tea")
    indexer.index_pending()
    ann.claim("Coffee")
    model.fails_with = ModelUnavailableError("It is being fetched.")
    with pytest.raises(ModelUnavailableError):
        indexer.index_pending()
    assert (indexer.embedded_count(), indexer.pending_count()) == (1, 1)


class Changing(WordVectors):
    """Somebody changes a claim while the model is at work."""

    def __init__(self, person: Person, claim_id: str) -> None:
        super().__init__()
        self.person, self.claim_id = person, claim_id

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.person.claims.edit(self.claim_id, {"statement": "I drink coffee"})
        return super().embed(texts)


def test_a_vector_of_a_text_that_changed_meanwhile_is_not_stored(db: PKBDatabase, ann: Person):
    claim = ann.claim("I drink tea")
    indexer = EmbeddingIndexer(db, Changing(ann, claim.claim_id))
    indexer.index_pending()
    assert (indexer.embedded_count(), indexer.pending_count()) == (0, 1)


class Narrow(WordVectors):
    """A provider that takes no more than so many characters."""

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        if max(map(len, texts)) > 1_000:
            raise ContextTooLongError("Too long.")
        return super().embed(texts)


def test_of_a_text_that_is_too_long_for_the_model_the_beginning_is_embedded(db: PKBDatabase, ann: Person):
    ann.claim("tea " * 2_000)
    narrow = Narrow()
    assert EmbeddingIndexer(db, narrow).index_pending() == 1
    assert [len(text) for text in narrow.embedded] == [999]


def test_a_model_that_finds_everything_too_long_is_given_up(db: PKBDatabase, ann: Person):
    ann.claim("tea")
    refusing = WordVectors()
    refusing.fails_with = ContextTooLongError("Too long.")
    with pytest.raises(ContextTooLongError):
        EmbeddingIndexer(db, refusing).index_pending()


class Picky(WordVectors):
    """Refuses every batch with a poisoned text in it. fails_with: what a refusal is."""

    def __init__(self, refusal: ModelError | None) -> None:
        super().__init__()
        self.refusal = refusal
        self.calls = 0

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.calls += 1
        poisoned = [number for number, text in enumerate(texts) if "poison" in text]
        if poisoned and self.refusal is not None:
            raise self.refusal
        vectors = super().embed(texts)
        vectors[poisoned] = np.nan
        return vectors


REFUSALS = [ModelFailedError("400"), ModelUnavailableError("500"), ContextTooLongError("413"), None]


@pytest.mark.parametrize("refusal", REFUSALS, ids=["400", "500", "413", "not a number"])
def test_a_text_that_is_refused_keeps_no_other_from_its_vector(
    db: PKBDatabase, ann: Person, ben: Person, caplog: pytest.LogCaptureFixture, refusal: ModelError | None
):
    for number in range(9):
        ann.claim(f"Tea {number}")
    ann.claim("poison", tags=["poison", "fine"])
    ben.claim("Coffee")
    indexer = EmbeddingIndexer(db, Picky(refusal))
    for _ in range(4):
        with suppress(ModelUnavailableError):  # the provider might be out of order: it is given time
            indexer.index_pending()
    assert (indexer.embedded_count(), indexer.pending_count()) == (10, 1)
    assert sum("can't embed a text" in record.message for record in caplog.records) == 1  # tag and claim say the same


def test_a_refused_text_is_tried_again_only_when_it_changes(db: PKBDatabase, ann: Person):
    claim = ann.claim("poison")
    model = Picky(ModelFailedError("400"))
    indexer = EmbeddingIndexer(db, model)
    assert indexer.index_pending() == 0
    calls = model.calls
    assert indexer.index_pending() == 0
    assert model.calls == calls
    ann.claims.edit(claim.claim_id, {"statement": "antidote"})
    assert indexer.index_pending() == 1


def test_people_take_turns(db: PKBDatabase, ann: Person, ben: Person):
    ben.claim("Coffee")
    for number in range(6):
        ann.claim(f"Tea {number}")
    indexer = EmbeddingIndexer(db, WordVectors())
    assert sum(indexer.index_pending(batch=2, budget_seconds=0) for _ in range(2)) == 3
    assert (indexer.pending_count(BEN), indexer.pending_count(ANN)) == (0, 4)


@pytest.mark.parametrize("error", [ModelRateLimitedError("Slow down."), BadCredentialsError("No.")])
def test_a_provider_that_answers_nobody_is_not_asked_for_each_text(db: PKBDatabase, ann: Person, error: ModelError):
    for text in ("poison", "Tea"):
        ann.claim(text)
    model = Picky(error)
    with pytest.raises(type(error)):
        EmbeddingIndexer(db, model).index_pending()
    assert model.calls == 1
