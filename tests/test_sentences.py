"""Sentences of the server: English text that says by its codes what it says in any language."""

from __future__ import annotations

import copy
import json

import orjson
import pytest

from sentences import otherwise, said, say, says, together


def test_a_sentence_is_its_english_text_and_tells_its_code_and_values() -> None:
    sentence = say("newest_memories", shown=1_000, count=12_345)
    assert sentence == "The newest 1,000 of 12,345 memories."
    assert said(sentence) == [{"code": "newest_memories", "values": {"shown": 1_000, "count": 12_345}}]
    assert says(sentence, "newest_memories")
    assert not says(sentence, "edited")
    assert orjson.loads(orjson.dumps(sentence)) == json.loads(json.dumps(sentence)) == sentence


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


def test_a_copy_says_the_same() -> None:
    sentence = say("cut_to", characters=8)
    assert said(copy.deepcopy(sentence)) == said(copy.copy(sentence)) == said(sentence)


def test_an_unknown_code_and_a_missing_value_are_refused() -> None:
    with pytest.raises(KeyError):
        say("unheard_of")
    with pytest.raises(KeyError):
        say("cut_to")
