"""Which models a person may use: those of the settings, what the operator allows, what lies here already."""

from __future__ import annotations

from pathlib import Path

import pytest

from language_models.download.catalogue import entry_named
from language_models.errors import ModelNotAllowedError
from language_models.roles import ModelRoles
from language_models.roles.menu import AllowedModels, AllowedNames

PROVIDED = ("openai:gpt-4.1", "openai:gpt-4o", "anthropic:claude-x")


def models_of(folder: Path) -> ModelRoles:
    return ModelRoles(
        main="openai:gpt-4.1",
        cheap="openai:gpt-4o-mini",
        embedding="none",
        openai_base_url=None,
        openai_api_key="k",
        anthropic_api_key="k",
        model_dir=folder,
    )


def allowed(folder: Path, *, is_admin: bool = False, **names: tuple[str, ...]) -> AllowedModels:
    return AllowedModels(models_of(folder), AllowedNames(**names), is_admin=lambda: is_admin)


def may(models: AllowedModels, name: str) -> bool:
    try:
        models.for_name(name)
    except ModelNotAllowedError:
        return False
    return True


def lay_small_model(folder: Path) -> None:
    """A file as long as the small model's, of which nothing lies on the disk."""
    entry = entry_named("small")
    with (folder / entry.file).open("wb") as file:
        file.truncate(entry.size)


@pytest.mark.parametrize("name", ["main", "cheap", "openai:gpt-4.1", "openai:gpt-4o-mini"])
def test_everybody_may_use_the_models_of_the_settings(tmp_path: Path, name: str) -> None:
    assert may(allowed(tmp_path), name)


@pytest.mark.parametrize(
    ("everybody", "usable"),
    [
        ((), ["openai:gpt-4.1"]),
        (("openai:gpt-4*",), ["openai:gpt-4.1", "openai:gpt-4o"]),
        (("anthropic:claude-x",), ["openai:gpt-4.1", "anthropic:claude-x"]),
        (("*",), list(PROVIDED)),
    ],
)
def test_what_a_provider_offers_besides_is_the_operator_s_choice(
    tmp_path: Path, everybody: tuple[str, ...], usable: list[str]
) -> None:
    models = allowed(tmp_path, everybody=everybody)
    assert [name for name in PROVIDED if may(models, name)] == usable


def test_administrators_may_use_more(tmp_path: Path) -> None:
    names = {"everybody": ("openai:gpt-4o",), "administrators": ("anthropic:*",)}
    assert [may(allowed(tmp_path, **names), name) for name in PROVIDED] == [True, True, False]
    assert all(may(allowed(tmp_path, is_admin=True, **names), name) for name in PROVIDED)


def test_an_embedded_model_may_be_used_once_an_administrator_has_had_it_fetched(tmp_path: Path) -> None:
    assert not may(allowed(tmp_path, everybody=("*",)), "embedded:small")
    assert may(allowed(tmp_path, is_admin=True), "embedded:small")
    with pytest.raises(ModelNotAllowedError, match="administrators"):
        allowed(tmp_path, everybody=("*",)).begin("embedded:small")
    lay_small_model(tmp_path)
    assert may(allowed(tmp_path), "embedded:small")
    assert not may(allowed(tmp_path, everybody=("openai:*",)), "embedded:small")
    assert may(allowed(tmp_path, everybody=("embedded:qwen2.5-coder-0.5b-instruct",)), "embedded:small")


def test_the_menu_shows_what_may_be_chosen(tmp_path: Path) -> None:
    def embedded(models: AllowedModels) -> list[str]:
        return [choice.id for choice in models.menu().choices if choice.kind == "embedded"]

    assert embedded(allowed(tmp_path)) == []
    assert len(embedded(allowed(tmp_path, is_admin=True))) == 2
    lay_small_model(tmp_path)
    assert embedded(allowed(tmp_path)) == ["embedded:qwen2.5-coder-0.5b-instruct"]


def test_what_names_no_model_is_malformed_for_everybody(tmp_path: Path) -> None:
    for name in ("nonsense", "embedded:enormous", "embedded:/etc/passwd.gguf"):
        with pytest.raises(ValueError, match=r"names no model|catalogue|server's settings"):
            allowed(tmp_path, is_admin=True).for_name(name)
