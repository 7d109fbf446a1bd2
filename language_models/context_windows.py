"""How many tokens the well-known model families take and write, and where else to read it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

UNKNOWN = 128_000

# By the beginning of the name, longest beginning first where one contains another; as the publishers state them.
_FAMILIES = (
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
    ("deepseek-", 128_000),
    ("llama-3.", 131_072),
    ("qwen2.5", 32_768),
)
_ANSWERS = (
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


def known_context_window(model: str) -> int | None:
    """The window of a model by its family; a publisher's prefix ("anthropic/…", "models/…") is passed over."""
    return _of_family(model, _FAMILIES)


def known_answer_limit(model: str) -> int | None:
    """The longest answer of a model by its family, in tokens, with what it thinks before it."""
    return _of_family(model, _ANSWERS)


def _of_family(model: str, figures: Sequence[tuple[str, int]]) -> int | None:
    bare = model.lower().rsplit("/", 1)[-1]
    return next((figure for beginning, figure in figures if bare.startswith(beginning)), None)


def offered_context_window(model_list: Any, model: str) -> int | None:
    """The window that a provider's own model list gives for a model, if it gives one."""
    entries = model_list.get("data") if isinstance(model_list, dict) else None
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict) or entry.get("id") != model:
            continue
        meta = entry.get("meta")
        figures = [entry.get(field) for field in _FIELDS]
        figures.append(meta.get("n_ctx") if isinstance(meta, dict) else None)
        return next((figure for figure in figures if isinstance(figure, int) and figure > 0), None)
    return None
