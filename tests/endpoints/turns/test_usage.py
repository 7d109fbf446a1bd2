"""What answers took and cost, over HTTP."""

from __future__ import annotations

from typing import Any

import pytest

from endpoints.turns import models as turn_models
from language_models.ports import Price, Usage
from language_models.testing import Reply, ScriptedChatModel
from tests.endpoints.conftest import Person, events_of, refused

pytestmark = pytest.mark.contract
USAGE = Usage(prompt_tokens=1000, completion_tokens=100)
COST = 0.003


@pytest.fixture
def main_model() -> ScriptedChatModel:
    """A model whose answers cost 0.003 dollars each."""
    price = Price(read=2, written=10, currency="USD")
    return ScriptedChatModel(replies=lambda _prompt: Reply("It is ", "forty-two.", usage=USAGE), price=price)


def sum_of(person: Person, conversation_id: str) -> dict[str, Any]:
    reply = person.get(f"/usage/{conversation_id}").json
    turn_models.ConversationUsage.model_validate(reply, strict=True)
    return dict(reply)


def test_an_answer_tells_what_it_cost_and_a_conversation_what_all_of_its_answers_did(ada: Person, eve: Person) -> None:
    talk = ada.new_conversation()
    assert sum_of(ada, talk) == {"answers": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost": {}}
    [told] = [event["usage"] for event in ada.say(talk, "What is it?") if "usage" in event]
    assert (told["cost"], told["currency"]) == (COST, "USD")
    ada.say(talk, "And now?")
    [_, first, _, second] = ada.get(f"/list_messages_by_conversation/{talk}").json
    assert first["config"]["usage"] == told
    events_of(ada.post(f"/regenerate/{talk}/{second['message_id']}"))
    events_of(ada.post(f"/continue/{talk}/{first['message_id']}"))
    # Two answers, one of them made again, one of them gone on with: the model was asked four times.
    summed = sum_of(ada, talk)
    assert (summed["answers"], summed["cost"]) == (4, {"USD": pytest.approx(4 * COST)})
    assert refused(eve.get(f"/usage/{talk}"))[0] == 404


def test_a_model_without_a_price_costs_nothing_that_is_told(ada: Person, main_model: ScriptedChatModel) -> None:
    main_model._price = None
    talk = ada.new_conversation()
    [told] = [event["usage"] for event in ada.say(talk, "What is it?") if "usage" in event]
    assert "cost" not in told
    assert sum_of(ada, talk) == {"answers": 1, "prompt_tokens": 1000, "completion_tokens": 100, "cost": {}}
