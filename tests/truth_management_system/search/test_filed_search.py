"""Finding claims by what they mean and by what they are filed under."""

from __future__ import annotations

import pytest

from tests.truth_management_system.search.conftest import ANN, Person, found
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.database import PKBDatabase
from truth_management_system.search.embedding_search import FiledSearchStrategy
from truth_management_system.search.vectors import EmbeddingIndexer

pytestmark = pytest.mark.contract


@pytest.fixture
def search(db: PKBDatabase, model: WordVectors) -> FiledSearchStrategy:
    return FiledSearchStrategy(db, ANN, model=model)


def test_a_claim_whose_tag_fits_comes_before_one_that_only_sounds_alike(
    ann: Person, search: FiledSearchStrategy, model: WordVectors
):
    ann.claim("shirts wait until the wardrobe is empty", tags=["chore"])
    ann.claim("the hated film was long")
    EmbeddingIndexer(ann.db, model).index_pending()
    first = search.search("hated chore")[0]
    assert first.claim.statement == "shirts wait until the wardrobe is empty"
    assert first.metadata["filed"] > first.score


def test_a_renamed_tag_counts_by_its_new_name(ann: Person, search: FiledSearchStrategy, model: WordVectors):
    ann.claim("shirts wait until the wardrobe is empty", tags=["chore"])
    EmbeddingIndexer(ann.db, model).index_pending()
    tag = ann.tags.list()[0]
    ann.tags.edit(tag.tag_id, {"name": "laundry"})
    assert "filed" not in search.search("chore")[0].metadata
    EmbeddingIndexer(ann.db, model).index_pending()
    assert search.search("laundry")[0].metadata["filed"] == pytest.approx(1.0, abs=0.01)


def test_claims_without_tags_are_found_as_before(ann: Person, search: FiledSearchStrategy, model: WordVectors):
    ann.claim("my car is red")
    EmbeddingIndexer(ann.db, model).index_pending()
    assert found(search.search("automobile")) == ["my car is red"]


def test_more_tags_than_a_batch_are_all_embedded(ann: Person, model: WordVectors):
    ann.claim("a much filed one", tags=[f"tag {number}" for number in range(7)])
    EmbeddingIndexer(ann.db, model).index_pending(batch=2)
    assert ann.db.select("SELECT COUNT(*) FROM tag_embeddings")[0][0] == 7
