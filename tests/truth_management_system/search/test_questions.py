"""How well the searches answer sixty questions about one imagined life, with the real embedding model."""

from __future__ import annotations

import json
from typing import Any

import pytest

from language_models.download.catalogue import entry_named
from language_models.embedded.embeddings import EmbeddedEmbeddingModel
from settings import load_settings
from tests.live_server import ROOT
from tests.truth_management_system.search.conftest import ANN, Person
from truth_management_system.database import get_memory_database
from truth_management_system.search.base import SearchStrategy
from truth_management_system.search.hybrid_search import HybridSearchStrategy
from truth_management_system.search.vectors import EmbeddingIndexer

pytestmark = pytest.mark.embedded

DATA: dict[str, Any] = json.loads((ROOT / "tests" / "data" / "knowledge_questions.json").read_text())
KINDS = ("words", "between", "meaning")
LOOKED_AT = 20


class Ranks:
    """At which rank a search finds the one claim that answers each question; 0 where it does not."""

    def __init__(self, search: SearchStrategy, answers: dict[str, str]) -> None:
        self.name = search.name
        self.of: list[tuple[str, int]] = []
        for question in DATA["questions"]:
            given = [each.claim.claim_id for each in search.search(question["question"], LOOKED_AT)]
            answer = answers[question["claim_id"]]
            self.of.append((question["kind"], given.index(answer) + 1 if answer in given else 0))

    def hits(self, within: int, kind: str | None = None) -> float:
        ranks = [rank for each, rank in self.of if kind in (None, each)]
        return sum(0 < rank <= within for rank in ranks) / len(ranks)

    @property
    def reciprocal(self) -> float:
        return sum(1 / rank for _, rank in self.of if rank) / len(self.of)

    def row(self) -> str:
        kinds = "".join(f"   {kind} {self.hits(1, kind):.2f} {self.hits(5, kind):.2f}" for kind in KINDS)
        return f"{self.name:>10}   all {self.hits(1):.2f} {self.hits(5):.2f}{kinds}   mrr {self.reciprocal:.3f}"


@pytest.fixture(scope="module")
def ranks() -> dict[str, Ranks]:
    model = EmbeddedEmbeddingModel(entry_named("", work="embedding"), folder=load_settings().model_dir)
    with get_memory_database() as database:
        person = Person(database, ANN)
        answers = {}
        for claim in DATA["claims"]:
            fields = {name: claim[name] for name in ("claim_type", "context_domain", "tags")}
            answers[claim["id"]] = person.claim(claim["statement"], **fields).claim_id
        EmbeddingIndexer(database, model).index_pending()
        hybrid = HybridSearchStrategy(database, ANN, model=model)
        measured = [Ranks(search, answers) for search in (hybrid.by_words, hybrid.by_meaning, hybrid)]
    print("\nhit@1 and hit@5", *(each.row() for each in measured), sep="\n")
    return {each.name: each for each in measured}


def test_hybrid_answers_nine_of_ten_questions_among_the_first_five(ranks: dict[str, Ranks]):
    assert ranks["hybrid"].hits(5) >= 0.9
    assert ranks["hybrid"].hits(1) >= 0.6
    assert ranks["hybrid"].reciprocal >= 0.73


@pytest.mark.parametrize("alone", ["fts", "embedding"])
def test_hybrid_is_never_behind_words_alone_or_meaning_alone(ranks: dict[str, Ranks], alone: str):
    assert ranks["hybrid"].hits(5) >= ranks[alone].hits(5)
    assert ranks["hybrid"].hits(1) >= ranks[alone].hits(1)
    assert ranks["hybrid"].reciprocal >= ranks[alone].reciprocal


def test_names_and_numbers_are_found_first(ranks: dict[str, Ranks]):
    assert ranks["hybrid"].hits(1, "words") == 1.0
    assert ranks["hybrid"].hits(5, "between") == 1.0
