"""Finding documents and parts of them by words and by meaning."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.search.thesaurus import Thesaurus
from tests.vault.conftest import ADA
from vault.content.markdown import parsed
from vault.documents import Vaults
from vault.search.chunks import MOST_TOKENS, cut


@pytest.fixture
def model():
    return Thesaurus()


@pytest.fixture
def vault(vaults, database, model):
    return Vaults(database=database, embedding=lambda: model).of(ADA)


FILES = {
    "repairs.md": "# Workshop\n\nThe automobile needs new brakes.\n\n# Garden\n\nWatered the roses at dawn.\n",
    "food.md": "# Kitchen\n\nSourdough wants patience.\n",
    "travel.md": "---\ntitle: Summer\n---\nWe took a vacation by the lake.\nIt rained.\n",
}


@pytest.mark.contract
def test_words_are_found_at_once_with_their_lines(vault, put):
    put(FILES)
    (found,) = vault.find_excerpts("watered roses")
    assert (found.path, found.title, found.line_start, found.line_end) == ("repairs.md", "Workshop", 5, 7)
    assert "Watered the roses" in found.text
    assert vault.progress() == (3, 0)


def test_what_means_the_same_is_found_once_vectors_are_made(vault, put):
    put(FILES)
    assert vault.find_excerpts("Where is my vehicle?") == []
    assert vault.vectors.embed_pending() == 3
    found = vault.find_excerpts("Where is my vehicle?")
    assert [(each.path, each.line_start) for each in found] == [("repairs.md", 1)]
    assert 0 <= found[0].distance < 1
    assert vault.progress() == (3, 3)


def test_a_document_is_found_once_with_its_best_part(vault, put):
    put({"a.md": "# One\n\nroses\n\n# Two\n\nroses roses\n", "b.md": "# Three\n\nroses\n"})
    assert sorted(each.path for each in vault.find_documents("roses")) == ["a.md", "b.md"]


@pytest.mark.contract
def test_what_was_changed_is_embedded_again_and_what_is_gone_is_not_found(vault, put, model):
    put(FILES)
    vault.vectors.embed_pending()
    vault.root.joinpath("repairs.md").unlink()
    put({"food.md": "# Kitchen\n\nMy puppy ate it.\n"})
    assert vault.find_excerpts("Where is my vehicle?") == []
    model.embedded.clear()
    assert vault.vectors.embed_pending() == 1
    assert model.embedded == ["Kitchen\n# Kitchen\n\nMy puppy ate it."]
    assert [each.path for each in vault.find_excerpts("Is the dog well?")] == ["food.md"]


def test_another_model_throws_the_vectors_of_the_first_away(vaults, database, vault, put):
    put(FILES)
    vault.vectors.embed_pending()
    other = Vaults(database=database, embedding=lambda: Thesaurus("other"))
    assert other.vectors.embed_pending() == 3
    assert [each.path for each in other.of(ADA).find_excerpts("Where is my vehicle?")] == ["repairs.md"]


@pytest.mark.parametrize("has_same_prefix", [False, True])
def test_another_persons_documents_are_not_found(vault, put, vaults, database, model, monkeypatch, has_same_prefix):
    if has_same_prefix:
        monkeypatch.setattr("database.search.index.term_prefix", lambda _email: "0another")
    put(FILES)
    vault.vectors.embed_pending()
    eve = Vaults(database=database, embedding=lambda: model).of("eve@example.org")
    assert eve.find_excerpts("sourdough patience") == []
    assert eve.find_excerpts("Where is my vehicle?") == []


@pytest.mark.parametrize("query", ["", "   ", '"*" OR NEAR(', "%_", "a" * 50_000, "\ud800"])
def test_any_text_is_a_query(vault, put, query):
    put(FILES)
    assert vault.find_excerpts(query) == []


def test_chunks_fit_the_model_and_together_say_all_lines():
    paragraphs = [" ".join(f"word{number}" for number in range(size)) for size in (30, 3, 500, 80, 80, 80, 1)]
    text = "---\nx: 1\n---\nbefore\n# One\n" + "\n\n".join(paragraphs) + "\n## Two\n" + "unbroken" * 900 + "\n# Three\n"
    document = parsed("a.md", text.encode(), modified_ns=0)

    def count(texts):
        return [len(each.split()) + len(each) // 20 for each in texts]

    chunks = cut(document.text, document.headings, body_line=document.body_line, count=count)
    assert max(count([chunk.embedded])[0] for chunk in chunks) <= MOST_TOKENS
    covered = {line for chunk in chunks for line in range(chunk.line_start, chunk.line_end + 1)}
    said = {number for number, line in enumerate(document.lines, start=1) if line.strip() and number > 3}
    assert said <= covered
    assert {chunk.heading for chunk in chunks} == {"", "One", "One > Two", "Three"}


def test_chunks_of_a_section_overlap():
    text = "# One\n" + "\n".join(f"line {number} has six words here" for number in range(100))
    document = parsed("a.md", text.encode(), modified_ns=0)
    chunks = cut(text, document.headings, body_line=1, count=lambda texts: [len(each.split()) for each in texts])
    assert all(later.line_start <= earlier.line_end for earlier, later in pairwise(chunks))
