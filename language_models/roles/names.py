"""Names of models in settings: `embedded:small`, `openai:gpt-4o`, `none`; and the operator's limits by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Literal, get_args

from language_models.openai.client import Timeouts
from language_models.ports import Price

OPENAI_BASE_URL = "https://api.openai.com/v1"
Kind = Literal["embedded", "openai", "anthropic", "scripted", "none"]
RoleName = Literal["main", "cheap"]
LONGEST_NAME = 200
_EXPECTED = (
    "'embedded', 'embedded:<catalogue name or path of a .gguf file>', 'openai:<model>', 'anthropic:<model>' or 'none'"
)


class RoleSettingError(ValueError):
    """The setting of a role names no model that can do its work. role: "main", "cheap" or "embedding"."""

    def __init__(self, role: str, problem: str) -> None:
        super().__init__(f"The {role} model: {problem}")
        self.role = role
        self.problem = problem


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """A parsed name: where the model runs, and which it is; `model` is "" for the default of its kind."""

    kind: Kind
    model: str = ""

    def __str__(self) -> str:
        """The name as it is written in settings."""
        return f"{self.kind}:{self.model}" if self.model else self.kind

    @property
    def is_path(self) -> bool:
        """Whether it names an embedded model by the path of its file."""
        return self.kind == "embedded" and (self.model.endswith(".gguf") or "/" in self.model or "\\" in self.model)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelLimits:
    """The operator's limits in tokens by model name ("openai:gpt-4o"), timeouts, and prices by pattern of names.

    picture_models: patterns of the names of models that see pictures. timeouts: of chat models. embedding_timeout:
    seconds of one request to an embedding model. servers: how many server processes share the cores of this machine.

    The key "" holds the limit of models that are not named; as a context window, it applies to the main model alone.
    """

    context_windows: Mapping[str, int] = field(default_factory=dict)
    answer_tokens: Mapping[str, int] = field(default_factory=dict)
    timeouts: Timeouts = field(default_factory=Timeouts)
    embedding_timeout: float = 30.0
    prices: Mapping[str, Price] = field(default_factory=dict)
    picture_models: Sequence[str] = ()
    servers: int = 1

    def context_window_of(self, setting: ModelSetting, *, is_main: bool) -> int | None:
        """Tokens of the model's window; None: not set."""
        window = self.context_windows.get(str(setting))
        return window or (self.context_windows.get("") if is_main else None)

    def answer_tokens_of(self, setting: ModelSetting) -> int | None:
        """The most tokens of an answer; None: not set."""
        return self.answer_tokens.get(str(setting)) or self.answer_tokens.get("")

    def price_of(self, setting: ModelSetting) -> Price | None:
        """The first price whose pattern fits the model; None: not set."""
        name = str(setting)
        return next((price for pattern, price in self.prices.items() if fnmatchcase(name, pattern)), None)

    def sees_pictures(self, setting: ModelSetting) -> bool:
        """Whether the operator says that the model sees pictures."""
        return any(fnmatchcase(str(setting), pattern) for pattern in self.picture_models)


def parse_model_setting(text: str) -> ModelSetting:
    """Parse a name. Raises ValueError with a sentence that says what is expected."""
    kind, colon, model = text.strip().partition(":")
    for known in get_args(Kind):
        if kind != known:
            continue
        needs_model = known in ("openai", "anthropic")
        if (needs_model or colon) and not model.strip():
            break
        if colon and known in ("scripted", "none"):
            break
        if needs_model and len(model) > LONGEST_NAME:
            raise ValueError(f"no model's name is longer than {LONGEST_NAME} characters")
        return ModelSetting(known, model.strip())
    raise ValueError(f"{text!r} names no model; right would be {_EXPECTED}")
