"""Sentences of the server: English text that says by its codes what it says in any language."""

from __future__ import annotations

import ast
import copy
import json
from collections.abc import Iterator

import orjson
import pytest

from sentences import because, otherwise, recognised, recognised_place, said, say, says, together
from tests.live_server import ROOT


def test_a_sentence_is_its_english_text_and_tells_its_code_and_values() -> None:
    sentence = say("newest_memories", shown=1_000, count=12_345)
    assert sentence == "The newest 1,000 of 12,345 memories."
    assert said(sentence) == [{"code": "newest_memories", "values": {"shown": 1_000, "count": 12_345}}]
    assert says(sentence, "newest_memories")
    assert not says(sentence, "edited")
    assert orjson.loads(orjson.dumps(sentence)) == json.loads(json.dumps(sentence)) == sentence


def test_a_noun_agrees_with_its_number_in_what_is_said_and_in_what_was_stored() -> None:
    assert say("conversation_has", count=1) == "The conversation has 1 message."
    assert say("conversation_has", count=1_200) == "The conversation has 1,200 messages."
    for count, stored in ((1, "1 more line is no message."), (12, "12 more lines are no messages.")):
        assert say("import_more_lines", count=count) == stored
        assert said(recognised(stored)) == [{"code": "import_more_lines", "values": {"count": count}}]


def test_text_without_a_code_is_said_as_it_is() -> None:
    assert said("No more credit.") == []
    both = together("No more credit.", "", say("kept"))
    assert both == "No more credit. What was said is kept."
    assert said(both) == [{"text": "No more credit."}, {"code": "kept", "values": {}}]


def test_other_languages_get_a_general_sentence_for_text_without_a_code() -> None:
    lost = otherwise("The knowledge base is locked.", "memories_unavailable")
    assert lost == "The knowledge base is locked."
    assert said(lost) == said(say("memories_unavailable"))
    assert said(otherwise(say("memories_opening"), "memories_unavailable")) == said(say("memories_opening"))


def test_stored_text_is_recognised_or_quoted_and_stays_as_it_is() -> None:
    assert recognised("It has no messages.") == "It has no messages."
    assert said(recognised("It has no messages.")) == [{"code": "import_no_messages", "values": {}}]
    values = {"most": 1_200_000}
    assert said(recognised("It has more than 1,200,000 values.")) == [
        {"code": "import_item_too_many", "values": values}
    ]
    broken = together(say("import_part_unreadable"), say("import_item_too_deep", most=200))
    assert recognised(str(broken)) == broken
    assert said(recognised(str(broken))) == said(broken)
    cut = "The JSON was cut at byte {8}."
    assert recognised(cut) == cut
    assert said(recognised(cut)) == [{"code": "server_says", "values": {"text": cut}}]


def test_a_place_in_a_file_is_recognised_and_the_name_of_a_conversation_stays() -> None:
    assert said(recognised_place("line 1,200")) == [{"code": "import_place_line", "values": {"number": 1_200}}]
    assert said(recognised_place("conversation 3 of conversations.json")) == [
        {"code": "import_place_conversation", "values": {"number": 3, "name": "conversations.json"}}
    ]
    assert said(recognised_place("A conversation about lines")) == []


def test_a_sentence_and_the_reasons_for_it_read_as_one_in_english_and_are_several_elsewhere() -> None:
    cut = because("parts_cut", say("found_nothing"), "No credit.", count=1, of=2)
    assert cut == (
        "1 of 2 parts were cut into sentences, not read by a model: The model found nothing there. No credit."
    )
    assert [part.get("code") or part["text"] for part in said(cut)] == ["parts_cut", "found_nothing", "No credit."]


def literals_in_warnings(tree: ast.AST) -> Iterator[ast.expr]:
    """Texts written down where warnings for people are made: as `warnings=[…]`, `warnings += […]`, `….warn(…)`."""
    for node in ast.walk(tree):
        given: list[ast.AST] = []
        if isinstance(node, ast.keyword) and node.arg == "warnings":
            given = [node.value]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            owner = node.func.value
            holds = isinstance(owner, ast.Name | ast.Attribute) and ast.unparse(owner).endswith("warnings")
            given = (
                list(node.args)
                if node.func.attr == "warn" or (holds and node.func.attr in {"append", "extend"})
                else []
            )
        elif isinstance(node, ast.AugAssign) and ast.unparse(node.target).endswith("warnings"):
            given = [node.value]
        for value in given:
            lists = value.elts if isinstance(value, ast.List) else [value]
            yield from (each for each in lists if isinstance(each, ast.Constant | ast.JoinedStr))


@pytest.mark.parametrize("package", ["search", "endpoints", "truth_management_system"])
def test_each_warning_for_a_person_has_a_code(package: str) -> None:
    paths = sorted((ROOT / package).rglob("*.py"))
    assert paths
    for path in paths:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        assert [ast.unparse(each) for each in literals_in_warnings(tree)] == [], path


def test_a_copy_says_the_same() -> None:
    sentence = say("cut_to", characters=8)
    assert said(copy.deepcopy(sentence)) == said(copy.copy(sentence)) == said(sentence)


def test_an_unknown_code_and_a_missing_value_are_refused() -> None:
    with pytest.raises(KeyError):
        say("unheard_of")
    with pytest.raises(KeyError):
        say("cut_to")
