"""Which types of activities there are and how each reads.

`recipe` says what a recipe is, `builtin` names those of the product (a module a domain), `registry` adds those of
installed packages.
"""

from .recipe import ActivityContext, ActivityType, Recipe, ThreadLine, ThreadRule, UnknownRecipe
from .registry import ENTRY_POINTS, RecipeRegistry, installed_recipes

__all__ = [
    "ENTRY_POINTS",
    "ActivityContext",
    "ActivityType",
    "Recipe",
    "RecipeRegistry",
    "ThreadLine",
    "ThreadRule",
    "UnknownRecipe",
    "installed_recipes",
]
