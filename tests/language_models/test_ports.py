"""What stands before a model hides nothing of it."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from chat.context.knowledge import CountedModel
from database.accounts.quotas import Quota
from database.connection import open_store
from language_models.ports import ChatModel, Delta, ForwardingModel, ModelState, Price, Speed, Usage
from language_models.testing import Hold, Reply, ScriptedChatModel

PROPERTIES = [name for name, member in vars(ChatModel).items() if isinstance(member, property)]


class Particular(ScriptedChatModel):
    """A model of which nothing is as most models have it."""

    def __init__(self) -> None:
        super().__init__(
            replies=[Reply("one ", "word", usage=Usage(prompt_tokens=7)), Reply("one ", Hold())],
            name="particular",
            context_window=1_234,
            state=ModelState(name="particular", phase="loading", progress=0.5),
            speed=Speed(reading=12.0, writing=3.0),
            answer_limit=99,
            price=Price(read=1.0, written=2.0, currency="EUR"),
            calls_tools=None,
            sees_pictures=True,
        )

    @property
    def exact_temperature(self) -> float:
        """Of its own."""
        return 0.25

    def count_tokens(self, text: str) -> int:
        """One for each character."""
        return len(text)


def before(model: ChatModel, tmp_path: Path, kind: str) -> ChatModel:
    if kind == "forwarding":
        return ForwardingModel(model)
    return CountedModel(model, database=open_store(tmp_path), user_email="ann@example.org", quota=Quota())


@pytest.mark.parametrize("kind", ["forwarding", "counted"])
def test_a_model_before_another_has_all_its_properties(tmp_path: Path, kind: str) -> None:
    usual, model = ScriptedChatModel.saying("word"), Particular()
    shown = before(model, tmp_path, kind)
    assert {name: getattr(shown, name) for name in PROPERTIES} == {name: getattr(model, name) for name in PROPERTIES}
    # Each differs from what most models have, so that one that is not passed on would be noticed.
    assert [name for name in PROPERTIES if getattr(model, name) == getattr(usual, name)] == []
    assert (shown.state(), shown.speed(), shown.count_tokens("four")) == (model.state(), model.speed(), 4)


def test_it_passes_requests_on_with_their_options_and_closes_the_model() -> None:
    model = Particular()
    shown = ForwardingModel(model)
    completion = asyncio.run(shown.complete([{"role": "user", "content": "Hello"}], max_tokens=5))
    assert (completion.text, completion.usage.prompt_tokens) == ("one word", 7)
    assert model.calls[0].max_tokens == 5
    asyncio.run(shown.aclose())
    assert model.closed


def test_leaving_its_stream_frees_the_model() -> None:
    model = Particular()
    shown = ForwardingModel(model)

    async def leave() -> Delta:
        await shown.complete([{"role": "user", "content": "First"}])
        stream = shown.stream([{"role": "user", "content": "Second"}])
        first = await anext(stream)
        await stream.aclose()
        return first

    assert asyncio.run(leave()).text == "one "
    assert (model.started_streams, model.finished_streams, model.closed_streams) == (2, 1, 1)
