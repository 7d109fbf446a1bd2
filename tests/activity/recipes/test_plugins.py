"""Recipes of installed packages: those that can't be used stop the start, naming the package."""

from __future__ import annotations

import re
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from activity.recipes import ActivityType, Recipe, installed_recipes
from activity.recipes import registry as plugins
from activity.recipes.errors import BrokenRecipeError, RecipeClashError, RecipePluginError
from server import create_app
from tests.activity.made import ANY, Game
from tests.endpoints.conftest import settings_in

Offer = Callable[..., None]
GAME = f"{Game.__module__}:Game"


class Titleless(Game):
    domain, title = "titleless", ""


class Typeless(Recipe):
    domain, title = "typeless", "Typeless"


class Schemaless(Recipe):
    domain, title = "schemaless", "Schemaless"
    activity_types = {"x": ActivityType(icon="", section="X", schema={"type": "nothing"})}


class Ruleless(Recipe):
    domain, title = "ruleless", "Ruleless"
    activity_types = {"x": ActivityType(icon="", section="X", schema=ANY)}
    threading_rules: Any = {"x": "sometimes"}


class Answerless(Game):
    domain, answer_type = "answerless", "nothing"


class Nameless(Recipe):
    domain, title = "nameless", "Nameless"
    activity_types = {"x": ActivityType(icon="", section="", schema=ANY)}


class Iconless(Recipe):
    domain, title = "iconless", "Iconless"
    icon: Any = None
    activity_types = {"x": ActivityType(icon=icon, section="X", schema=ANY)}


class Crashing(Game):
    def __init__(self) -> None:
        raise OSError("no disk")


@pytest.fixture
def offer(monkeypatch: pytest.MonkeyPatch) -> Offer:
    """Has packages installed that offer recipes: offer(a_package="module:Name")."""

    def offer(**packages: str) -> None:
        found = []
        for package, value in packages.items():
            point = EntryPoint(name="recipe", value=value, group=plugins.ENTRY_POINTS)
            vars(point).update(dist=SimpleNamespace(name=package.replace("_", "-")))
            found.append(point)
        monkeypatch.setattr(plugins, "entry_points", lambda group: found if group == "anaphora.recipes" else [])

    return offer


def test_a_package_adds_a_recipe(offer: Offer) -> None:
    offer(a_game=GAME)
    registry = installed_recipes()
    assert registry.get("game").title == "Game"
    assert (registry.source_of("game"), registry.is_built_in("game")) == ("a-game", False)
    assert registry.is_built_in("general-discussion")


def test_two_packages_with_one_domain_stop_the_start_by_both_names(offer: Offer) -> None:
    offer(b_game=GAME, a_game=GAME)
    with pytest.raises(RecipeClashError, match="a-game and b-game"):
        installed_recipes()


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ("no_such_package:Recipe", "ModuleNotFoundError"),
        (f"{__name__}:Nothing", "AttributeError"),
        (f"{__name__}:{Crashing.__name__}", "OSError: no disk"),
        ("json:JSONDecoder", "is no Recipe"),
        (f"{__name__}:{Titleless.__name__}", "its title"),
        (f"{__name__}:{Typeless.__name__}", "it has no activity_types"),
        (f"{__name__}:{Nameless.__name__}", "its type x needs a name, a section and an icon"),
        (f"{__name__}:{Iconless.__name__}", "its type x needs a name, a section and an icon"),
        (f"{__name__}:{Schemaless.__name__}", "the schema of x is no JSON Schema"),
        (f"{__name__}:{Ruleless.__name__}", "its threading rule 'sometimes' for x"),
        (f"{__name__}:{Answerless.__name__}", "its answer_type nothing"),
    ],
)
def test_a_broken_package_stops_the_start_by_its_name(
    offer: Offer, value: str, why: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    offer(broken_game=value)
    with pytest.raises(BrokenRecipeError, match=f"broken-game .*{re.escape(why)}"):
        installed_recipes()
    with pytest.raises(RecipePluginError, match="broken-game"):
        create_app(settings_in(tmp_path / "data"))
    assert not (tmp_path / "data" / "users").exists()
