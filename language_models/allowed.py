"""The models as one person may use them: what the operator allows their role."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from language_models.errors import ModelNotAllowedError

if TYPE_CHECKING:
    from language_models.menu import ModelMenu
    from language_models.ports import ChatModel
    from language_models.roles import ModelRoles


@dataclass(frozen=True, slots=True, kw_only=True)
class AllowedNames:
    """Which models may be chosen beside those of the settings, as patterns ("openai:gpt-4*", "*").

    everybody: without any, embedded models that were fetched already. administrators: what they may choose besides.
    """

    everybody: tuple[str, ...] = ()
    administrators: tuple[str, ...] = ()

    def include(self, name: str, *, is_admin: bool) -> bool:
        """Whether a pattern allows `name`."""
        patterns = (*self.everybody, *self.administrators) if is_admin else self.everybody
        return any(fnmatchcase(name, pattern) for pattern in patterns)


class AllowedModels:
    """See `ModelRoles`; models that are not allowed are refused. Only administrators have models fetched."""

    def __init__(self, models: ModelRoles, names: AllowedNames, *, is_admin: Callable[[], bool]) -> None:
        """`is_admin` is asked only where the settings' own models don't do."""
        self._models = models
        self._names = names
        self._is_admin = is_admin

    def main(self) -> ChatModel:
        """The model that answers; everybody may use it."""
        return self._models.main()

    def cheap(self) -> ChatModel:
        """The model for small jobs; everybody may use it."""
        return self._models.cheap()

    def for_name(self, setting: str) -> ChatModel:
        """The model of that name. Raises ValueError as `ModelRoles.for_name` does, ModelNotAllowedError."""
        model = self._models.for_name(setting)
        if not self._allows(setting):
            raise ModelNotAllowedError(
                f"The operator of this server does not let you use {model.name}. Choose another model.",
                model=model.name,
            )
        return model

    def begin(self, name: str) -> None:
        """Begin to fetch and load an embedded model. Raises ValueError, ModelNotAllowedError."""
        if not self._models.is_there(name) and not self._is_admin():
            raise ModelNotAllowedError("Only administrators may have models fetched. Ask one of them.")
        if not self._allows(name):
            raise ModelNotAllowedError("The operator of this server does not let you use this model.")
        self._models.begin(name)

    def menu(self) -> ModelMenu:
        """What this person may choose."""
        menu = self._models.menu()
        return replace(menu, choices=tuple(choice for choice in menu.choices if choice.role or self._allows(choice.id)))

    def _allows(self, name: str) -> bool:
        if self._models.is_own(name):
            return True
        is_admin = self._is_admin()
        if self._models.is_embedded(name):
            # Whoever may have models fetched may use them; others use what is there.
            if is_admin or not self._models.is_there(name):
                return is_admin
            if not self._names.everybody:
                return True
        return self._names.include(self._models.full_name(name), is_admin=is_admin)
