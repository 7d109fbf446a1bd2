"""A knowledge base as a document: whole, readable, and nothing in it but what the person wrote."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.tiers import examples
from tests.truth_management_system.crud.conftest import ANN, Person
from truth_management_system.database import get_memory_database
from truth_management_system.portability import export_markdown

pytestmark = pytest.mark.contract

HOSTILE = [
    "one\n\n# Heading",
    "one\n- another item",
    "- nested",
    "1. numbered",
    "1) numbered",
    "> quote",
    "```\ncode",
    "    indented",
    "<script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "[click](javascript:alert(1))",
    "![x](http://example.org/x.png)",
    "<javascript:alert(1)>",
    "`code` **bold** _it_ ~~gone~~",
    "a | b\n--|--\n1 | 2",
    "[x]: http://example.org",
    "&lt;b&gt; &amp;",
    "---",
    "===",
    "end\\",
    "line\u2028separator\x0bvertical\x85next",
    "$x$ $$y$$",
]


def tokens(markdown: str) -> list[Token]:
    return MarkdownIt("gfm-like", {"html": True, "linkify": False}).parse(markdown)


def shape(markdown: str) -> list[str]:
    """The blocks and inline markup of a document, without their texts."""
    found = []
    for token in tokens(markdown):
        found.append(token.type)
        found += [child.type for child in token.children or [] if child.type != "text"]
    return [kind for kind in found if kind != "text_special"]


def test_each_memory_is_there_with_its_references(filled: Person) -> None:
    lines = export_markdown(filled.db, ANN).splitlines()
    one = filled.claims.get_by_claim_number(1)
    assert one is not None
    assert f"- I run at dawn (answers: When?) (`@{one.friendly_id}`; \\#1; fact; tags: running)" in lines
    assert any(line.startswith("- John reviews code (") and "about: John Smith" in line for line in lines)
    assert any(line.startswith("- I wake at 5 (") and "contested" in line for line in lines)
    assert "- Diary: A long text of two lines" in lines
    assert not any("I smoke" in line for line in lines)


def test_memories_are_below_their_domain_and_their_contexts(filled: Person) -> None:
    lines = export_markdown(filled.db, ANN).splitlines()
    headings = [line for line in lines if line.startswith("#")]
    assert headings == [
        "# Memories",
        "## Health (`@health_domain`)",
        "## Work (`@work_domain`)",
        "## Contexts",
        "### Project Alpha (`@project_alpha_context`)",
        "#### Backend (`@backend_context`)",
        "## Notes",
    ]
    below_backend = lines[lines.index(headings[5]) + 2]
    assert below_backend.startswith("- John reviews code (`@")


def test_an_empty_knowledge_base_is_a_document_too(ann: Person) -> None:
    assert export_markdown(ann.db, ANN).startswith("# Memories\n\n0 memories")


def test_a_deep_tree_keeps_its_order_and_headings_end_at_six(ann: Person) -> None:
    context = None
    for depth in range(8):
        context = ann.context(f"level {depth}", context)
    headings = [line.split(" (")[0] for line in export_markdown(ann.db, ANN).splitlines() if "level" in line]
    assert headings == [f"{'#' * min(3 + depth, 6)} level {depth}" for depth in range(8)]


def written(text: str) -> str:
    """A document in which `text` stands wherever a person can write."""
    with get_memory_database() as db:
        person = Person(db, ANN)
        context = person.context(text)
        person.contexts.edit(context.context_id, {"description": text})
        named = [{"name": text, "type": "person"}]
        person.claim(text, tags=[text], entities=named, contexts=[context.context_id], possible_questions=[text])
        person.note(text, text)
        return export_markdown(db, ANN)


PLAIN = shape(written("plain"))


@pytest.mark.parametrize("text", HOSTILE)
def test_what_a_person_wrote_stays_text_in_its_place(text: str) -> None:
    assert shape(written(text)) == PLAIN


@examples(60)
@given(st.text(alphabet="#*_-+>`~[]()<>!|\\&:.1 \n\tax$=/", min_size=1, max_size=20).filter(str.strip))
def test_any_text_stays_text(text: str) -> None:
    assert shape(written(text)) == PLAIN
