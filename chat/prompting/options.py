"""How an answer is made: the options of a conversation or of one turn, and what people want all models to know."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from chat.prompting.items import cut, neutralised
from chat.prompting.prompt import instruction_chars, template
from database.accounts.users import asked_told_to_models, told_to_models
from database.conversations.consent import AGENTS_ALLOWED_TOOLS, ALLOWED_TOOLS
from database.engine.database import Database
from database.engine.text import storable
from language_models.ports import ChatModel

HIGHEST_TEMPERATURE = 2.0
LONGEST_SYSTEM_PROMPT = 12_000
"""In characters, of what clients may send; how much of it a model is given depends on its window."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerOptions:
    """The options of one answer.

    system_prompt: stands in the place of the server's own first sentences; "" for those. temperature and
    answer_tokens (the most tokens of the answer): None leaves them to the model. use_tools: whether the model may call
    tools; None: if it is known to do so. tools: those that were switched on or off, by name.
    allow_writing: documents are changed at once where a tool wants that; otherwise changes are proposed.
    only_tools: all that the agent that answers may call; None: as `tools` say.
    allowed_tools: those that need consent and that the person has allowed the conversation's own model to call there.
    agents_allowed_tools: the same by the id of each agent that answers there.
    """

    system_prompt: str = ""
    temperature: float | None = None
    answer_tokens: int | None = None
    use_tools: bool | None = None
    tools: Mapping[str, bool] = field(default_factory=dict)
    allow_writing: bool = False
    only_tools: frozenset[str] | None = None
    allowed_tools: frozenset[str] = frozenset()
    agents_allowed_tools: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def wants_tools(self, model: ChatModel) -> bool:
        """Whether `model` is to call tools; one that is not known to do so, only where that was asked for."""
        return self.use_tools if self.use_tools is not None else model.calls_tools is True

    def offers(self, tool: str, *, by_default: bool) -> bool:
        """Whether the model may call the tool of this name, if it may call any."""
        return self.tools.get(tool, by_default) if self.only_tools is None else tool in self.only_tools

    def allows(self, tool: str, *, agent_id: str | None) -> bool:
        """Whether the person has allowed the agent, or without one the conversation's own model, to call the tool."""
        allowed = self.allowed_tools if agent_id is None else self.agents_allowed_tools.get(agent_id, frozenset())
        return tool in allowed

    def fit(self, model: ChatModel) -> bool:
        """Whether `model` is given the whole system prompt."""
        return not self.system_prompt or len(self.system_prompt) <= instruction_chars(model)

    def chars(self, model: ChatModel) -> int:
        """How many characters of the system prompt `model` is given, about."""
        return min(len(self.system_prompt), instruction_chars(model)) if self.system_prompt else 0

    def instructions(self, model: ChatModel) -> str:
        """The system prompt for `model`, cut where it is too long for it; "" for none.

        It holds nothing that could be read as an item of context, or as the end of the context.
        """
        return neutralised(cut(self.system_prompt, instruction_chars(model))[0]) if self.system_prompt else ""


def answer_options(settings: Any, overrides: Mapping[str, Any]) -> AnswerOptions:
    """The options of a turn: those of the conversation's `settings`, replaced by the `overrides` of the turn.

    An override of None takes an option away. Clients store what they like in settings: values that are no options
    are ignored.
    """
    stored = settings if isinstance(settings, dict) else {}
    chosen = {**stored, **overrides}
    return AnswerOptions(
        system_prompt=_system_prompt(chosen.get("system_prompt")),
        temperature=_temperature(chosen.get("temperature")),
        answer_tokens=_answer_tokens(chosen.get("answer_tokens")),
        use_tools=_switch(chosen.get("use_tools")),
        tools=_switches(chosen.get("tools")),
        allow_writing=chosen.get("allow_writing") is True,
        allowed_tools=_names(stored.get(ALLOWED_TOOLS)),
        agents_allowed_tools=_names_by_agent(stored.get(AGENTS_ALLOWED_TOOLS)),
    )


def _system_prompt(value: Any) -> str:
    return storable(value).strip() if isinstance(value, str) else ""


def _temperature(value: Any) -> float | None:
    if type(value) not in (int, float):
        return None
    return float(value) if 0 <= value <= HIGHEST_TEMPERATURE else None


def _answer_tokens(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None


def _switch(value: Any) -> bool | None:
    return value if isinstance(value, bool) else None


def _switches(value: Any) -> Mapping[str, bool]:
    if not isinstance(value, dict):
        return {}
    return {name: on for name, on in value.items() if isinstance(name, str) and isinstance(on, bool)}


def _names(value: Any) -> frozenset[str]:
    return frozenset(name for name in value if isinstance(name, str)) if isinstance(value, list) else frozenset()


def _names_by_agent(value: Any) -> Mapping[str, frozenset[str]]:
    return {agent: _names(tools) for agent, tools in value.items()} if isinstance(value, dict) else {}


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
