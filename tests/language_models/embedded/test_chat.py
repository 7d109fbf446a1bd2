"""The embedded model for real: the small one, in a process of its own."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import select
import signal
import subprocess
import sys
from collections.abc import Awaitable, Callable, Iterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from language_models import blocking
from language_models.embedded.chat import EmbeddedChatModel
from language_models.embedded.runtime import EmbeddedRuntime, ModelFile, model_file
from language_models.errors import ContextTooLongError, ModelFailedError, ModelUnavailableError
from language_models.ports import ChatMessage, ModelState
from language_models.roles import ModelRoles
from settings import load_settings
from tests.live_server import ROOT

pytestmark = [pytest.mark.embedded, pytest.mark.proof]

PATIENCE = 90.0
LONG_STORY = "Tell a very long story about a lighthouse, with many details."


def user(text: str) -> list[ChatMessage]:
    return [{"role": "user", "content": text}]


def small_model() -> ModelFile:
    return model_file("small", folder=load_settings().model_dir)


def run(work: Callable[[], Awaitable[Any]]) -> Any:
    """Run a test's coroutine on a loop of its own, for as long as a test may take."""

    async def in_time() -> Any:
        async with asyncio.timeout(PATIENCE):
            return await work()

    return asyncio.run(in_time())


async def state_where(runtime: EmbeddedRuntime, condition: Callable[[ModelState], bool]) -> ModelState:
    while not condition(runtime.state()):
        await asyncio.sleep(0.01)
    return runtime.state()


def wait_for_the_end(pid: int) -> None:
    """Return when the process has ended, its parent's reaping apart."""
    with contextlib.suppress(ProcessLookupError):
        watched = os.pidfd_open(pid)
        try:
            assert select.select([watched], [], [], PATIENCE)[0], f"process {pid} lives on"
        finally:
            os.close(watched)


@pytest.fixture(scope="module")
def runtime() -> Iterator[EmbeddedRuntime]:
    """One process for the whole module; a test that kills it waits until it is back."""
    runtime = EmbeddedRuntime(small_model())
    runtime.start()
    yield runtime
    runtime.close()


@pytest.fixture
def model(runtime: EmbeddedRuntime) -> EmbeddedChatModel:
    return EmbeddedChatModel(runtime)


async def busy_slots(runtime: EmbeddedRuntime) -> int:
    """How many slots the process itself says are at work."""
    process = runtime.process()
    assert process is not None
    key = {"Authorization": f"Bearer {process.api_key}"}
    async with aiohttp.ClientSession() as session, session.get(f"{process.url}/slots", headers=key) as answer:
        return sum(slot["is_processing"] for slot in await answer.json())


async def first_text(stream: Any) -> str:
    return await anext(step.text async for step in stream if step.text)


def test_it_answers_and_tells_what_that_cost(model: EmbeddedChatModel) -> None:
    async def ask() -> Any:
        return [step async for step in model.stream(user("Which colour is the sky? One word."), max_tokens=8)]

    steps = run(ask)
    assert re.search(r"[a-z]{2}", "".join(step.text for step in steps))
    assert steps[-1].finish_reason in ("stop", "length")
    assert 0 < steps[-1].usage.completion_tokens <= 8
    assert steps[-1].usage.prompt_tokens > 8
    assert model.state().phase == "ready"


def test_an_answer_can_be_held_to_a_schema(model: EmbeddedChatModel) -> None:
    schema = {
        "type": "object",
        "properties": {"tool": {"enum": ["search", "none"]}, "count": {"type": "integer"}},
        "required": ["tool", "count"],
        "additionalProperties": False,
    }
    wanted = {"type": "json_schema", "json_schema": {"name": "choice", "schema": schema}}
    answer = run(lambda: model.complete(user("Search for two lighthouses."), response_format=wanted, max_tokens=60))
    choice = json.loads(answer.text)
    assert set(choice) == {"tool", "count"}
    assert choice["tool"] in ("search", "none")
    assert isinstance(choice["count"], int)


@pytest.mark.parametrize(
    "pattern", [r"[A-Z][a-z]{1,11}( [A-Za-z]{2,12}){2,5}", r"^[A-Z][a-z]{1,11}( [A-Za-z]{2,12}){2,5}$"]
)
def test_a_title_has_three_to_six_words(model: EmbeddedChatModel, pattern: str) -> None:
    wanted = {"type": "regex", "pattern": pattern}
    prompt = user("Give a title: 'How do I keep sourdough alive while travelling?'")
    title = run(lambda: model.complete(prompt, response_format=wanted, max_tokens=40)).text
    assert 3 <= len(title.split(" ")) <= 6
    assert re.fullmatch(pattern, title)


def test_each_branch_of_a_regex_is_held_to_both_ends(model: EmbeddedChatModel) -> None:
    wanted = {"type": "regex", "pattern": "yes|no"}
    answer = run(
        lambda: model.complete(user("Explain at length: is water wet?"), response_format=wanted, max_tokens=10)
    )
    assert answer.text in ("yes", "no")


def test_two_people_are_answered_at_once(model: EmbeddedChatModel, runtime: EmbeddedRuntime) -> None:
    async def both() -> tuple[str, str, int]:
        async with (
            aclosing(model.stream(user(LONG_STORY), max_tokens=400)) as one,
            aclosing(model.stream(user("Count from one to a thousand."), max_tokens=400)) as other,
        ):
            said = ["", ""]
            for _ in range(3):
                said[0] += await first_text(one)
                said[1] += await first_text(other)
            return said[0], said[1], await busy_slots(runtime)

    one, other, busy = run(both)
    assert one
    assert other
    assert busy == 2


def test_worker_threads_and_an_event_loop_are_answered_side_by_side(runtime: EmbeddedRuntime) -> None:
    model, jobs = EmbeddedChatModel(runtime), EmbeddedChatModel(runtime, urgency="job")

    def work(asked: EmbeddedChatModel) -> Any:
        return blocking.run(asked.complete(user("Say yes."), max_tokens=4), timeout=PATIENCE)

    async def ask() -> Any:
        threads = [asyncio.to_thread(work, asked) for asked in (model, jobs, jobs, model)]
        answers = await asyncio.gather(model.complete(user("Say no."), max_tokens=4), *threads)
        await model.aclose()
        await jobs.aclose()
        return answers

    try:
        assert all(answer.text for answer in run(ask))
    finally:
        blocking.close()
    assert runtime.gate.is_free_for("job")


def test_closing_a_stream_frees_its_slot_at_once(model: EmbeddedChatModel, runtime: EmbeddedRuntime) -> None:
    async def close_and_ask_again() -> tuple[int, str]:
        long = [model.stream(user(LONG_STORY), max_tokens=2_000) for _ in range(2)]
        for stream in long:
            await first_text(stream)
        busy = await busy_slots(runtime)
        for stream in long:
            await stream.aclose()
        while await busy_slots(runtime):
            await asyncio.sleep(0.02)
        async with aclosing(model.stream(user("Say hello."), max_tokens=4)) as next_one:
            return busy, await first_text(next_one)

    busy, said = run(close_and_ask_again)
    assert busy == 2
    assert said


def test_a_cancelled_task_frees_its_slot_while_the_prompt_is_still_read(
    model: EmbeddedChatModel, runtime: EmbeddedRuntime
) -> None:
    async def cancel() -> bool:
        # However fast the machine, neither the prompt nor the story is over when the task is cancelled.
        runtime.start()
        await state_where(runtime, lambda state: state.phase == "ready")
        asking = asyncio.create_task(model.complete(user("lighthouse " * 1_900 + LONG_STORY), max_tokens=4_000))
        while not await busy_slots(runtime):
            await asyncio.sleep(0.01)
        assert not asking.done()
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        while await busy_slots(runtime):
            await asyncio.sleep(0.02)
        return runtime.gate.is_free_for("job")

    assert run(cancel)


def test_a_small_job_gives_way_and_says_that_it_waits(model: EmbeddedChatModel, runtime: EmbeddedRuntime) -> None:
    job = EmbeddedChatModel(runtime, urgency="job")

    async def crowd() -> str | None:
        async with (
            aclosing(model.stream(user(LONG_STORY), max_tokens=400)) as one,
            aclosing(model.stream(user(LONG_STORY), max_tokens=400)) as other,
            aclosing(job.stream(user("Say hello."), max_tokens=3)) as small,
        ):
            await first_text(one)
            await first_text(other)
            waiting = (await anext(small)).status
            await one.aclose()
            assert await first_text(small)
            return waiting

    assert "Waiting" in (run(crowd) or "")


def test_a_prompt_longer_than_the_window_is_refused_by_name(model: EmbeddedChatModel) -> None:
    with pytest.raises(ContextTooLongError):
        run(lambda: model.complete(user("word " * (model.context_window + 1_000))))


def test_a_crash_ends_the_running_answer_and_the_next_one_works(
    model: EmbeddedChatModel, runtime: EmbeddedRuntime
) -> None:
    async def crash() -> str:
        process = runtime.process()
        assert process is not None
        async with aclosing(model.stream(user(LONG_STORY), max_tokens=2_000)) as stream:
            await first_text(stream)
            os.kill(process.pid, signal.SIGKILL)
            with pytest.raises(ModelFailedError):
                async for _ in stream:
                    pass
        await state_where(runtime, lambda state: state.phase == "loading")
        again = await model.complete(user("Say hello."), max_tokens=4)
        assert runtime.process() is not process
        return again.text

    assert run(crash)


def test_one_who_waited_for_a_slot_when_it_crashed_is_answered_after_the_restart(
    model: EmbeddedChatModel, runtime: EmbeddedRuntime
) -> None:
    async def crash() -> str:
        process = runtime.process()
        assert process is not None
        long = [model.stream(user(LONG_STORY), max_tokens=2_000) for _ in range(2)]
        for stream in long:
            await first_text(stream)
        waiting = asyncio.create_task(model.complete(user("Say hello."), max_tokens=4))
        while not runtime.gate.waiting("answer"):
            await asyncio.sleep(0.01)
        os.kill(process.pid, signal.SIGKILL)
        await state_where(runtime, lambda state: state.phase == "loading")
        for stream in long:
            await stream.aclose()
        return (await waiting).text

    assert run(crash)


def test_roles_that_name_one_file_share_one_process() -> None:
    roles = ModelRoles(
        main="embedded:small",
        cheap=f"embedded:{small_model().path}",
        embedding="none",
        openai_base_url=None,
        openai_api_key=None,
        anthropic_api_key=None,
        model_dir=load_settings().model_dir,
    )

    async def ask_both() -> list[int]:
        roles.start()
        await asyncio.gather(*(role.complete(user("Hi."), max_tokens=2) for role in (roles.main(), roles.cheap())))
        children = children_of(os.getpid())
        await roles.aclose()
        return children

    before = children_of(os.getpid())
    assert len(run(ask_both)) == len(before) + 1
    assert children_of(os.getpid()) == before


def children_of(pid: int) -> list[int]:
    """Processes that hold an embedded model for `pid`."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            if parent == pid and b"language_models.embedded.child_main" in (folder / "cmdline").read_bytes():
                found.append(int(folder.name))
    return sorted(found)


def test_what_is_no_model_fails_with_a_sentence_and_is_tried_again_when_asked(tmp_path: Path) -> None:
    no_model = tmp_path / "poem.gguf"
    no_model.write_text("Roses are red")
    runtime = EmbeddedRuntime(model_file(str(no_model), folder=tmp_path))
    model = EmbeddedChatModel(runtime)
    try:
        for _ in range(2):
            with pytest.raises(ModelUnavailableError, match=r"poem\.gguf can't be loaded .*whole GGUF file"):
                run(lambda: model.complete(user("Hello?")))
        assert runtime.state().phase == "failed"
        assert "poem.gguf" in runtime.state().detail
    finally:
        runtime.close()
    assert runtime.process() is None


def test_closing_while_it_loads_does_not_wait_for_the_load() -> None:
    runtime = EmbeddedRuntime(small_model())
    before = set(children_of(os.getpid()))

    async def started() -> set[int]:
        runtime.start()
        while not (new := set(children_of(os.getpid())) - before):
            await asyncio.sleep(0.01)
        return new

    new = run(started)
    phase = runtime.state().phase
    runtime.close()
    assert phase == "loading"
    for pid in new:
        wait_for_the_end(pid)
    assert runtime.state().phase == "failed"


def test_one_who_waits_is_told_so_and_not_left_waiting_when_the_server_stops() -> None:
    runtime = EmbeddedRuntime(small_model())

    async def wait() -> tuple[str | None, str]:
        stream = EmbeddedChatModel(runtime).stream(user("Hello?"))
        status = (await anext(stream)).status
        await asyncio.to_thread(runtime.close)
        with pytest.raises(ModelUnavailableError) as refused:
            await anext(stream)
        return status, refused.value.message

    assert run(wait) == ("The model is being loaded.", "The model was stopped, as the server stops.")


def test_a_model_that_crashes_again_and_again_is_given_up_with_advice() -> None:
    runtime = EmbeddedRuntime(small_model(), first_pause=0.01, most_crashes=2)

    async def kill_each() -> ModelState:
        runtime.start()
        for _ in range(2):
            await state_where(runtime, lambda state: state.phase == "ready")
            process = runtime.process()
            assert process is not None
            os.kill(process.pid, signal.SIGKILL)
            await state_where(runtime, lambda state: state.phase != "ready")
        return await state_where(runtime, lambda state: state.phase == "failed")

    try:
        assert "embedded:small" in run(kill_each).detail
    finally:
        runtime.close()


A_SERVER = """
import signal, sys, threading, time
from pathlib import Path

# What starts in the background of a shell may have been told to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

from language_models.embedded.runtime import EmbeddedRuntime, model_file

runtime = EmbeddedRuntime(model_file(sys.argv[1], folder=Path()))
runtime.start()
while runtime.state().phase != "ready":
    time.sleep(0.02)
print(runtime.process().pid, flush=True)
threading.Event().wait()
"""


@pytest.mark.parametrize("ending", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_model_s_process_ends_with_its_server_however_that_ends(ending: signal.Signals) -> None:
    server = subprocess.Popen(
        [sys.executable, "-c", A_SERVER, str(small_model().path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    with server:
        assert server.stdout is not None
        try:
            child = int(server.stdout.readline())
            assert child in children_of(server.pid)
            server.send_signal(ending)
            wait_for_the_end(child)
            assert server.wait(PATIENCE) != 0
        finally:
            server.kill()
