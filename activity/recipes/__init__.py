"""Which types of activities there are and how each reads.

`recipe` says what a recipe is, `builtin` names those of the product (a class a domain), `registry` adds those of
installed packages.
"""

from .recipe import ActivityContext as ActivityContext
from .recipe import ActivityType as ActivityType
from .recipe import Recipe as Recipe
from .recipe import ThreadLine as ThreadLine
from .recipe import ThreadRule as ThreadRule
from .recipe import UnknownRecipe as UnknownRecipe
from .registry import ENTRY_POINTS as ENTRY_POINTS
from .registry import RecipeRegistry as RecipeRegistry
from .registry import installed_recipes as installed_recipes
