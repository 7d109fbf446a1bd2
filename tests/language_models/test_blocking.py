"""Worker threads get a model's answer without an event loop of their own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from language_models import blocking
from language_models.errors import ModelFailedError, ModelUnavailableError
from language_models.openai.chat import ProviderChatModel
from language_models.ports import ChatMessage
from language_models.testing import Hold
from tests.fakes import RecordingModel, saying

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]


@pytest.fixture(autouse=True)
def _closed_afterwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(blocking, "_GRACE", 60.0)
    yield
    blocking.close()


def test_the_result_comes_back_to_the_thread_that_asked() -> None:
    async def answer() -> str:
        await asyncio.sleep(0)
        return threading.current_thread().name

    assert blocking.run(answer(), timeout=60) == "blocking-model-calls"


def test_what_the_coroutine_raises_is_raised() -> None:
    async def fail(error: Exception) -> None:
        raise error

    with pytest.raises(ModelFailedError, match="broke off"):
        blocking.run(fail(ModelFailedError("It broke off")), timeout=60)
    with pytest.raises(TimeoutError, match="of its own"):
        blocking.run(fail(TimeoutError("of its own")), timeout=60)


def test_threads_share_one_loop_and_do_not_wait_for_each_other() -> None:
    hold = Hold()
    loops = []

    async def held() -> None:
        loops.append(asyncio.get_running_loop())
        await hold.wait()

    async def release() -> None:
        loops.append(asyncio.get_running_loop())
        hold.release()

    with ThreadPoolExecutor(2) as pool:
        waiting = pool.submit(blocking.run, held(), timeout=60)
        assert hold.wait_until_reached()
        pool.submit(blocking.run, release(), timeout=60).result()
        waiting.result()
    assert loops[0] is loops[1]


def test_one_that_takes_too_long_is_cancelled_and_said_to_be_unavailable() -> None:
    cancelled = threading.Event()

    async def never() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    with pytest.raises(ModelUnavailableError, match=r"did not answer within 0\.01 seconds"):
        blocking.run(never(), timeout=0.01)
    assert cancelled.is_set()


def test_one_that_clings_to_life_holds_nobody_up_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    hold = Hold()

    async def cling() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            await hold.wait()

    with monkeypatch.context() as impatient:
        impatient.setattr(blocking, "_GRACE", 0.01)
        with pytest.raises(ModelUnavailableError, match="did not answer"):
            blocking.run(cling(), timeout=0.01)
    hold.release()


def test_a_thread_whose_loop_is_running_is_sent_back_to_await() -> None:
    async def answer() -> str:
        return "never"

    async def ask() -> None:
        with pytest.raises(RuntimeError, match="await the coroutine"):
            blocking.run(answer(), timeout=60)

    asyncio.run(ask())


def test_closing_ends_what_runs_and_the_next_call_begins_anew() -> None:
    hold = Hold()

    async def answer() -> str:
        return "back again"

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(blocking.run, hold.wait(), timeout=60)
        assert hold.wait_until_reached()
        blocking.close()
        with pytest.raises(ModelUnavailableError, match="was stopped"):
            waiting.result()
    assert not [thread for thread in threading.enumerate() if thread.name == "blocking-model-calls"]
    assert blocking.run(answer(), timeout=60) == "back again"


def test_closing_with_nothing_open_is_fine() -> None:
    blocking.close()
    blocking.close()
    assert not [thread for thread in threading.enumerate() if thread.name == "blocking-model-calls"]


def test_a_model_answers_worker_threads_and_an_event_loop_side_by_side(recording_model: RecordingModel) -> None:
    recording_model.scripts["main"] = saying("Hello", " there")
    model = ProviderChatModel(base_url=recording_model.base_url, api_key=None, model="main")

    async def on_a_loop() -> list[str]:
        asked = [asyncio.to_thread(blocking.run, model.complete(HELLO), timeout=60) for _ in range(4)]
        answers = await asyncio.gather(model.complete(HELLO), *asked, model.complete(HELLO))
        await model.aclose()
        return [answer.text for answer in answers]

    assert asyncio.run(on_a_loop()) == ["Hello there"] * 6
    assert len(recording_model.requests_to("main")) == 6
