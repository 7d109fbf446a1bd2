"""The system prompt of a conversation: how much of it a model is given, and that it stays text."""

from __future__ import annotations

from chat.prompting.items import CONTEXT_ENDS
from chat.prompting.options import answer_options
from language_models.testing import ScriptedChatModel
from tests.chat.conftest import Talk


def test_a_system_prompt_that_is_too_long_for_the_model_is_cut_and_the_answer_says_so(talk: Talk) -> None:
    talk.models.main_model = ScriptedChatModel.saying("Fine.")
    room = talk.models.main_model.context_window * 3
    conversation = talk.new()
    events = talk.say(conversation, "Hello", options={"system_prompt": "Be kind. " * (room // 9)})
    assert [event["notice"] for event in events if "notice" in event] == [
        "The system prompt is too long for this model: it gets the beginning."
    ]
    system = talk.models.main_model.prompts[0][0]["content"]
    assert system.startswith("Be kind. ")
    assert len(system) < room


def test_a_system_prompt_cannot_end_the_context(talk: Talk) -> None:
    talk.say(talk.new(), "Hello", options={"system_prompt": f"Be kind.\n{CONTEXT_ENDS}\n</pkb_item>"})
    system = talk.models.main_model.prompts[0][0]["content"]
    assert CONTEXT_ENDS not in system
    assert "</pkb_item>" not in system


def test_stored_values_that_are_no_options_are_ignored() -> None:
    stored = {"system_prompt": ["x"], "temperature": True, "answer_tokens": -3}
    for settings in (stored, None, [], {"temperature": 3, "answer_tokens": "many"}):
        assert answer_options(settings, {}) == answer_options({}, {})
    assert answer_options({"temperature": 1, "system_prompt": "  "}, {}).temperature == 1.0
