"""What people want models to know of them and how they want to be answered, as models are told it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from database.accounts.users import asked_told_to_models, told_to_models
from database.engine.database import Database
from language_models.ports import ChatModel

from .items import cut, neutralised
from .prompt import instruction_chars, template


@dataclass(frozen=True, slots=True, kw_only=True)
class Preferences:
    """What somebody wrote about themselves (`about`), and how they want to be answered (`manner`); "" for nothing.

    name: how they are called; no part of `text`.
    """

    about: str = ""
    manner: str = ""
    name: str = ""

    def fit(self, model: ChatModel) -> bool:
        """Whether `model` is given all of it."""
        length = len(self.about) + len(self.manner)
        return not length or length <= instruction_chars(model)

    def chars(self, model: ChatModel) -> int:
        """How many characters of it `model` is given, about."""
        length = len(self.about) + len(self.manner)
        return min(length, instruction_chars(model)) if length else 0

    def text(self, model: ChatModel) -> str:
        """Both under their headings, for `model`; where they are too long for it the longer one is cut. "" for nothing.

        It holds nothing that could be read as an item of context, or as the end of the context.
        """
        if not self.about and not self.manner:
            return ""
        room = instruction_chars(model)
        about, _ = cut(self.about, max(room // 2, room - len(self.manner)))
        manner, _ = cut(self.manner, max(room // 2, room - len(self.about)))
        return neutralised(template("preferences").render(about=about, manner=manner))


def preferences_of(user_email: str, *, database: Database | None) -> Preferences:
    """What `user_email` wrote; nothing where there is no store."""
    if database is None:
        return Preferences()
    return _preferences(*told_to_models(database=database, user_email=user_email))


def asked_preferences(connection: Any, user_email: str) -> Callable[[], Preferences]:
    """Asks for `preferences_of`, within a transaction; what is returned reads the answer."""
    ask = asked_told_to_models(connection, user_email)
    return lambda: _preferences(*ask())


def _preferences(name: str, about: str, manner: str) -> Preferences:
    return Preferences(about=about.strip(), manner=manner.strip(), name=name.strip())
