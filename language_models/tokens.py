"""Token counts: estimates for texts, and the context windows and answer limits of models."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from language_models.ports import Usage

log = logging.getLogger(__name__)

CHARACTERS_PER_TOKEN = 3

ASSUMED = 8_192
"""The assumed window of an unknown model: the default of small servers."""
_SMALLEST = 1_024
_LARGEST_ASSUMED = 131_072
_READ_WHOLE = 0.55
"""The tokenizers of European languages give at least this many tokens for each token of our estimate …"""
_TRUNCATED = 0.4
"""… so a prompt with fewer than this was silently truncated by the provider."""
_REFUSED_AT = re.compile(
    r"(?:maximum|limit|context size|context window|context length)\D{0,60}?(\d[\d,]{2,})|>\s*(\d[\d,]{2,})",
    re.IGNORECASE,
)

_RUN = re.compile(r"([\W_])\1+")

# Figures of the publishers by prefix of the model's name; a prefix of another prefix comes after it.
_WINDOWS = (
    ("gpt-3.5", 16_385),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-4", 8_192),
    ("gpt-5", 400_000),
    ("o1-mini", 128_000),
    ("o1", 200_000),
    ("o3", 200_000),
    ("o4", 200_000),
    ("claude-", 200_000),
    ("gemini-", 1_048_576),
)
_OPEN_WINDOWS = (
    ("deepseek-", 128_000),
    ("llama-3.", 131_072),
    ("qwen2.5", 32_768),
)
"""Of models that anybody may serve, with a smaller window, too."""
_ANSWER_LIMITS = (
    ("gpt-3.5", 4_096),
    ("gpt-4.1", 32_768),
    ("gpt-4o", 16_384),
    ("gpt-4-turbo", 4_096),
    ("gpt-5", 128_000),
    ("o1-mini", 65_536),
    ("o1", 100_000),
    ("o3", 100_000),
    ("o4", 100_000),
    ("claude-3-opus", 4_096),
    ("claude-3-haiku", 4_096),
    ("claude-3-5", 8_192),
    ("claude-opus-4", 32_000),
    ("claude-", 64_000),
    ("gemini-2.5", 65_536),
    ("gemini-", 8_192),
)
_FIELDS = ("context_length", "max_model_len", "context_window", "max_context_length")


def estimated_tokens(text: str) -> int:
    """Characters / 3, rounded up: more than most tokenizers count, so that budgets are safe."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)


def dense_tokens(text: str) -> int:
    """As `estimated_tokens`; a run of one sign, such as the spaces in a table, counts as one character."""
    return estimated_tokens(_RUN.sub(r"\1", text))


def known_context_window(model: str) -> int | None:
    """The context window of the model's family; a publisher's prefix ("anthropic/…", "models/…") is ignored."""
    return _figure_of_family(model, _WINDOWS + _OPEN_WINDOWS)


def known_answer_limit(model: str) -> int | None:
    """The most tokens of one answer, thinking included, for the model's family."""
    return _figure_of_family(model, _ANSWER_LIMITS)


def _figure_of_family(model: str, figures: Sequence[tuple[str, int]]) -> int | None:
    bare = model.lower().rsplit("/", 1)[-1]
    return next((figure for prefix, figure in figures if bare.startswith(prefix)), None)


def model_entries(model_list: Any) -> list[dict[str, Any]]:
    """The models in a provider's list of them: an object with `data`, or the array itself (Together)."""
    entries = model_list.get("data") if isinstance(model_list, dict) else model_list
    return [entry for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def listed_context_window(model_list: Any, model: str) -> int | None:
    """The context window of a model according to its provider's model list; None: not stated there."""
    for entry in model_entries(model_list):
        if str(entry.get("id")).removeprefix("models/") != model.removeprefix("models/"):
            continue
        meta = entry.get("meta")
        figures = [entry.get(field) for field in _FIELDS]
        figures.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
        return next((figure for figure in figures if isinstance(figure, int) and figure > 0), None)
    return None


class ContextWindow:
    """The context window of one model at its provider, in tokens.

    Sources in order: the operator's setting, the provider's model list, the model's family. Without any, a small window
    is assumed, or of a model that anybody may serve that of its family; it grows while the provider reads whole
    prompts, and shrinks where it drops a part of one. A refusal that states a smaller window is believed.
    """

    def __init__(self, model: str, *, given: int | None = None) -> None:
        """`given`: the operator's setting."""
        self._model = model
        self._is_given = given is not None
        closed = _figure_of_family(model, _WINDOWS)
        self._is_closed = closed is not None
        self._known = given or closed
        released = _figure_of_family(model, _OPEN_WINDOWS)
        self._assumed, self._largest = released or ASSUMED, released or _LARGEST_ASSUMED
        self._has_settled = False
        self._has_read_list = self._was_refused = False

    @property
    def tokens(self) -> int:
        """The known window, else the assumed one."""
        return self._known or self._assumed

    @property
    def is_assumed(self) -> bool:
        """Whether no source states the window."""
        return self._known is None

    @property
    def may_be_stated(self) -> bool:
        """Whether it is worth asking the provider: a family's window is asked for once, an assumed one again."""
        return not self._is_given and (self.is_assumed or not self._has_read_list)

    def note_list(self, model_list: Any) -> None:
        """Take the window from the provider's model list, if it is stated there and no refusal has shown otherwise."""
        self._has_read_list = True
        stated = listed_context_window(model_list, self._model)
        if stated is not None and not self._was_refused:
            self.note_stated(stated)

    def note_stated(self, tokens: int) -> None:
        """The provider states the window of this very model, which counts more than that of its family."""
        self._has_read_list = True
        if not self._is_given:
            self._known = tokens

    def note_answer(self, usage: Usage, *, estimated: int) -> bool:
        """Learn from an answer to a prompt of `estimated` tokens by our count; whether a part was silently dropped."""
        used = usage.prompt_tokens + usage.completion_tokens
        is_long = estimated >= ASSUMED // 2
        # The publishers of closed models drop nothing; a text of a few words may have few tokens there.
        was_dropped = is_long and not self._is_closed and 0 < usage.prompt_tokens < _TRUNCATED * estimated
        if self._known is not None:
            if used > self._known and not self._is_given:
                self._known = used
            return was_dropped
        self._assumed = max(self._assumed, used)
        if self._has_settled or not is_long:
            return was_dropped
        if usage.prompt_tokens >= _READ_WHOLE * estimated:
            if estimated >= self._assumed // 2:
                self._assumed = max(self._assumed, min(2 * self._assumed, self._largest))
        elif was_dropped:
            self._has_settled = True
            self._assumed = max(_SMALLEST, used)
            log.warning(
                "%s read only %d tokens of a longer prompt; ANAPHORA_CONTEXT_WINDOW can name its context window",
                self._model,
                usage.prompt_tokens,
            )
        return was_dropped

    def note_refusal(self, message: str) -> bool:
        """Learn from the refusal of a prompt as too long; whether it states a smaller window."""
        figures = [int(figure.replace(",", "")) for match in _REFUSED_AT.findall(message) for figure in match if figure]
        smaller = [figure for figure in figures if _SMALLEST <= figure < self.tokens]
        if smaller:
            self._known, self._was_refused = min(smaller), True
        return bool(smaller)
