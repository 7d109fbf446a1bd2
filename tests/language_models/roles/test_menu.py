"""What a conversation may be answered by, and in which state that is."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from language_models.download.catalogue import entry_named
from language_models.openai.model_list import ProviderList
from language_models.roles import ModelRoles
from language_models.roles.menu import ModelChoice, ModelMenu
from language_models.testing import ScriptedChatModel
from tests.language_models.openai.loopback import ANSWER, answering


def roles(folder: Path, **settings: Any) -> ModelRoles:
    defaults = {
        "main": "none",
        "cheap": "none",
        "embedding": "none",
        "openai_base_url": None,
        "openai_api_key": None,
        "anthropic_api_key": None,
        "model_dir": folder,
    }
    return ModelRoles(**(defaults | settings))


def by_id(menu: ModelMenu) -> dict[str, ModelChoice]:
    return {choice.id: choice for choice in menu.choices}


def test_the_server_s_own_models_come_first_and_each_model_once(tmp_path: Path) -> None:
    menu = roles(tmp_path, main="embedded", cheap="embedded:small").menu()
    assert [(choice.id, choice.role, choice.name) for choice in menu.choices] == [
        ("main", "main", "qwen2.5-coder-1.5b-instruct"),
        ("cheap", "cheap", "qwen2.5-coder-0.5b-instruct"),
    ]


def test_what_the_catalogue_has_can_be_chosen_and_tells_its_size_and_that_it_is_not_there(tmp_path: Path) -> None:
    choice = by_id(roles(tmp_path, main="openai:gpt-4o").menu())["embedded:qwen2.5-coder-0.5b-instruct"]
    assert (choice.kind, choice.role, choice.size_bytes, choice.context_window) == (
        "embedded",
        None,
        entry_named("small").whole_size,
        8192,
    )
    assert choice.state.phase == "absent"


def test_a_model_whose_file_is_there_is_loaded_when_it_is_needed(tmp_path: Path) -> None:
    entry = entry_named("small")
    with (tmp_path / entry.file).open("wb") as file:
        file.truncate(entry.size)
    assert by_id(roles(tmp_path).menu())[f"embedded:{entry.name}"].state.phase == "waiting"


def test_a_path_of_the_operator_s_is_shown_by_its_name_alone(tmp_path: Path) -> None:
    models = roles(tmp_path, main=f"embedded:{tmp_path}/secret/mine.gguf")
    assert str(tmp_path) not in str(models.menu())
    assert models.menu().choices[0].name == "mine"
    assert models.for_name("main") is models.main()


def test_every_choice_is_one_that_a_conversation_may_name(tmp_path: Path) -> None:
    models = roles(
        tmp_path, main="scripted", cheap="openai:small", openai_base_url="http://127.0.0.1:9/v1", openai_api_key="k"
    )
    names = {choice.id: models.for_name(choice.id).name for choice in models.menu().choices}
    assert names == {choice.id: choice.name for choice in models.menu().choices}


def test_without_a_key_no_provider_is_asked(tmp_path: Path) -> None:
    assert roles(tmp_path, main="openai:gpt-4o").menu().providers == ()


async def until_known(models: ModelRoles, *, phase: str) -> ModelMenu:
    async with asyncio.timeout(120):
        while (menu := models.menu()).providers[0].phase != phase:
            await asyncio.sleep(0.01)
    return menu


def test_the_models_of_a_provider_come_behind_the_page_without_those_that_do_other_work(tmp_path: Path) -> None:
    listed = {"data": [{"id": "gpt-4o"}, {"id": "text-embedding-3-small"}, {"id": "whisper-1"}, {"id": "own:7b"}]}

    async def look() -> tuple[str, ModelMenu]:
        async with answering(ANSWER, model_list=listed) as server:
            models = roles(tmp_path, openai_base_url=server.url, openai_api_key="k")
            first = models.menu().providers[0].phase
            menu = await until_known(models, phase="ready")
            await models.aclose()
        return first, menu

    first, menu = asyncio.run(look())
    assert first == "loading"
    provided = [choice for choice in menu.choices if choice.kind == "openai"]
    assert [(choice.id, choice.context_window) for choice in provided] == [
        ("openai:gpt-4o", 128_000),
        ("openai:own:7b", None),
    ]


def test_a_provider_that_does_not_tell_is_said_to_and_nothing_else_is_missing(tmp_path: Path) -> None:
    async def look() -> ModelMenu:
        async with answering(ANSWER) as server:
            models = roles(tmp_path, openai_base_url=server.url)
            menu = await until_known(models, phase="failed")
            await models.aclose()
        return menu

    menu = asyncio.run(look())
    assert "no list of its models" in menu.providers[0].detail
    assert "main" in by_id(menu)


def test_a_provider_that_is_not_there_is_named_without_the_password_in_its_address(tmp_path: Path) -> None:
    async def look() -> ModelMenu:
        models = roles(tmp_path, openai_base_url="http://somebody:their-secret@127.0.0.1:9/v1")
        menu = await until_known(models, phase="failed")
        await models.aclose()
        return menu

    detail = asyncio.run(look()).providers[0].detail
    assert "127.0.0.1:9" in detail
    assert "somebody" not in detail
    assert "their-secret" not in detail


def test_a_list_that_fails_in_no_foreseen_way_is_not_waited_for(tmp_path: Path) -> None:
    async def look() -> ModelMenu:
        # Two ways to log in at once, which the client refuses by an error of its own.
        models = roles(tmp_path, openai_base_url="http://somebody:secret@127.0.0.1:9/v1", openai_api_key="key")
        menu = await until_known(models, phase="failed")
        await models.aclose()
        return menu

    assert "server's log" in asyncio.run(look()).providers[0].detail


def test_a_list_is_asked_for_once_while_it_is_fresh() -> None:
    asked = []

    async def ask() -> tuple[str, ...]:
        asked.append(1)
        return ("a", "b", "a")

    known = ProviderList(ask)

    async def until_ready() -> None:
        async with asyncio.timeout(120):
            while known.known().phase != "ready":
                await asyncio.sleep(0.01)

    asyncio.run(until_ready())
    assert known.known().names == ("a", "b")
    assert len(asked) == 1


def test_only_an_embedded_model_can_be_fetched(tmp_path: Path) -> None:
    models = roles(tmp_path, main="openai:gpt-4o", openai_api_key="k")
    for name in ("main", "openai:gpt-4o"):
        with pytest.raises(ValueError, match="not embedded"):
            models.begin(name)
    with pytest.raises(ValueError, match="catalogue"):
        models.begin("embedded:enormous")


def test_a_model_that_stands_in_for_another_is_what_the_menu_shows(tmp_path: Path) -> None:
    model = ScriptedChatModel.saying("Yes.")
    models = roles(tmp_path, main="openai:x", overrides={"main": model})
    assert by_id(models.menu())["main"].state.phase == model.state().phase
