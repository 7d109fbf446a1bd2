"""Which model answers: the turn's, else the conversation's, else the main one, and never none because one is gone."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

from chat.exchange.ports import TurnServices
from Conversation import Conversation
from database.conversations.repository import update_conversation
from language_models.errors import BadCredentialsError, ModelUnknownError
from language_models.ports import ChatModel, Delta, Usage
from language_models.roles.unavailable import UnavailableChatModel
from language_models.testing import Reply, ScriptedChatModel
from tests.chat.conftest import EMAIL, ScriptedModels, Talk, joined


@dataclass
class NamedModels(ScriptedModels):
    """Beside main and cheap, models by name."""

    named: dict[str, ChatModel] = field(default_factory=dict)

    def for_name(self, setting: str) -> Any:
        try:
            return self.named[setting]
        except KeyError:
            raise ValueError(f"no model {setting}") from None


def talk_with(talk: Talk, **named: ChatModel) -> None:
    talk.services = TurnServices(models=NamedModels(named=named))


def chosen(talk: Talk, settings: dict[str, Any]) -> Conversation:
    """A conversation with these settings."""
    conversation = talk.new()
    update_conversation(
        database=talk.database,
        user_email=EMAIL,
        conversation_id=conversation.conversation_id,
        changes={"settings": settings},
    )
    return talk.again(conversation)


def notices(events: list[dict[str, Any]]) -> list[str]:
    return [event["notice"] for event in events if "notice" in event]


def test_what_a_conversation_has_chosen_answers_every_turn_of_it(talk: Talk) -> None:
    talk_with(talk, small=ScriptedChatModel.saying("Small talk."))
    conversation = chosen(talk, {"model_overrides": {"main": "small"}})
    for _ in range(2):
        events = talk.say(talk.again(conversation), "Hello")
        assert joined(events) == "Small talk."
        assert notices(events) == []


def test_what_a_turn_names_goes_before_what_its_conversation_has_chosen(talk: Talk) -> None:
    talk_with(talk, small=ScriptedChatModel.saying("Small talk."), big=ScriptedChatModel.saying("Big words."))
    conversation = chosen(talk, {"model_overrides": {"main": "small"}})
    assert joined(talk.say(conversation, "Hello", model="big")) == "Big words."


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model_overrides": None},
        {"model_overrides": {"main": 3}},
        {"model_overrides": ["main"]},
        {"model_overrides": {"main": "main"}},
    ],
)
def test_without_a_choice_that_makes_sense_the_main_model_answers(talk: Talk, settings: dict[str, Any]) -> None:
    events = talk.say(chosen(talk, settings), "Hello")
    assert joined(events) == "Fine, thank you."
    assert notices(events) == []


@pytest.mark.parametrize(
    ("settings", "limit"),
    [({"answer_tokens": 700}, 700), ({"answer_tokens": "many"}, None), ({"answer_tokens": 0}, None), ({}, None)],
)
def test_a_conversation_may_limit_its_answers(talk: Talk, settings: dict[str, Any], limit: int | None) -> None:
    cut = Delta(text="Once", finish_reason="length", status="Cut.", usage=Usage(completion_tokens=700))
    talk.models.main_model = ScriptedChatModel(replies=[Reply(cut, finish_reason="stop")])
    events = talk.say(chosen(talk, settings), "Hello")
    assert talk.models.main_model.calls[0].max_tokens == limit
    assert ("as the settings of this conversation say" in notices(events)[0]) is (limit is not None)


GONE = [
    pytest.param({}, id="no such name"),
    pytest.param(
        {"gone": UnavailableChatModel(name="gone", advice="Set a key.", error=BadCredentialsError, phase="failed")},
        id="its key is gone",
    ),
    pytest.param(
        {"gone": ScriptedChatModel.failing(ModelUnknownError("no such model"))}, id="the provider has it no more"
    ),
]


@pytest.mark.parametrize("named", GONE)
def test_where_the_chosen_model_is_gone_the_main_one_answers_and_the_turn_says_so(
    talk: Talk, named: dict[str, ChatModel]
) -> None:
    talk_with(talk, **named)
    conversation = chosen(talk, {"model_overrides": {"main": "gone"}})
    events = talk.say(conversation, "Hello")
    assert joined(events) == "Fine, thank you."
    assert len(notices(events)) == 1
    assert "is not there any more" in notices(events)[0]
    answer = talk.again(conversation).get_message_list()[-1]
    assert (answer["status"], [part["text"] for part in answer["parts"]]) == ("complete", notices(events))
    assert answer["config"]["model"] == talk.models.main().name


def test_a_turn_that_names_a_model_the_provider_does_not_have_fails_and_tells_why(talk: Talk) -> None:
    talk_with(talk, gone=ScriptedChatModel.failing(ModelUnknownError("no such model")))
    events = talk.say(talk.new(), "Hello", model="gone")
    assert [event["error"]["message"] for event in events if "error" in event] == ["no such model"]
