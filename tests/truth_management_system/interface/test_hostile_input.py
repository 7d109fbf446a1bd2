"""Whatever an action is given, it answers; what it can't take is a sentence, never an exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.stores import empty_memory_knowledge_base, memory_image, opened_image
from tests.tiers import examples
from tests.truth_management_system.interface.conftest import Things
from truth_management_system import ActionResult, StructuredAPI
from truth_management_system.interface.parts import UNEXPECTED

pytestmark = pytest.mark.thorough

ANY_TEXT = st.text(st.characters(exclude_categories=()), max_size=40)
NOT_TEXT = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.binary(max_size=4),
    st.lists(ANY_TEXT, max_size=2),
    st.dictionaries(ANY_TEXT, ANY_TEXT, max_size=2),
)
WORST = ["\0", "\ud800", "a" * 1_000_000, "\u202e", "' OR 1=1 --", "{" * 10_000, "9" * 5_000, '"', "%_!", " \n\t"]

ACTIONS: dict[str, Callable[[Things, Any], ActionResult]] = {
    "add a claim": lambda my, it: my.api.add_claim(it, auto_extract=False),
    "add a claim by rules": lambda my, it: my.api.add_claim(it, suggest_similar=True),
    "give a type": lambda my, it: my.api.add_claim("New", it, auto_extract=False),
    "give a domain": lambda my, it: my.api.add_claim("New", "fact", it, auto_extract=False),
    "give tags": lambda my, it: my.api.add_claim("New", tags=[it], auto_extract=False),
    "give all tags": lambda my, it: my.api.add_claim("New", tags=it, auto_extract=False),
    "give entities": lambda my, it: my.api.add_claim("New", entities=[{"name": it, "type": it}], auto_extract=False),
    "give all entities": lambda my, it: my.api.add_claim("New", entities=it, auto_extract=False),
    "give contexts": lambda my, it: my.api.add_claim("New", contexts=[it], auto_extract=False),
    "give further types": lambda my, it: my.api.add_claim("New", auto_extract=False, claim_types=it),
    "give questions": lambda my, it: my.api.add_claim("New", auto_extract=False, possible_questions=it),
    "give further data": lambda my, it: my.api.add_claim("New", auto_extract=False, meta_json=it),
    "give an id": lambda my, it: my.api.add_claim("New", auto_extract=False, friendly_id=it),
    "give a confidence": lambda my, it: my.api.add_claim("New", auto_extract=False, confidence=it),
    "give a time": lambda my, it: my.api.add_claim("New", auto_extract=False, valid_from=it, valid_to=it),
    "give a source": lambda my, it: my.api.add_claim("New", auto_extract=False, source_activity_id=it),
    "give a subject": lambda my, it: my.api.add_claim("New", auto_extract=False, subject_text=it),
    "replace": lambda my, it: my.api.add_claim("New", auto_extract=False, supersedes=it),
    "add many": lambda my, it: my.api.add_claims_bulk([{"statement": it}, it]),
    "add any number": lambda my, it: my.api.add_claims_bulk(it),
    "edit a claim": lambda my, it: my.api.edit_claim(my.claim, statement=it),
    "edit a status": lambda my, it: my.api.edit_claim(my.claim, status=it),
    "name a claim": lambda my, it: my.api.get_claim(it),
    "name claims": lambda my, it: my.api.get_claims_by_ids([it]),
    "name any number": lambda my, it: my.api.get_claims_by_ids(it),
    "name a claim readably": lambda my, it: my.api.get_claim_by_friendly_id(it),
    "delete": lambda my, it: my.api.delete_claim(it),
    "pin": lambda my, it: my.api.pin_claim(it),
    "supersede": lambda my, it: my.api.supersede_claim(my.claim, it, it),
    "consolidate": lambda my, it: my.api.consolidate_claims([my.claim, it], it),
    "change many": lambda my, it: my.api.change_claims([my.claim, it], "set_type", it),
    "tag many": lambda my, it: my.api.change_claims([my.claim], "add_tag", it),
    "change somehow": lambda my, it: my.api.change_claims([my.claim], it),
    "list": lambda my, it: my.api.list_claims({"status": it, "tag": it}, limit=it, offset=it, order_by=it),
    "filter": lambda my, it: my.api.list_claims(it),
    "search": lambda my, it: my.api.search(it),
    "search by words": lambda my, it: my.api.search(it, strategy="fts"),
    "search somehow": lambda my, it: my.api.search("tea", strategy=it, k=it),
    "search with filters": lambda my, it: my.api.search("tea", filters={"tags": [it], "valid_at": it, "pinned": it}),
    "search notes": lambda my, it: my.api.search_notes(it, k=it),
    "resolve": lambda my, it: my.api.resolve_reference(it),
    "complete": lambda my, it: my.api.autocomplete(it),
    "look at": lambda my, it: my.api.analyze_statement(it),
    "add a note": lambda my, it: my.api.add_note(it, it, it, it),
    "edit a note": lambda my, it: my.api.edit_note(my.note, body=it),
    "add an entity": lambda my, it: my.api.add_entity(it, it, it),
    "add a tag": lambda my, it: my.api.add_tag(it, it),
    "link an entity": lambda my, it: my.api.link_entity_to_claim(my.claim, my.entity, it),
    "unlink an entity": lambda my, it: my.api.unlink_entity_from_claim(my.claim, my.entity, it),
    "add a context": lambda my, it: my.api.add_context(it, description=it, parent_context_id=it, claim_ids=[it]),
    "move a context": lambda my, it: my.api.edit_context(my.context, parent_context_id=it),
    "name a context": lambda my, it: my.api.resolve_context(it),
    "contradict": lambda my, it: my.api.create_conflict_set([my.claim, it], it),
    "decide": lambda my, it: my.api.resolve_conflict_set(my.conflict, it, it),
    "add a type": lambda my, it: my.api.add_type(it, it),
    "import": lambda my, it: my.api.import_data(it),
    "import rows": lambda my, it: my.api.import_data({**my.api.export_data().data, "data": {"claims": [it]}}, it),
    "look back": lambda my, it: my.api.get_audit_log(it, limit=it, before=it),
    "undo": lambda my, it: my.api.undo(it),
}


@cache
def untouched() -> tuple[bytes, Things]:
    """A knowledge base as every test begins with one, and what is in it."""
    with empty_memory_knowledge_base() as database:
        things = Things.of(StructuredAPI(database, {}, database.config))
        return memory_image(database), things


@contextmanager
def own_things() -> Iterator[Things]:
    """A knowledge base that nobody has tried anything on yet."""
    image, things = untouched()
    with opened_image(image) as database:
        yield replace(things, api=StructuredAPI(database, {}, database.config))


@pytest.fixture
def my() -> Iterator[Things]:
    with own_things() as things:
        yield things


def assert_answered(action: Callable[[Things, Any], ActionResult], my: Things, it: Any) -> None:
    result = action(my, it)
    assert isinstance(result, ActionResult)
    assert result.success or result.errors
    assert result.metadata.get("error_code") not in {UNEXPECTED, "knowledge_unavailable"}


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
@examples(5)
@given(it=ANY_TEXT | NOT_TEXT)
def test_anything_is_answered(action: Callable[[Things, Any], ActionResult], it: Any) -> None:
    with own_things() as my:
        assert_answered(action, my, it)


@pytest.mark.parametrize("action", ACTIONS.values(), ids=ACTIONS)
def test_the_worst_texts_are_answered(my: Things, action: Callable[[Things, Any], ActionResult]) -> None:
    for text in WORST:
        assert_answered(action, my, text)


@pytest.mark.parametrize("text", WORST)
def test_what_could_be_stored_comes_back_and_is_found(my: Things, text: str) -> None:
    result = my.api.add_claim(f"zebra {text[:1_000]}", "fact", "work", auto_extract=False)
    assert result.success, result.errors
    assert my.api.get_claim(result.object_id).data == result.data
    assert [found.claim for found in my.api.search("zebra").data] == [result.data]
    result.data.statement.encode()
