"""Recipes of installed packages.

A package adds a recipe under the entry point group `anaphora.recipes`: each entry point names a `Recipe` or a class of
one. A recipe that can't be used stops the start: without it, activities would be refused or threaded in another way.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import cast

from .builtin import BUILT_IN
from .errors import BrokenRecipeError
from .recipes import THREAD_RULES, ActivityType, Recipe, RecipeRegistry

log = logging.getLogger(__name__)
ENTRY_POINTS = "anaphora.recipes"


def installed_recipes() -> RecipeRegistry:
    """The recipes of the product and of installed packages. Raises BrokenRecipeError, RecipeClashError."""
    registry = RecipeRegistry(BUILT_IN)
    for each in sorted(entry_points(group=ENTRY_POINTS), key=lambda found: (_source(found), found.name)):
        registry.register(_loaded(each), source=_source(each))
    return registry


def _source(found: EntryPoint) -> str:
    return found.dist.name if found.dist else found.value


def _loaded(found: EntryPoint) -> Recipe:
    source = _source(found)
    try:
        loaded = found.load()
        recipe = loaded() if isinstance(loaded, type) and issubclass(loaded, Recipe) else loaded
        complaint = _complaint(recipe)
    except Exception as error:
        log.exception("the recipe %s of %s can't be loaded", found.name, source)
        raise BrokenRecipeError(
            f"The recipe “{found.name}” of {source} can't be loaded: {type(error).__name__}: {error}. "
            f"Repair or uninstall {source}."
        ) from error
    if complaint:
        raise BrokenRecipeError(f"The recipe “{found.name}” of {source} can't be used: {complaint}.")
    return cast("Recipe", recipe)


def _complaint(recipe: object) -> str | None:
    """What is wrong with a recipe, or None."""
    if not isinstance(recipe, Recipe):
        return f"{recipe!r} is no Recipe"
    for name in ("domain", "title"):
        value = getattr(recipe, name, None)
        if not isinstance(value, str) or not value.strip() or not value.isprintable():
            return f"its {name} is no printable text"
    types = getattr(recipe, "activity_types", None)
    if not isinstance(types, Mapping) or not types:
        return "it has no activity_types"
    if wrong := [name for name, kind in types.items() if not isinstance(kind, ActivityType)]:
        return f"its type {wrong[0]} is no ActivityType"
    return _complaint_of_rules(recipe) or _complaint_of_schemas(types)


def _complaint_of_rules(recipe: Recipe) -> str | None:
    for name, rule in recipe.threading_rules.items():
        if name not in recipe.activity_types or rule not in THREAD_RULES:
            return f"its threading rule {rule!r} for {name} is not one of {', '.join(THREAD_RULES)}, or of no type"
    if recipe.answer_type is not None and recipe.answer_type not in recipe.activity_types:
        return f"its answer_type {recipe.answer_type} is none of its types"
    return None


def _complaint_of_schemas(types: Mapping[str, ActivityType]) -> str | None:
    from jsonschema import Draft202012Validator, SchemaError

    for name, kind in types.items():
        try:
            Draft202012Validator.check_schema(kind.schema)
        except SchemaError as error:
            return f"the schema of {name} is no JSON Schema: {error.message}"
    return None
