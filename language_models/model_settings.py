"""The sentences in which settings name a model: `embedded:small`, `openai:gpt-4o`, `none`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

OPENAI_BASE_URL = "https://api.openai.com/v1"
Kind = Literal["embedded", "openai", "anthropic", "scripted", "none"]
RoleName = Literal["main", "cheap"]
LONGEST_NAME = 200
WHAT_WOULD_BE_RIGHT = (
    "'embedded', 'embedded:<catalogue name or path of a .gguf file>', 'openai:<model>', 'anthropic:<model>' or 'none'"
)


@dataclass(frozen=True, slots=True)
class ModelSetting:
    """Where a model runs, and which it is; `model` is "" for the default of its kind."""

    kind: Kind
    model: str = ""

    @property
    def is_path(self) -> bool:
        """Whether an embedded model is named by its file."""
        return self.kind == "embedded" and (self.model.endswith(".gguf") or "/" in self.model or "\\" in self.model)


def parse_model_setting(text: str) -> ModelSetting:
    """Read a setting. Raises ValueError with a sentence that says what would be right."""
    kind, colon, model = text.strip().partition(":")
    for known in get_args(Kind):
        if kind != known:
            continue
        needs_model = known in ("openai", "anthropic")
        if (needs_model or colon) and not model.strip():
            break
        if colon and known in ("scripted", "none"):
            break
        if known in ("openai", "anthropic") and len(model) > LONGEST_NAME:
            raise ValueError(f"no model's name is longer than {LONGEST_NAME} characters")
        return ModelSetting(known, model.strip())
    raise ValueError(f"{text!r} names no model; right would be {WHAT_WOULD_BE_RIGHT}")
