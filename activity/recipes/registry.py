"""The recipes that a server has: those of the product, and those of installed packages.

A package adds a recipe under the entry point group `anaphora.recipes`: each entry point names a `Recipe` or a class of
one. A recipe that can't be used stops the start: without it, activities would be refused or threaded in another way.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import EntryPoint, entry_points
from typing import Any, cast

from database.activities.reading import NEWEST, Activity, activities_of_thread
from database.engine.database import Database
from search.language import nearest_names

from .builtin import BUILT_IN
from .errors import (
    AmbiguousTypeError,
    BrokenRecipeError,
    InvalidPayloadError,
    RecipeClashError,
    RecipeNotFoundError,
    UnknownTypeError,
    complaint_of,
)
from .formatting import ExportBlock, block_of, indented, one_line, reply_mark
from .recipe import THREAD_RULES, ActivityContext, ActivityType, Recipe, ThreadLine, UnknownRecipe

log = logging.getLogger(__name__)
ENTRY_POINTS = "anaphora.recipes"
_MOST_COMPLAINTS = 10
_UNUSABLE = "the recipe has a schema of this type that can't be used; the server's log says why"
_THREAD_LINES = 50
_MOST_SUGGESTED, _LONGEST_NAME = 3, 100


class RecipeRegistry:
    """The recipes of one server by their domains."""

    def __init__(self, recipes: Iterable[Recipe] = ()) -> None:
        self._recipes: dict[str, Recipe] = {}
        self._sources: dict[str, str] = {}
        self._built_in: set[str] = set()
        for each in recipes:
            self.register(each)
            self._built_in.add(each.domain)

    def register(self, recipe: Recipe, *, source: str = "Anaphora") -> None:
        """Add a recipe. source: the distribution that it comes from. Raises RecipeClashError."""
        if recipe.domain in self._recipes:
            raise RecipeClashError(
                f"{self._sources[recipe.domain]} and {source} both have a recipe for the domain “{recipe.domain}”. "
                "Uninstall one of them."
            )
        self._recipes[recipe.domain] = recipe
        self._sources[recipe.domain] = source

    def recipes(self) -> list[Recipe]:
        """All recipes, by domain."""
        return [self._recipes[domain] for domain in sorted(self._recipes)]

    def is_built_in(self, domain: str) -> bool:
        """Whether the recipe comes with the product."""
        return domain in self._built_in

    def source_of(self, domain: str) -> str:
        """The distribution that the recipe comes from."""
        return self._sources[domain]

    def title_of(self, domain: str) -> str:
        """The title of the recipe of this domain; the domain itself where it is not installed any more."""
        found = self._recipes.get(domain)
        return found.title if found else domain

    def get(self, domain: str) -> Recipe:
        """The recipe of this domain. Raises RecipeNotFoundError."""
        found = self._recipes.get(domain)
        if found is None:
            raise RecipeNotFoundError(domain, nearest=_nearest(domain, self._recipes))
        return found

    def get_recipe_for_activity(self, activity: Activity) -> Recipe:
        """The recipe of a stored activity; a makeshift one where it is not installed any more."""
        return self._recipes.get(activity.recipe) or UnknownRecipe(activity.recipe)

    def type_of(self, activity: Activity) -> ActivityType | None:
        """The type of a stored activity; None where it is not known any more."""
        return self.get_recipe_for_activity(activity).activity_types.get(activity.type)

    def recipe_with(self, type_name: str, *, recipe: str | None = None) -> Recipe:
        """The recipe that has this type: the named one, else the built-in one, else the only one.

        Raises RecipeNotFoundError, UnknownTypeError, AmbiguousTypeError.
        """
        if recipe is not None:
            named = self.get(recipe)
            if type_name not in named.activity_types:
                raise UnknownTypeError(type_name, recipe=recipe, nearest=_nearest(type_name, named.activity_types))
            return named
        having = [each for each in self.recipes() if type_name in each.activity_types]
        candidates = [each for each in having if each.domain in self._built_in] or having
        if not candidates:
            known = {name: None for each in self.recipes() for name in each.activity_types}
            raise UnknownTypeError(type_name, nearest=_nearest(type_name, known))
        if len(candidates) > 1:
            raise AmbiguousTypeError(type_name, candidates=[each.domain for each in candidates])
        return candidates[0]

    def check_payload(self, recipe: Recipe, type_name: str, payload: Mapping[str, Any]) -> None:
        """Raises InvalidPayloadError where the payload does not fit the schema of its type, or that can't be used."""
        from jsonschema import Draft202012Validator  # heavy, and most processes never check a payload

        validator = Draft202012Validator(recipe.activity_types[type_name].schema)
        try:
            errors = sorted(
                validator.iter_errors(payload), key=lambda error: [str(part) for part in error.absolute_path]
            )
        except Exception:  # such as a reference within the schema that leads nowhere
            log.exception("the recipe %s has a schema of the type %s that can't be used", recipe.domain, type_name)
            raise InvalidPayloadError([{"loc": ["payload"], "msg": _UNUSABLE}]) from None
        if errors:
            raise InvalidPayloadError(
                [
                    {"loc": ["payload", *each.absolute_path], "msg": complaint_of(each)}
                    for each in errors[:_MOST_COMPLAINTS]
                ]
            )

    def format_line(self, activity: Activity) -> str:
        """The line of an activity, its continuation lines indented. Recipes that fail are logged and done without."""
        recipe, kind = self.get_recipe_for_activity(activity), self.type_of(activity)
        try:
            return indented(kind.formatter(activity) if kind and kind.formatter else recipe.format_line(activity))
        except Exception:
            log.exception("the recipe %s can't format an activity of the type %s", activity.recipe, activity.type)
            return indented(UnknownRecipe(activity.recipe).format_line(activity))

    def format_export(self, activity: Activity) -> ExportBlock:
        """The block of an activity in an export. Recipes that fail are logged and done without."""
        try:
            return _checked(self._block(activity))
        except Exception:
            log.exception("the recipe %s can't export an activity of the type %s", activity.recipe, activity.type)
            return UnknownRecipe(activity.recipe).format_export(activity)

    def _block(self, activity: Activity) -> ExportBlock:
        recipe, kind = self.get_recipe_for_activity(activity), self.type_of(activity)
        has_own = type(recipe).format_export is not Recipe.format_export
        if has_own or kind is None or kind.formatter is None or not kind.icon:
            return recipe.format_export(activity)
        said = kind.formatter(activity).removeprefix(f"[#{activity.short_id}]").lstrip()
        return block_of(activity, icon=kind.icon, words=said.removeprefix(kind.icon).strip() or None)

    def thread_line(self, activity: Activity) -> ThreadLine:
        """An activity as a line of its thread, which says what it replies to."""
        return ThreadLine(activity.recipe, activity, self.format_line(activity) + reply_mark(activity))

    def build_thread_context(
        self, user_email: str, thread_id: str, *, database: Database, before: int = NEWEST, limit: int = _THREAD_LINES
    ) -> list[ThreadLine]:
        """The newest activities of a thread in order, over all domains and conversations, as models see them.

        before: only those whose `seq` is smaller. Hidden messages are left out.
        """
        found = activities_of_thread(
            database=database, user_email=user_email, thread_id=thread_id, before=before, limit=limit
        )
        return [self.thread_line(each) for each in found if not each.is_hidden]

    def build_context(
        self,
        activity: Activity,
        *,
        database: Database,
        title: str = "",
        include_short_ids: bool = True,
        up_to_now: bool = False,
    ) -> list[str]:
        """What a model is told of an activity and its thread, by its recipe.

        title: of the thread. up_to_now: also of what came into the thread after the activity.
        """
        recipe, kind = self.get_recipe_for_activity(activity), self.type_of(activity)
        thread: Sequence[ThreadLine] = ()
        if activity.thread_id is not None:
            before = NEWEST if up_to_now else activity.seq
            whole = self.build_thread_context(activity.user_email, activity.thread_id, database=database, before=before)
            whole = [line for line in whole if line.activity.activity_id != activity.activity_id]
            thread = [line for line in whole if recipe.cross_domain_replies or line.recipe == recipe.domain]
        context = ActivityContext(
            activity=activity,
            thread_id=activity.thread_id,
            reply_to_id=activity.reply_to_id,
            include_short_ids=include_short_ids,
            cross_domain=recipe.cross_domain_replies,
            title=title,
            thread=thread,
            current=self.thread_line(activity),
        )
        build = kind.context_builder if kind and kind.context_builder else recipe.build_context
        return build(activity, context)


def _nearest(name: str, known: Iterable[str]) -> list[str]:
    return nearest_names(name[:_LONGEST_NAME], known, most=_MOST_SUGGESTED)


def _checked(block: object) -> ExportBlock:
    """What a recipe made. Raises TypeError where that is no block of texts."""
    if not isinstance(block, ExportBlock):
        raise TypeError(f"{block!r} is no ExportBlock")
    if not all(isinstance(text, str) for text in (block.heading, block.by or "", block.words or "")):
        raise TypeError("an ExportBlock has something else in the place of a text")
    return block


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
    except (Exception, SystemExit) as error:
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
    if wrong := [name for name, kind in types.items() if not _is_shown(name, kind)]:
        return (
            f"its type {wrong[0]} needs a name, a section and an icon, each a text on one line; the icon may be empty"
        )
    return _complaint_of_rules(recipe) or _complaint_of_schemas(types)


def _is_shown(name: object, kind: ActivityType) -> bool:
    texts = (name, kind.section, kind.icon)
    return all(isinstance(each, str) and each == one_line(each) for each in texts) and bool(name and kind.section)


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
