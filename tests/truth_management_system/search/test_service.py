"""All searches of one user, by name."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import pytest

from language_models.testing import ScriptedChatModel
from tests.live_server import ROOT
from tests.truth_management_system.search.conftest import ANN, Person
from tests.truth_management_system.search.word_vectors import WordVectors
from truth_management_system.database import PKBDatabase
from truth_management_system.errors import InvalidKnowledgeError
from truth_management_system.models import Note
from truth_management_system.search.service import ClaimSearch
from truth_management_system.search.vectors import EmbeddingIndexer


@dataclass
class Models:
    chat: Any
    embedding: Any


@pytest.mark.parametrize("strategy", ["hybrid", "fts", "embedding", "rewrite", "mapreduce"])
def test_every_search_finds_by_its_name(db: PKBDatabase, ann: Person, model: WordVectors, strategy: str):
    ann.claim("I drink tea")
    EmbeddingIndexer(db, model).index_pending()
    chat = ScriptedChatModel.saying('{"queries": ["green tea"], "helpful": [1]}')
    came_to = ClaimSearch(db, ANN, models=Models(chat, model)).search("tea", strategy=strategy)
    assert [result.claim.statement for result in came_to.results] == ["I drink tea"]
    assert {result.source for result in came_to.results} == {strategy}
    assert came_to.warnings == []


@pytest.mark.parametrize("strategy", ["hybrid", "embedding", "rewrite", "mapreduce"])
def test_what_a_missing_model_costs_is_said(db: PKBDatabase, ann: Person, strategy: str):
    ann.claim("I drink tea")
    assert ClaimSearch(db, ANN).search("tea", strategy=strategy).warnings


def test_a_search_that_is_none_is_refused_with_those_that_are(db: PKBDatabase):
    with pytest.raises(InvalidKnowledgeError, match="hybrid, fts, embedding, rewrite, mapreduce"):
        ClaimSearch(db, ANN).search("tea", strategy="magic")


def test_as_many_come_back_as_the_settings_say(db: PKBDatabase, ann: Person):
    for number in range(db.config.default_k + 5):
        ann.claim(f"Tea {number}")
    searches = ClaimSearch(db, ANN)
    assert len(searches.search("tea", strategy="fts").results) == db.config.default_k
    assert len(searches.search("tea", strategy="fts", k=3).results) == 3


def test_notes_are_found_as_well(db: PKBDatabase, ann: Person):
    ann.notes.add(Note.create("About tea", "Drinks"))
    ((note, score),) = ClaimSearch(db, ANN).search_notes("tea").pairs
    assert note.title == "Drinks"
    assert score > 0


def test_words_are_searched_without_loading_what_vectors_need():
    script = (
        "import sys\n"
        "from truth_management_system import ClaimCRUD, HybridSearchStrategy, Claim, get_memory_database\n"
        "with get_memory_database() as db:\n"
        "    ClaimCRUD(db).add(Claim.create('I drink tea', 'fact', 'health'))\n"
        "    assert len(HybridSearchStrategy(db).search('tea')) == 1\n"
        "assert 'numpy' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


def test_where_nothing_can_be_found_by_meaning_words_are_searched_and_that_is_said(db: PKBDatabase, ann: Person):
    ann.claim("I drink tea")
    came_to = ClaimSearch(db, ANN).search("tea", strategy="embedding")
    assert [result.claim.statement for result in came_to.results] == ["I drink tea"]
    assert came_to.results[0].source == "fts"
    assert "no embedding model" in came_to.warnings[0]
