"""What is asked for takes as many statements among many claims as among few."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from benchmarks.made_up.groups import ENTITY, TAG, TREE
from benchmarks.made_up.knowledge import DOMAIN, KnowledgePlan, seed_knowledge
from language_models.ports import ModelState
from truth_management_system import PKBConfig, StructuredAPI, get_database
from truth_management_system.interface.structured_api import MOST_FOUND, EmbeddingIndexer, KnowledgeModels

ANN = "ann@example.org"
FEW, MANY = 200, 3_000
Asked = Callable[[StructuredAPI], Any]


class LetterVectors:
    """An embedding model that counts letters."""

    name = "letters"
    dimensions = 26

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        counts = [[1 + text.lower().count(chr(97 + place)) for place in range(26)] for text in texts]
        vectors = np.array(counts, dtype=np.float32)
        normalised: NDArray[np.float32] = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
        return normalised

    def state(self) -> ModelState:
        return ModelState(name=self.name, phase="ready", detail="")


@pytest.fixture(scope="module")
def seeded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[int], StructuredAPI]]:
    """What Ann can do with a knowledge base of so many claims, every one with its vector."""
    folder: Path = tmp_path_factory.mktemp("knowledge")
    made: dict[int, StructuredAPI] = {}
    model = LetterVectors()
    for count in (FEW, MANY):
        db = get_database(PKBConfig(db_path=folder / f"{count}.sqlite", embedding_timeout=60.0))
        list(seed_knowledge(db, user_email=ANN, plan=KnowledgePlan(claims=count)))
        EmbeddingIndexer(db, model).index_pending(batch=1_000)
        made[count] = StructuredAPI(db, {}, db.config, ANN, models=KnowledgeModels(embedding=model))
    yield made.__getitem__
    for api in made.values():
        api.db.close()


def statements(api: StructuredAPI, ask: Asked) -> int:
    """How many statements it takes when it is asked for the second time."""
    ask(api)
    before = api.db.statements
    ask(api)
    return api.db.statements - before


def friendly_id(api: StructuredAPI) -> str:
    (claim,) = api.claims.list(limit=1, order_by="claim_number")
    return claim.friendly_id


def resolving(reference: str) -> Asked:
    return lambda api: api.resolve_reference(reference).data["claims"]


def searching(strategy: str) -> Asked:
    return lambda api: api.search("sourdough at weekends", strategy=strategy, k=20).data


@pytest.mark.parametrize(
    ("reference", "most"),
    [("claim_7", 1), (TAG, 2), (ENTITY, 2), (f"{DOMAIN}_domain", 2), (TREE, 2), ("measured_tree", 12)],
)
def test_resolving_takes_few_statements_whatever_there_is(
    seeded: Callable[[int], StructuredAPI], reference: str, most: int
) -> None:
    few, many = (statements(seeded(count), resolving(reference)) for count in (FEW, MANY))
    assert few == many <= most
    assert len(resolving(reference)(seeded(MANY))) >= 1


def test_resolving_a_readable_id_takes_one_statement(seeded: Callable[[int], StructuredAPI]) -> None:
    for count in (FEW, MANY):
        name = friendly_id(seeded(count))
        assert statements(seeded(count), resolving(name)) == 1


@pytest.mark.parametrize("strategy", ["fts", "embedding", "hybrid"])
def test_searching_takes_as_many_statements_among_many(seeded: Callable[[int], StructuredAPI], strategy: str) -> None:
    few, many = (statements(seeded(count), searching(strategy)) for count in (FEW, MANY))
    assert many <= few <= 25
    assert len(searching(strategy)(seeded(MANY))) == 20


@pytest.mark.parametrize("strategy", ["fts", "embedding", "hybrid"])
def test_ranking_all_that_can_be_ranked_takes_few_statements(
    seeded: Callable[[int], StructuredAPI], strategy: str
) -> None:
    def ranking(api: StructuredAPI) -> Any:
        return api.search("sourdough at weekends", strategy=strategy, k=MOST_FOUND).data

    assert statements(seeded(MANY), ranking) <= 25
    assert len(ranking(seeded(MANY))) > 50


@pytest.mark.parametrize("beginning", ["", "sour", "sourdough a", "le", "measured"])
def test_completing_takes_as_many_statements_among_many(seeded: Callable[[int], StructuredAPI], beginning: str) -> None:
    few, many = (statements(seeded(count), lambda api: api.autocomplete(beginning)) for count in (FEW, MANY))
    assert many <= few <= 9


LISTS: dict[str, Asked] = {
    "claims": lambda api: api.list_claims(limit=50).data["claims"],
    "claims of a type": lambda api: api.claims.list({"claim_types": ["fact"]}, limit=50),
    "pinned claims": lambda api: api.get_pinned_claims().success,
    "contexts": lambda api: api.contexts.list_all(),
    "claims of a context": lambda api: api.contexts.claims_of(api.contexts.get_by_friendly_id(TREE).context_id, 50),
    "entities": lambda api: api.entities.list(limit=50),
    "tags": lambda api: api.tags.list(limit=50),
    "types": lambda api: api.type_catalog.list(),
    "domains": lambda api: api.domain_catalog.list(),
    "conflicts": lambda api: api.get_open_conflicts().success,
    "history": lambda api: api.get_audit_log().success,
}


@pytest.mark.parametrize("what", LISTS)
def test_a_list_takes_at_most_two_statements(seeded: Callable[[int], StructuredAPI], what: str) -> None:
    assert LISTS[what](seeded(MANY))
    few, many = (statements(seeded(count), LISTS[what]) for count in (FEW, MANY))
    assert few == many <= 2


DESCRIPTIONS: dict[str, Callable[[StructuredAPI, int], list[dict[str, Any]]]] = {
    "claims": lambda api, count: api.describe_claims(api.claims.list(limit=count, order_by="claim_number")),
    "entities": lambda api, count: api.describe_entities(api.entities.list(limit=count)),
    "tags": lambda api, count: api.describe_tags(api.tags.list(limit=count)),
}


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_describing_many_takes_no_more_statements_than_describing_few(
    seeded: Callable[[int], StructuredAPI], what: str
) -> None:
    api, describe = seeded(MANY), DESCRIPTIONS[what]
    assert len(describe(api, 30)) == 30
    # Both slices hold superseded claims, which are asked about apart.
    few, many = (statements(api, lambda api, count=count: describe(api, count)) for count in (150, 400))
    assert few == many <= 7


def test_describing_the_whole_tree_takes_two_statements(seeded: Callable[[int], StructuredAPI]) -> None:
    few, many = (statements(seeded(count), lambda api: api.describe_contexts()) for count in (FEW, MANY))
    assert few == many == 2
