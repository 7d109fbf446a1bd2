"""How long a text is for a model whose tokenizer is not at hand."""

from __future__ import annotations

CHARACTERS_PER_TOKEN = 3


def estimated_tokens(text: str) -> int:
    """Characters / 3, rounded up: more than most tokenizers count, so budgets err on the safe side."""
    return -(-len(text) // CHARACTERS_PER_TOKEN)
