"""Which model does which work, as the settings say."""

from __future__ import annotations

import asyncio
import socket
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from chat.exchange.services import models_from
from language_models.download.catalogue import entry_named
from language_models.embedded.embeddings import EmbeddedEmbeddingModel
from language_models.errors import BadCredentialsError, ModelUnavailableError
from language_models.ports import ChatMessage, ModelState
from language_models.roles import ModelRoles
from language_models.roles.names import ModelLimits, ModelSetting, parse_model_setting
from language_models.testing import ScriptedChatModel
from settings import load_settings
from tests.language_models.openai.loopback import ANSWER, answering, hang

HELLO: list[ChatMessage] = [{"role": "user", "content": "Hello"}]
FOLDER = Path("no-such-folder")


def roles(**settings: Any) -> ModelRoles:
    defaults = {
        "main": "none",
        "cheap": "none",
        "embedding": "none",
        "openai_base_url": None,
        "openai_api_key": None,
        "anthropic_api_key": None,
        "model_dir": FOLDER,
    }
    return ModelRoles(**(defaults | settings))


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("embedded", ModelSetting("embedded")),
        (" embedded:small ", ModelSetting("embedded", "small")),
        ("embedded:/models/a.gguf", ModelSetting("embedded", "/models/a.gguf")),
        ("openai:gpt-4o", ModelSetting("openai", "gpt-4o")),
        ("openai:qwen2.5:7b", ModelSetting("openai", "qwen2.5:7b")),
        ("anthropic:claude-sonnet-4-5", ModelSetting("anthropic", "claude-sonnet-4-5")),
        ("scripted", ModelSetting("scripted")),
        ("none", ModelSetting("none")),
    ],
)
def test_a_setting_says_where_a_model_runs_and_which_it_is(text: str, setting: ModelSetting) -> None:
    assert parse_model_setting(text) == setting


MALFORMED = [
    "",
    "gpt-4o",
    "openai",
    "openai:",
    "openai: ",
    "anthropic",
    "embedded:",
    "none:x",
    "scripted:x",
    "OPENAI:x",
]


@pytest.mark.parametrize("text", MALFORMED)
def test_a_malformed_setting_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match="right would be 'embedded'"):
        roles(main=text)
    with pytest.raises(ValueError, match="right would be 'embedded'"):
        roles().for_name(text)


def test_of_the_provider_s_models_that_were_chosen_the_newest_are_kept() -> None:
    own = roles(main="openai:gpt-4o", openai_api_key="k")
    main, oldest = own.main(), own.for_name("openai:oldest")
    for number in range(63):
        own.for_name(f"openai:{number}")
    assert own.created(parse_model_setting("openai:oldest")) is oldest
    newest = own.for_name("openai:newest")
    assert own.created(parse_model_setting("openai:oldest")) is None
    assert (own.main(), own.for_name("openai:newest")) == (main, newest)


def test_a_name_of_endless_length_is_none() -> None:
    with pytest.raises(ValueError, match="longer than 200 characters"):
        roles().for_name(f"openai:{'x' * 201}")


def test_the_refusal_names_the_role_whose_setting_is_wrong() -> None:
    for role in ("main", "cheap", "embedding"):
        with pytest.raises(ValueError, match=f"The {role} model: "):
            roles(**{role: "gpt"})


def test_an_embedded_model_outside_of_the_catalogue_is_refused_with_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"qwen2\.5-coder-0\.5b-instruct"):
        roles(main="embedded:enormous")
    with pytest.raises(ValueError, match=r"qwen2\.5-coder-0\.5b-instruct"):
        roles().for_name("embedded:enormous")


def test_without_a_model_the_server_says_so_and_what_to_do() -> None:
    model = roles().main()
    assert (model.name, model.state().phase, model.context_window, model.count_tokens("four")) == (
        "none",
        "none",
        8192,
        2,
    )
    assert "ANAPHORA_MAIN_MODEL" in model.state().detail

    async def ask() -> None:
        with pytest.raises(ModelUnavailableError, match="ANAPHORA_MAIN_MODEL"):
            await anext(model.stream(HELLO))
        with pytest.raises(ModelUnavailableError, match="ANAPHORA_MAIN_MODEL"):
            await model.complete(HELLO)
        await model.aclose()

    asyncio.run(ask())


@pytest.mark.parametrize(
    ("setting", "wanted"), [("openai:gpt-4o", "OPENAI_API_KEY"), ("anthropic:claude-x", "ANTHROPIC_API_KEY")]
)
def test_a_provider_without_its_key_says_which_is_missing(setting: str, wanted: str) -> None:
    model = roles(main=setting).main()
    assert model.state().phase == "failed"
    assert wanted in model.state().detail
    with pytest.raises(BadCredentialsError, match=wanted):
        asyncio.run(model.complete(HELLO))


def test_a_server_whose_model_has_no_key_says_so_once_as_it_starts(caplog: pytest.LogCaptureFixture) -> None:
    started = roles(main="openai:gpt-4o", cheap="openai:gpt-4o", embedding="none")
    started.start()
    asyncio.run(started.aclose())
    (told,) = (record for record in caplog.records if record.name == "language_models.roles.model_roles")
    assert (told.levelname, "OPENAI_API_KEY" in told.getMessage()) == ("WARNING", True)
    assert told.getMessage().startswith("the main model can't be used: ")


def test_a_provider_with_its_key_or_an_address_of_ones_own_is_ready() -> None:
    keyed = roles(main="openai:gpt-4o", cheap="anthropic:claude-x", openai_api_key="k", anthropic_api_key="k")
    assert {role: state.phase for role, state in keyed.states().items()} == {
        "main": "ready",
        "cheap": "ready",
        "embedding": "none",
    }
    assert "ANAPHORA_EMBEDDING_MODEL" in keyed.states()["embedding"].detail
    assert keyed.main().name == "gpt-4o"
    assert roles(main="openai:local", openai_base_url="http://127.0.0.1:9/v1").main().state().phase == "ready"


def test_the_window_that_is_set_is_the_main_model_s() -> None:
    models = roles(
        main="openai:local",
        cheap="openai:gpt-4",
        openai_base_url="http://127.0.0.1:9/v1",
        limits=ModelLimits(context_windows={"": 5_000, "openai:other": 6_000}),
    )
    assert models.main().context_window == 5_000
    assert models.for_name("openai:local").context_window == 5_000
    assert models.cheap().context_window == 8_192
    assert models.for_name("openai:other").context_window == 6_000
    assert models.for_name("openai:gpt-4o").context_window == 128_000


def test_the_setting_of_the_window_reaches_the_model(tmp_path: Path) -> None:
    environ = {
        "ANAPHORA_DATA_DIR": str(tmp_path),
        "ANAPHORA_MAIN_MODEL": "openai:local",
        "ANAPHORA_CHEAP_MODEL": "none",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "ANAPHORA_CONTEXT_WINDOW": "6000",
    }
    assert models_from(load_settings(environ, tmp_path / ".env")).main().context_window == 6_000


def test_the_setting_of_the_embedding_timeout_reaches_the_model(tmp_path: Path) -> None:
    async def seconds_until_it_gives_up() -> float:
        async with answering(hang) as server:
            environ = {
                "ANAPHORA_DATA_DIR": str(tmp_path),
                "ANAPHORA_EMBEDDING_MODEL": "openai:vectors",
                "OPENAI_BASE_URL": server.url,
                "ANAPHORA_EMBEDDING_TIMEOUT": "0.05",
            }
            models = models_from(load_settings(environ, tmp_path / ".env"))
            model = models.embedding()
            assert model is not None
            begun = time.monotonic()
            with pytest.raises(ModelUnavailableError):
                await asyncio.to_thread(model.embed, ["a text"])
            await models.aclose()
            return time.monotonic() - begun

    assert 0.05 <= asyncio.run(seconds_until_it_gives_up()) < 20


@pytest.mark.parametrize(
    ("main", "base_url", "cheap"),
    [
        ("openai:gpt-4.1", None, "gpt-4.1-mini"),
        ("openai:gpt-4.1-2025-04-14", None, "gpt-4.1-mini"),
        ("openai:gpt-4.1-mini", None, "gpt-4.1-mini"),
        ("openai:gpt-4.1", "http://127.0.0.1:9/v1", "gpt-4.1"),
        ("openai:anthropic/claude-sonnet-4.5", "https://openrouter.ai/api/v1", "anthropic/claude-haiku-4.5"),
        ("anthropic:claude-sonnet-4-5-20250929", None, "claude-haiku-4-5"),
        ("none", None, "none"),
    ],
)
def test_a_cheap_model_that_is_not_set_follows_the_main_one(main: str, base_url: str | None, cheap: str) -> None:
    models = roles(main=main, cheap=None, openai_base_url=base_url, openai_api_key="k", anthropic_api_key="k")
    assert models.cheap().name == cheap


def test_jobs_of_an_embedded_main_model_fetch_no_other(tmp_path: Path) -> None:
    models = roles(main="embedded:small", cheap=None, embedding=None)
    cheap: Any = models.cheap()
    main: Any = models.main()
    assert cheap._runtime is main._runtime
    assert isinstance(models.embedding(), EmbeddedEmbeddingModel)
    assert roles(main="none", cheap=None, embedding=None).embedding() is None


def test_the_setting_of_processes_divides_the_cores_among_their_models(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("os.cpu_count", lambda: 6)
    environ = {
        "ANAPHORA_DATA_DIR": str(tmp_path),
        "ANAPHORA_MAIN_MODEL": "embedded:small",
        "ANAPHORA_PROCESSES": "2",
        "DATABASE_URL": "postgresql+psycopg://localhost/anaphora",
        "REDIS_URL": "redis://localhost",
    }
    model: Any = models_from(load_settings(environ, tmp_path / ".env")).main()
    assert model._runtime._threads == 3


def test_answers_are_limited_as_the_operator_set_for_each_model(tmp_path: Path) -> None:
    environ = {
        "ANAPHORA_DATA_DIR": str(tmp_path),
        "ANAPHORA_MAIN_MODEL": "openai:local",
        "OPENAI_BASE_URL": "http://127.0.0.1:9/v1",
        "ANAPHORA_ANSWER_TOKENS": "5000, openai:other=700, embedded:small=300",
    }
    models = models_from(load_settings(environ, tmp_path / ".env"))
    names = ("main", "openai:other", "openai:gpt-4.1", "embedded:small")
    assert [models.for_name(name).answer_limit for name in names] == [5_000, 700, 5_000, 300]
    assert roles(main="embedded:small").main().answer_limit is None


def test_the_windows_of_the_settings_models_are_asked_for_at_start() -> None:
    offers = {"data": [{"id": "local", "context_length": 9_000}]}

    async def ask() -> int:
        async with answering(ANSWER, model_list=offers) as server:
            models = roles(main="openai:local", cheap=None, openai_base_url=server.url)
            models.start()
            async with asyncio.timeout(20):
                while models.main().context_window != 9_000:
                    await asyncio.sleep(0)
            await models.aclose()
            return models.main().context_window

    assert asyncio.run(ask()) == 9_000


def test_a_model_is_made_once() -> None:
    models = roles(main="openai:a", cheap="openai:a", openai_base_url="http://127.0.0.1:9/v1")
    assert models.main() is models.main()
    assert models.for_name("openai:a") is models.main()


def test_roles_that_name_one_file_share_its_runtime_also_when_threads_ask_at_once() -> None:
    models = roles(main="embedded:small", cheap="embedded:qwen2.5-coder-0.5b-instruct")
    asked = threading.Barrier(8)
    runtimes = []

    def ask(number: int) -> None:
        asked.wait(60)
        model: Any = models.main() if number % 2 else models.cheap()
        runtimes.append(model._runtime)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert len(runtimes) == 8
    assert len(set(runtimes)) == 1
    assert models.states()["main"].phase == "waiting"
    asyncio.run(models.aclose())


def test_starting_begins_with_what_is_embedded_and_returns_at_once(tmp_path: Path) -> None:
    models = roles(main=f"embedded:{tmp_path / 'gone.gguf'}", cheap="openai:a", openai_api_key="k")

    async def start() -> ModelState:
        models.start()
        while (state := models.states()["main"]).phase != "failed":
            await asyncio.sleep(0.01)
        await models.aclose()
        return state

    assert "There is no model file" in asyncio.run(start()).detail


def test_closing_ends_the_search_for_context_windows_wherever_it_is() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"

        async def start_and_close(after: float) -> None:
            models = roles(main="openai:a", cheap="openai:b", openai_base_url=url, openai_api_key="k")
            models.start()
            await asyncio.sleep(after)
            await models.aclose()

        # An exception in the thread fails the test as well.
        for step in range(30):
            asyncio.run(start_and_close(step / 1000))
            assert not [thread for thread in threading.enumerate() if thread.name == "context-windows"]


def test_a_conversation_may_choose_any_model_but_no_file_and_no_script() -> None:
    models = roles(openai_api_key="k", cheap="embedded:/models/mine.gguf")
    assert models.for_name("openai:gpt-4o").name == "gpt-4o"
    assert models.for_name("embedded:small").name == "qwen2.5-coder-0.5b-instruct"
    assert models.for_name("embedded:/models/mine.gguf").name == "mine"
    for setting in ("embedded:/etc/passwd", "embedded:other.gguf", "scripted"):
        with pytest.raises(ValueError, match="can only be chosen in the server's settings"):
            models.for_name(setting)


def test_a_scripted_model_serves_where_the_operator_wants_one() -> None:
    models = roles(main="scripted")
    assert asyncio.run(models.main().complete(HELLO)).text == "Hello"
    assert models.for_name("scripted") is models.main()


@pytest.mark.parametrize(
    ("setting", "name", "phase"),
    [("embedded", "all-minilm-l6-v2", "waiting"), ("openai:vectors", "vectors", "ready")],
)
def test_embeddings_come_from_the_embedded_model_or_a_provider(setting: str, name: str, phase: str) -> None:
    models = roles(embedding=setting, openai_base_url="http://127.0.0.1:9/v1")
    embedding = models.embedding()
    assert embedding is not None
    assert embedding.name == name
    assert models.embedding() is embedding
    assert models.states()["embedding"].phase == phase
    asyncio.run(models.aclose())


def test_without_an_embedding_model_there_is_none() -> None:
    assert roles(embedding="none").embedding() is None


def test_a_provider_of_embeddings_without_its_key_says_so() -> None:
    embedding = roles(embedding="openai:text-embedding-3-small").embedding()
    assert embedding is not None
    assert embedding.name == "text-embedding-3-small"
    assert embedding.state().phase == "failed"
    with pytest.raises(BadCredentialsError, match="OPENAI_API_KEY"):
        embedding.embed(["a dog"])
    with pytest.raises(BadCredentialsError, match="OPENAI_API_KEY"):
        _ = embedding.dimensions


@pytest.mark.parametrize("setting", ["anthropic:claude-x", "scripted", "embedded:small", "embedded:/models/a.gguf"])
def test_a_model_that_does_not_embed_is_refused_as_one_that_does(setting: str) -> None:
    with pytest.raises(ValueError, match=r"The embedding model: .*(does not embed|all-minilm-l6-v2)"):
        roles(embedding=setting)


def test_a_model_that_embeds_is_refused_as_one_that_answers() -> None:
    with pytest.raises(ValueError, match=r"qwen2\.5-coder-0\.5b-instruct"):
        roles(main="embedded:all-minilm-l6-v2")


def test_starting_begins_to_fetch_the_embedding_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr("language_models.download.fetch.fetch", lambda entry, **_how: asked.append(entry.name))
    models = roles(embedding="embedded", model_dir=tmp_path)
    models.start()
    asyncio.run(models.aclose())
    assert asked == ["all-minilm-l6-v2"]


def test_another_model_may_stand_in_for_embedding(tmp_path: Path) -> None:
    stand_in = EmbeddedEmbeddingModel(entry_named("embedding"), folder=tmp_path)
    models = roles(embedding="none", overrides={"embedding": stand_in})
    assert models.embedding() is stand_in
    assert models.states()["embedding"] == stand_in.state()
    asyncio.run(models.aclose())


def test_overrides_stand_in_for_roles_and_settings_and_are_closed_with_the_rest() -> None:
    main, named = ScriptedChatModel.saying("main"), ScriptedChatModel.saying("named")
    models = roles(main="embedded:small", overrides={"main": main, "openai:x": named})
    assert models.main() is main
    assert models.for_name("openai:x") is named
    models.start()  # nothing is embedded that is not stood in for
    assert models.states()["main"] == ModelState(name="scripted", phase="ready", progress=1.0)
    asyncio.run(models.aclose())
    assert main.closed
    assert named.closed


@pytest.mark.parametrize(("is_installed", "kind"), [(True, "AnthropicChatModel"), (False, "ProviderChatModel")])
def test_models_of_anthropic_are_native_where_its_package_is_installed(
    is_installed: bool, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not is_installed:
        monkeypatch.setitem(sys.modules, "anthropic", None)
    assert type(roles(main="anthropic:claude-x", anthropic_api_key="k").main()).__name__ == kind
